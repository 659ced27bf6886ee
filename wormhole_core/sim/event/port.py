"""An egress port and the link behind it, in the fast model.

When a frame enters, the time it will begin to leave is already known (the port is busy until
`busy_ps`), so there is no event for it: one tick per port stands for the head frame's arrival at the
far end. What belongs to the instant of departure (queue length for ECN and INT) is worked out when
the tick fires, from the times frames entered. Buffer accounting is lazy while a switch is calm; see
`switch.py` for what happens when it is not.

PFC changes departure times already computed: a pause takes back the frames that have not begun to
leave (`waiting`), a control frame pushes them back by its own length.
"""

from __future__ import annotations

from collections import deque
from heapq import heappush
from typing import Any

from ..kernel import DEAD, Tick
from ..order import ARRIVE, PFC
from ..packet import DATA
from ..tx_times import TxTimes

NEVER = 1 << 62
AT_ONCE = -1
"""`enter_ps` of a frame that found its port idle and began to leave in the same event: nothing was
queued, and what else arrives in that instant finds the port busy."""


class Port:
    """Egress port of `node` towards `peer`, by one direction of one link."""

    __slots__ = (
        "armed",
        "arrivals",
        "busy_ps",
        "callbacks",
        "control",
        "delay_ps",
        "depart_armed",
        "depart_tick",
        "down",
        "draws",
        "dropped_bytes",
        "drops",
        "env",
        "fifo",
        "flows",
        "heap",
        "host",
        "index",
        "ingress",
        "int_q_unit",
        "int_tx_unit",
        "kmin",
        "link_index",
        "loss",
        "loss_draws",
        "marking",
        "marks",
        "max_queue",
        "node",
        "on_drop",
        "partition",
        "paused",
        "paused_ps",
        "paused_since_ps",
        "pauses",
        "peer",
        "peer_host",
        "peer_switch",
        "place",
        "queue",
        "rate_bps",
        "reverse",
        "run_base",
        "skew_ps",
        "switch",
        "tick",
        "tx_bytes",
        "tx_frames",
        "tx_of",
        "unreleased",
        "waiting",
        "watch_level",
        "watcher",
    )

    def __init__(
        self,
        env: Any,
        index: int,
        node: int,
        peer: int,
        link_index: int,
        rate_bps: int,
        delay_ps: int,
        loss: float,
        resolution_ps: int,
    ) -> None:
        self.env = env
        self.heap = env._queue
        # What decides between frames that began to leave in one instant and arrive in one instant.
        self.index = self.place = index
        self.node, self.peer, self.link_index = node, peer, link_index
        self.rate_bps, self.delay_ps, self.loss = rate_bps, delay_ps, loss
        self.tx_of = TxTimes(rate_bps, resolution_ps)
        self.callbacks = (self.fire,)
        self.tick: Any = self.new_tick()
        self.armed = False
        # Frames with a departure time, in order; frames held back by a pause; frames that entered
        # but are not yet counted in `queue` (which is exact as of the last frame delivered).
        self.fifo: deque[Any] = deque()
        self.waiting: deque[Any] = deque()
        self.arrivals: deque[Any] = deque()
        self.queue = 0
        self.busy_ps = 0
        self.skew_ps = 0
        self.paused = False
        self.down = False
        self.control = 0
        # Set by the network: owner and far end.
        self.switch: Any = None
        self.host: Any = None
        self.peer_switch: Any = None
        self.peer_host: Any = None
        self.reverse: Any = None
        self.ingress: Any = None
        self.on_drop: Any = None
        # Marking and telemetry of a switch port; kmin is beyond any queue where nothing is marked.
        self.marking: Any = None
        self.kmin = NEVER
        self.draws: Any = None
        self.loss_draws: Any = None
        self.int_tx_unit = self.int_q_unit = 1
        # Exact mode of the switch: frames whose departure has not been accounted for.
        self.unreleased: deque[Any] = deque()
        self.depart_tick = Tick()
        self.depart_armed = False
        # Counters. run_base: tx_bytes when flows last began to use the port.
        self.flows = 0
        self.run_base = 0
        self.tx_bytes = self.tx_frames = 0
        self.max_queue = 0
        # Acceleration: watcher(port) is called when the largest queue passes this level.
        self.watch_level = NEVER
        self.watcher: Any = None
        self.drops = self.dropped_bytes = self.marks = self.pauses = 0
        self.paused_ps = self.paused_since_ps = 0
        self.partition: Any = None

    def new_tick(self) -> Tick:
        """The event of this port's arrivals at the far end."""
        return Tick(self.index)

    @property
    def run_bytes(self) -> int:
        """Bytes sent since flows last began to use the port (what INT reports)."""
        return self.tx_bytes - self.run_base

    @run_bytes.setter
    def run_bytes(self, value: int) -> None:
        self.run_base = self.tx_bytes - value

    # --- hot path ---

    def enqueue(self, packet: Any, now_ps: int) -> None:
        """A frame enters the queue (NICs and the slow paths; `fire` has this inlined)."""
        start = self.busy_ps
        if start < now_ps and not self.paused and not self.down:
            packet.enter_ps = AT_ONCE
            start = now_ps
        else:
            packet.enter_ps = now_ps
            if self.switch is not None:
                self.arrivals.append(packet)
            if self.paused or self.down:
                self.hold(packet)
                return
        packet.start_ps = start
        self.busy_ps = start = start + self.tx_of[packet.size]
        packet.arrive_ps = start = start + self.delay_ps
        self.fifo.append(packet)
        if not self.armed:
            self.armed = True
            tick = self.tick
            tick.callbacks = self.callbacks
            heappush(self.heap, (start, ARRIVE, packet.start_ps << 32 | self.place, tick))

    def fire(self, tick: Any) -> None:
        """The head frame's last bit arrives at the far end."""
        fifo = self.fifo
        packet = fifo.popleft()
        if fifo:
            tick.callbacks = self.callbacks
            head = fifo[0]
            self.env.rearmed = head.arrive_ps, ARRIVE, head.start_ps << 32 | self.place, tick
        else:
            self.armed = False
        size = packet.size
        self.tx_frames += 1
        sent = self.tx_bytes
        self.tx_bytes = sent + size
        switch = self.switch
        if switch is not None:
            # The queue as it was when this frame began to leave, without the frame itself.
            start = packet.start_ps
            if packet.enter_ps < 0:
                queue = 0
                if size > self.max_queue:
                    self.max_queue = size
                    if size > self.watch_level:
                        self.watcher(self)
            else:
                arrivals = self.arrivals
                queue = self.queue
                while arrivals and arrivals[0].enter_ps <= start:
                    queue += arrivals.popleft().size
                if queue > self.max_queue:
                    self.max_queue = queue
                    if queue > self.watch_level:
                        self.watcher(self)
                self.queue = queue = queue - size
                if queue > self.kmin and self.marking.marks(queue, self.draws):
                    packet.marked = True
                    self.marks += 1
            hops = packet.hops
            if hops is not None and packet.kind == DATA:
                sent -= self.run_base
                tx_unit = self.int_tx_unit
                if tx_unit == 1:
                    hops.append((start - self.skew_ps, sent, queue, self.rate_bps))
                else:
                    hops.append(
                        (start - self.skew_ps, sent - sent % tx_unit, queue - queue % self.int_q_unit, self.rate_bps)
                    )
            if not switch.exact:
                switch.held -= size
        if self.loss and self.loss_draws.uniform() < self.loss:
            self.drop(packet, "loss")
            return
        peer = self.peer_switch
        now = packet.arrive_ps
        if peer is None:
            self.peer_host.receive(packet, now, self)
            return
        packet.hop = hop = packet.hop + 1
        out = packet.path[hop]
        held = peer.held + size
        if held > peer.calm_bytes:
            peer.admit(packet, self, out, now)
            return
        peer.held = held
        packet.ingress = self
        # enqueue(), inlined for speed (benchmarks/bench_packet.py: 15 % of all time).
        start = out.busy_ps
        if start < now and not out.paused and not out.down:
            packet.enter_ps = AT_ONCE
            start = now
        else:
            packet.enter_ps = now
            out.arrivals.append(packet)
            if out.paused or out.down:
                out.hold(packet)
                return
        packet.start_ps = start
        out.busy_ps = start = start + out.tx_of[size]
        packet.arrive_ps = start = start + out.delay_ps
        out.fifo.append(packet)
        if not out.armed:
            out.armed = True
            tick = out.tick
            tick.callbacks = out.callbacks
            heappush(out.heap, (start, ARRIVE, packet.start_ps << 32 | out.place, tick))

    # --- PFC, failures ---

    def hold(self, packet: Any) -> None:
        """A frame entered while nothing leaves: it waits for the end of a pause, or is lost if the
        link is down."""
        if not self.down:
            self.waiting.append(packet)
            return
        switch = self.switch
        if switch is not None:
            self.arrivals.pop()
            switch.held -= packet.size
        self.drop(packet, "link down")

    def kill(self, now_ps: int) -> None:
        """The link has gone down: what is on it or queued for it is lost, a pause ends."""
        self.down = True
        self.take_back(now_ps, -1)
        switch = self.switch
        lost = (*self.fifo, *self.waiting)
        held = list(self.waiting) if switch is not None and switch.exact else []
        for queue in (self.fifo, self.waiting, self.arrivals, self.unreleased):
            queue.clear()
        self.queue = 0
        self.rearm()
        nic = self.host
        if self.paused or (nic is not None and nic.data_paused):
            self.paused = False
            if nic is not None:
                nic.data_paused = False
            self.paused_ps += now_ps - self.paused_since_ps
        for packet in lost:
            self.drop(packet, "link down")
            if switch is not None and not switch.exact:
                switch.held -= packet.size
        for packet in held:
            switch.release(packet, now_ps, -1)

    def quiet(self, now_ps: int) -> bool:
        """Whether nothing is queued here or on the wire."""
        return not self.fifo and not self.waiting and (not self.control or self.control + self.delay_ps <= now_ps)

    def retime(self, from_ps: int) -> None:
        """Give the frames in `waiting` departure times from from_ps on (they stay in order)."""
        waiting, fifo, tx_of, delay = self.waiting, self.fifo, self.tx_of, self.delay_ps
        busy = max(self.busy_ps, from_ps)
        for packet in waiting:
            packet.start_ps = busy
            busy += tx_of[packet.size]
            packet.arrive_ps = busy + delay
            fifo.append(packet)
        waiting.clear()
        self.busy_ps = busy
        self.rearm()

    def take_back(self, now_ps: int, departed_index: int) -> None:
        """Move frames that have not begun to leave from `fifo` to the front of `waiting`.

        departed_index: ports with a lower or equal index have already done their departures of this
        instant (-1: none have)."""
        fifo = self.fifo
        back = []
        while fifo:
            start = fifo[-1].start_ps
            if start < now_ps or (start == now_ps and (self.index <= departed_index or fifo[-1].enter_ps < 0)):
                break
            back.append(fifo.pop())
        if back:
            self.busy_ps = back[-1].start_ps if not fifo else fifo[-1].start_ps + self.tx_of[fifo[-1].size]
            self.busy_ps = max(self.busy_ps, self.control)
            self.waiting.extendleft(back)
            self.rearm()

    def disarm(self) -> None:
        """Take the tick out of the heap: it goes dead there."""
        if self.armed:
            self.tick.callbacks = DEAD
            self.tick = self.new_tick()
            self.armed = False

    def rearm(self) -> None:
        """Make the tick agree with the head of `fifo`; an old tick in the heap goes dead."""
        self.disarm()
        if self.fifo:
            self.armed = True
            head = self.fifo[0]
            self.env.push(head.arrive_ps, ARRIVE, self.tick, self.callbacks, head.start_ps << 32 | self.place)

    def send_control(self, now_ps: int, departed_index: int, size: int, action: Any) -> None:
        """Send a PFC frame ahead of the queue; `action()` runs when it has arrived."""
        if self.down:
            return
        self.take_back(now_ps, departed_index)
        start = max(self.busy_ps, now_ps)
        end = start + self.tx_of[size]
        self.busy_ps = self.control = end
        if not self.paused:
            self.retime(end)

        def arrive(_tick: Any) -> None:
            if self.down:
                return
            self.tx_bytes += size
            self.tx_frames += 1
            action()

        self.push_control(now_ps, start, end + self.delay_ps, arrive)

    def push_control(self, _now_ps: int, _start_ps: int, arrive_ps: int, arrive: Any) -> None:
        """A PFC frame that begins to leave at start_ps will arrive."""
        self.env.push(arrive_ps, PFC | self.index, Tick(self.index), (arrive,))

    def drop(self, packet: Any, why: str) -> None:
        """The frame is lost here."""
        self.drops += 1
        self.dropped_bytes += packet.size
        if self.on_drop is not None:
            self.on_drop(self, packet, why)
