"""One direction of a link: a process that carries frames to the far end in the order they were sent.

A frame arrives with its last bit, serialisation and propagation after it began to leave. There it may
be lost with the link's probability. Counters are kept here, at the end of the way, so that a run that
stops with frames on the wire reports what arrived.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from ..order import ARRIVE, PFC
from .alarm import Alarm


class Crossing(NamedTuple):
    """A frame on the wire. start_ps, arrive_ps: it began to leave, its last bit arrives.
    size_bytes: on the wire. packet: the frame, or None for a PFC frame, whose `effect` is what it does
    on arrival. queue_bytes: in the switch port when it left, itself included. marked: it was marked."""

    start_ps: int
    arrive_ps: int
    size_bytes: int
    packet: Any = None
    effect: Callable[[int], None] | None = None
    queue_bytes: int = 0
    marked: bool = False


class Link:
    """The wire behind a port."""

    def __init__(self, port: Any) -> None:
        self.port = port
        self.frames: deque[Crossing] = deque()
        self._arrival = Alarm(port.env, ARRIVE, port.index)
        port.env.process(self._run())

    def carry(self, crossing: Crossing) -> None:
        """A frame begins to leave."""
        self.frames.append(crossing)
        if len(self.frames) == 1:
            self._expect(crossing)

    def cut(self) -> list[Any]:
        """The link has failed: the packets that were on it."""
        lost = [c.packet for c in self.frames if c.packet is not None]
        self.frames.clear()
        self._arrival.cancel()
        return lost

    def _expect(self, crossing: Crossing) -> None:
        if crossing.effect is not None:
            self._arrival.set(crossing.arrive_ps, PFC | self.port.index)
        else:
            # Arrivals of one instant: first what began to be sent first.
            self._arrival.set(crossing.arrive_ps, ARRIVE, crossing.start_ps)

    def _run(self) -> Generator[Any, Any, None]:
        while True:
            yield self._arrival.ring()
            crossing = self.frames.popleft()
            if self.frames:
                self._expect(self.frames[0])
            self._arrive(crossing)

    def _arrive(self, crossing: Crossing) -> None:
        port, packet, now = self.port, crossing.packet, crossing.arrive_ps
        port.tx_frames += 1
        port.tx_bytes += crossing.size_bytes
        port.max_queue = max(port.max_queue, crossing.queue_bytes)
        port.marks += crossing.marked
        if crossing.effect is not None:
            crossing.effect(now)
        elif port.loss and port.loss_draws.uniform() < port.loss:
            port.drop(packet, "loss")
        elif port.peer_host is not None:
            port.peer_host.receive(packet, now)
        else:
            packet.hop += 1
            port.peer_switch.receive(packet, port, now)
