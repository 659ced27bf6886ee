"""A switch in the fast model: forwarding is in `Port.fire`; here is the shared buffer.

While a switch is calm, only `held` is kept: an upper bound of the bytes in its buffer (a frame is
taken off when it has arrived at the far end, later than its departure). Below `calm_bytes` neither a
pause nor a drop is possible whatever the distribution over ports, so nothing more is needed. Above
it the switch becomes exact: every departure is an event that frees the buffer and may resume a
sender. It calms down again at half that level, less what the wires hold.
"""

from __future__ import annotations

from typing import Any

from ..kernel import Tick
from ..order import DEPART
from ..rules.buffer_pfc import SharedBuffer


class Switch:
    """State of one switch."""

    __slots__ = (
        "buffer",
        "calm_again",
        "calm_bytes",
        "calm_level",
        "env",
        "exact",
        "held",
        "node",
        "notify_pause",
        "on_exact",
        "pfc_frame_bytes",
        "ports",
    )

    def __init__(self, env: Any, node: int, buffer: SharedBuffer, pfc_frame_bytes: int) -> None:
        self.env = env
        self.node = node
        self.buffer = buffer
        self.pfc_frame_bytes = pfc_frame_bytes
        self.ports: list[Any] = []
        self.exact = False
        self.held = 0
        # calm_bytes is -1 while exact, so that the one comparison in Port.fire serves both.
        self.calm_bytes = self.calm_level = self.calm_again = 0
        self.notify_pause: Any = None
        # Acceleration: called before the switch becomes exact (what is frozen on it must thaw first).
        self.on_exact: Any = None

    def finish(self) -> None:
        """All ports are known."""
        self.calm_level = self.calm_bytes = self.buffer.calm_bytes()
        # Calm bookkeeping also counts what is on the wire; leave room for that, or it would not last.
        on_wire = sum(port.rate_bps * port.delay_ps // 8_000_000_000_000 for port in self.ports)
        self.calm_again = self.calm_level // 2 - on_wire

    # --- arrivals above the calm level ---

    def admit(self, packet: Any, in_port: Any, out: Any, now_ps: int) -> None:
        """A frame arrives while the switch is, or may have to become, exact."""
        if not self.exact:
            self.become_exact(now_ps)
        if out.down:
            out.drop(packet, "link down")
            return
        ingress = in_port.ingress
        if not self.buffer.admit(ingress, packet.size):
            out.drop(packet, "buffer full")
            return
        packet.ingress = in_port
        self.held += packet.size
        if self.buffer.must_pause(ingress):
            ingress.paused = True
            self._signal(in_port, now_ps, -1, True)
        out.enqueue(packet, now_ps)
        if packet.enter_ps < 0:
            self.release(packet, now_ps, -1)
            return
        out.unreleased.append(packet)
        if not out.paused and not out.down and not out.depart_armed:
            self._arm_departure(out)

    @staticmethod
    def _held_frames(port: Any, now_ps: int) -> list[Any]:
        frames = [p for p in port.fifo if p.start_ps >= now_ps and p.enter_ps >= 0]
        frames.extend(port.waiting)
        return frames

    def become_exact(self, now_ps: int) -> None:
        """Rebuild the accounting from the queues and account for every departure from now on."""
        if self.on_exact is not None:
            self.on_exact(self)
        self.exact = True
        self.calm_bytes = -1
        self.held = 0
        for port in self.ports:
            frames = self._held_frames(port, now_ps)
            port.unreleased.clear()
            port.unreleased.extend(frames)
            for packet in frames:
                self.held += packet.size
                # Below the calm level every frame was admitted, none to the headroom.
                self.buffer.admit(packet.ingress.ingress, packet.size)
            if frames and not port.paused and not port.depart_armed:
                self._arm_departure(port)

    def adopt(self, port: Any, now_ps: int) -> None:
        """Account for frames that appeared in a port's queue while the switch was exact (a partition
        that was not simulated goes live)."""
        frames = self._held_frames(port, now_ps)
        for packet in frames:
            self.held += packet.size
            self.buffer.admit(packet.ingress.ingress, packet.size)
        port.unreleased.extend(frames)
        self.rearm_departure(port)

    def _become_calm(self) -> None:
        self.exact = False
        self.calm_bytes = self.calm_level
        for port in self.ports:
            for packet in port.unreleased:
                self.buffer.release(packet.ingress.ingress, packet.size)
            port.unreleased.clear()
        # Lazy accounting takes a frame off at its arrival: those on the wire count again.
        self.held = sum(p.size for port in self.ports for p in port.fifo) + sum(
            p.size for port in self.ports for p in port.waiting
        )

    # --- departures while exact ---

    def _arm_departure(self, port: Any) -> None:
        port.depart_armed = True
        port.depart_tick = Tick()
        self.env.push(
            port.unreleased[0].start_ps, DEPART | port.index, port.depart_tick, (lambda _t: self.depart(port),)
        )

    def depart(self, port: Any) -> None:
        """A frame begins to leave: free its share of the buffer, perhaps resume its sender."""
        port.depart_armed = False
        unreleased = port.unreleased
        if not self.exact or not unreleased or port.paused or port.down:
            return
        now = self.env.now
        packet = unreleased[0]
        if packet.start_ps == now:
            unreleased.popleft()
            self.release(packet, now, port.index)
            if self.held < self.calm_again and not any(i.paused for i in self.buffer.ingresses):
                self._become_calm()
                return
        if unreleased and not port.depart_armed:
            self._arm_departure(port)

    def release(self, packet: Any, now_ps: int, departed_index: int) -> None:
        """A frame begins to leave, or is lost with its link: free its share of the buffer."""
        self.held -= packet.size
        in_port = packet.ingress
        ingress = in_port.ingress
        self.buffer.release(ingress, packet.size)
        if self.buffer.may_resume(ingress):
            ingress.paused = False
            self._signal(in_port, now_ps, departed_index, False)

    def _signal(self, in_port: Any, now_ps: int, departed_index: int, pause: bool) -> None:
        """Tell the sender behind in_port to stop or to go on."""
        env = self.env
        in_port.reverse.send_control(
            now_ps, departed_index, self.pfc_frame_bytes, lambda: set_pause(in_port, env.now, pause, self.notify_pause)
        )

    def rearm_departure(self, port: Any) -> None:
        """Departure times of a port moved: see that the next one is waited for."""
        if self.exact and port.unreleased and not port.paused and not port.down and not port.depart_armed:
            self._arm_departure(port)


def set_pause(port: Any, now_ps: int, pause: bool, notify: Any = None) -> None:
    """A PFC frame for `port` (the sender's side of the link) takes effect."""
    nic = port.host
    if pause == (port.paused if nic is None else nic.data_paused):
        return
    if pause:
        port.pauses += 1
        port.paused_since_ps = now_ps
    else:
        port.paused_ps += now_ps - port.paused_since_ps
    if nic is not None:
        nic.pause(now_ps, pause)
    elif pause:
        port.take_back(now_ps, -1)
        port.paused = True
    else:
        port.paused = False
        if port.waiting and not port.down:
            port.retime(now_ps)
        port.switch.rearm_departure(port)
    if notify is not None:
        notify(port, now_ps, pause)
