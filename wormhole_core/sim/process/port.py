"""Egress ports: what they count, and the queue of a switch port with the process that empties it.

A port sends one frame at a time: it is busy from the instant a frame begins to leave until its last
bit is on the wire. What a frame learns at a switch it learns in the instant it begins to leave: the
ECN mark and the INT record look at the queue it leaves behind, and its share of the buffer is free.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from ..kernel import KernelEnvironment
from ..order import DEPART
from ..packet import DATA
from ..rules.telemetry import hop_record
from ..tx_times import TxTimes
from .alarm import Alarm
from .link import Crossing, Link


class Port:
    """Egress port of `node` towards `peer`; on a host, its `host` (a `Nic`) decides what it sends."""

    def __init__(
        self, env: KernelEnvironment, index: int, node: int, peer: int, data: dict[str, Any], resolution_ps: int
    ) -> None:
        self.env, self.index, self.node, self.peer = env, index, node, peer
        self.link_index: int = data["link_index"]
        self.rate_bps: int = data["rate_bps"]
        self.delay_ps: int = data["delay_ps"]
        self.loss: float = data.get("loss", 0.0)
        self.tx_of = TxTimes(self.rate_bps, resolution_ps)
        self.busy_ps = 0
        """The port is free from this instant on."""
        self.paused = False
        self.down = False
        self.link = Link(self)
        # Owner, far end, the port of the other direction, and what this port is to the far end.
        self.switch: Any = None
        self.host: Any = None
        self.peer_switch: Any = None
        self.peer_host: Any = None
        self.reverse: Any = None
        self.ingress: Any = None
        self.on_drop: Any = None
        self.marking: Any = None
        self.draws: Any = None
        self.loss_draws: Any = None
        self.int_tx_unit = self.int_q_unit = 1
        # flows: routed over this port. run_bytes: sent since flows last began to use it (for INT).
        self.flows = 0
        self.run_bytes = 0
        self.tx_bytes = self.tx_frames = self.max_queue = self.marks = 0
        self.drops = self.dropped_bytes = 0
        self.pauses = self.paused_ps = self.paused_since_ps = 0
        self.partition: Any = None

    def transmit(self, size_bytes: int, now_ps: int, **what: Any) -> None:
        """A frame begins to leave now; `what`: the rest of its `Crossing`."""
        self.busy_ps = now_ps + self.tx_of[size_bytes]
        self.run_bytes += size_bytes
        self.link.carry(Crossing(now_ps, self.busy_ps + self.delay_ps, size_bytes, **what))

    def drop(self, packet: Any, why: str) -> None:
        """A frame is lost here."""
        self.drops += 1
        self.dropped_bytes += packet.size
        if self.on_drop is not None:
            self.on_drop(self, packet, why)

    def set_pause(self, pause: bool, now_ps: int) -> None:
        """A PFC frame takes effect at this end of the link. Only the port's owner knows what it means."""
        if pause == self.stopped:
            return
        if pause:
            self.pauses += 1
            self.paused_since_ps = now_ps
        else:
            self.paused_ps += now_ps - self.paused_since_ps
        self._pause(pause, now_ps)

    @property
    def stopped(self) -> bool:
        """Whether a PFC frame has stopped data here."""
        return self.paused

    def _pause(self, pause: bool, now_ps: int) -> None:
        self.paused = pause

    def kill(self, now_ps: int) -> None:
        """The link has gone down: what is on it or queued for it is lost, a pause ends."""
        if self.stopped:
            self.paused_ps += now_ps - self.paused_since_ps
            self.paused = False
        for packet in self.link.cut():
            self.drop(packet, "link down")

    def quiet(self, now_ps: int) -> bool:
        """Whether nothing is queued here or on the wire."""
        return not self.link.frames


class SwitchPort(Port):
    """Queue of a switch port. `queue` holds frames, `queue_bytes` their sum, `controls` PFC frames that
    go ahead of them and obey no pause."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.queue: deque[Any] = deque()
        self.queue_bytes = 0
        self.controls: deque[tuple[int, Callable[[int], None]]] = deque()
        self._turn = Alarm(self.env, DEPART | self.index)
        self.env.process(self._run())

    def accept(self, packet: Any, now_ps: int) -> None:
        """A frame enters. It leaves at once if the port was free before this instant; a port that
        becomes free in this instant sends when all arrivals are in."""
        self.queue.append(packet)
        self.queue_bytes += packet.size
        if self.busy_ps < now_ps and not self.paused:
            self._begin(now_ps)
        else:
            self._wait(now_ps)

    def send_control(self, size_bytes: int, effect: Callable[[int], None], now_ps: int) -> None:
        """Send a PFC frame as soon as the port is free; `effect(now_ps)` runs where it arrives."""
        if self.down:
            return
        self.controls.append((size_bytes, effect))
        if self.busy_ps <= now_ps:
            self._begin_control(now_ps)
        self._wait(now_ps)

    def _wait(self, now_ps: int) -> None:
        if self.controls or (self.queue and not self.paused):
            self._turn.set_no_later(max(self.busy_ps, now_ps))

    def _run(self) -> Generator[Any, Any, None]:
        while True:
            yield self._turn.ring()
            now = int(self.env.now)
            if self.busy_ps <= now:
                if self.controls:
                    self._begin_control(now)
                elif self.queue and not self.paused:
                    self._begin(now)
            self._wait(now)

    def _begin_control(self, now_ps: int) -> None:
        size, effect = self.controls.popleft()
        self.transmit(size, now_ps, effect=effect)

    def _begin(self, now_ps: int) -> None:
        """The first frame of the queue begins to leave."""
        packet = self.queue.popleft()
        before = self.queue_bytes
        self.queue_bytes = left = before - packet.size
        marked = self.marking is not None and self.marking.marks(left, self.draws)
        if marked:
            packet.marked = True
        if packet.hops is not None and packet.kind == DATA:
            packet.hops.append(
                hop_record(now_ps, self.run_bytes, left, self.rate_bps, self.int_tx_unit, self.int_q_unit)
            )
        self.transmit(packet.size, now_ps, packet=packet, queue_bytes=before, marked=marked)
        self.switch.release(packet, now_ps)

    def _pause(self, pause: bool, now_ps: int) -> None:
        self.paused = pause
        self._wait(now_ps)

    def kill(self, now_ps: int) -> None:
        super().kill(now_ps)
        self._turn.cancel()
        self.controls.clear()
        lost = list(self.queue)
        self.queue.clear()
        self.queue_bytes = 0
        for packet in lost:
            self.drop(packet, "link down")
        for packet in lost:
            self.switch.release(packet, now_ps)

    def quiet(self, now_ps: int) -> bool:
        return not self.queue and not self.controls and super().quiet(now_ps)
