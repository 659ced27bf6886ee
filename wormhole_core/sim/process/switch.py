"""A switch: admits arriving frames to the shared buffer, forwards them, pauses and resumes senders."""

from __future__ import annotations

from typing import Any

from ..rules.buffer_pfc import SharedBuffer


class Switch:
    """Store-and-forward switch; its ports hold the queues."""

    def __init__(self, node: int, buffer: SharedBuffer, pfc_frame_bytes: int) -> None:
        self.node = node
        self.buffer = buffer
        self.pfc_frame_bytes = pfc_frame_bytes
        self.ports: list[Any] = []
        self.notify_pause: Any = None

    def receive(self, packet: Any, in_port: Any, now_ps: int) -> None:
        """The last bit of a frame has arrived; in_port is the far end's port that sent it."""
        out = packet.path[packet.hop]
        if out.down:
            out.drop(packet, "link down")
            return
        ingress = in_port.ingress
        if not self.buffer.admit(ingress, packet.size):
            out.drop(packet, "buffer full")
            return
        packet.ingress = in_port
        if self.buffer.must_pause(ingress):
            ingress.paused = True
            self._signal(in_port, True, now_ps)
        out.accept(packet, now_ps)

    def release(self, packet: Any, now_ps: int) -> None:
        """A frame begins to leave, or is lost with its link: its share of the buffer is free."""
        in_port = packet.ingress
        ingress = in_port.ingress
        self.buffer.release(ingress, packet.size)
        if self.buffer.may_resume(ingress):
            ingress.paused = False
            self._signal(in_port, False, now_ps)

    def _signal(self, in_port: Any, pause: bool, now_ps: int) -> None:
        """Tell the sender behind in_port to stop or to go on."""

        def effect(when_ps: int) -> None:
            changes = pause != in_port.stopped
            in_port.set_pause(pause, when_ps)
            if changes and self.notify_pause is not None:
                self.notify_pause(in_port, when_ps, pause)

        in_port.reverse.send_control(self.pfc_frame_bytes, effect, now_ps)
