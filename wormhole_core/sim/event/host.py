"""Hosts in the fast model: NICs that serve queue pairs, and the receiving side.

A NIC sends ACKs first: an ACK gets its departure time at once, since a data frame is only committed
at the instant it begins to leave. The send tick stands for the next instant at which a queue pair
may send; it is not armed while everything waits for an ACK.
"""

from __future__ import annotations

from heapq import heappush
from typing import Any

from ..kernel import DEAD, Tick
from ..order import ARRIVE, SEND
from ..packet import DATA
from ..rules.nic_schedule import RoundRobin
from .port import AT_ONCE


class Nic:
    """One NIC port of a host and the queue pairs that send by it."""

    __slots__ = (
        "acks_obey_pause",
        "armed_ps",
        "callbacks",
        "data_paused",
        "env",
        "host",
        "on_sent",
        "port",
        "rank",
        "schedule",
        "tick",
        "wake_rule",
    )

    def __init__(self, host: Host, port: Any, acks_obey_pause: bool, wake_rule: str) -> None:
        self.host = host
        self.env = port.env
        self.port = port
        self.rank = SEND | port.index
        self.callbacks = (self._tick,)
        self.tick: Any = Tick()
        self.armed_ps: int | None = None
        self.data_paused = False
        self.acks_obey_pause = acks_obey_pause
        self.wake_rule = wake_rule
        self.schedule = RoundRobin()
        self.on_sent: tuple[Any, ...] = ()

    def add(self, flow: Any) -> None:
        """A queue pair starts."""
        flow.nic = self
        self.schedule.pairs.append(flow)

    def remove(self, flow: Any) -> None:
        """A queue pair moves to another NIC."""
        self.schedule.remove(flow)

    def _tick(self, tick: Any) -> None:
        now = self.env._now
        pairs = self.schedule.pairs
        if len(pairs) == 1:
            # Often congestion control has moved the deadline since: wait again, as `pump` would.
            flow = pairs[0]
            due = flow.next_send_ps
            if due > now and due >= self.port.busy_ps and not flow.finished:
                self.armed_ps = due
                tick.callbacks = self.callbacks
                heappush(self.port.heap, (due, self.rank, 0, tick))
                return
        self.armed_ps = None
        self.pump(now)

    def arm(self, time_ps: int) -> None:
        """See that `pump` runs at time_ps; an earlier tick stays, a later one goes dead."""
        armed = self.armed_ps
        if armed is not None:
            if armed <= time_ps:
                return
            self.tick.callbacks = DEAD
            self.tick = Tick()
        self.armed_ps = time_ps
        tick = self.tick
        tick.callbacks = self.callbacks
        heappush(self.port.heap, (time_ps, self.rank, 0, tick))

    def pump(self, now_ps: int) -> None:
        """Send if possible, and arm the next attempt."""
        port = self.port
        if self.data_paused or port.down:
            return
        busy = port.busy_ps
        pairs = self.schedule.pairs
        if len(pairs) == 1:
            # The common case, without the search.
            flow = pairs[0]
            due = flow.next_send_ps
            if due < busy:
                due = busy
            armed = self.armed_ps
            if armed is not None and armed <= due and due > now_ps and not flow.finished:
                return  # the armed tick looks again, and what is due then cannot be due before
            # Flow.may_send, inlined for speed where nothing is sent again.
            snd_nxt = flow.snd_nxt
            window = flow.cca.window_bytes
            if snd_nxt < flow.end_seq and (window is None or snd_nxt - flow.snd_una < window):
                pass
            elif flow.snd is None or not flow.may_send():
                if flow.finished:
                    if busy > now_ps:
                        self.arm(busy)
                    else:
                        self.schedule.pick(now_ps)
                return
            if due > now_ps:
                self.arm(due)
                return
            self.schedule.last = 0
        else:
            if busy > now_ps:
                if pairs:
                    self.arm(busy)
                return
            flow = self.schedule.pick(now_ps)
            if flow is None:
                due = self.schedule.wake_ps(now_ps, self.wake_rule)
                if due is not None:
                    self.arm(due)
                return
        packet = flow.build_packet(now_ps)
        # Port.enqueue for an idle NIC port, inlined for speed.
        packet.enter_ps = packet.start_ps = now_ps
        port.busy_ps = end = now_ps + port.tx_of[packet.size]
        packet.arrive_ps = arrive = end + port.delay_ps
        port.fifo.append(packet)
        if not port.armed:
            port.armed = True
            tick = port.tick
            tick.callbacks = port.callbacks
            heappush(port.heap, (arrive, ARRIVE, now_ps << 32 | port.place, tick))
        if self.on_sent:
            for listener in self.on_sent:
                listener(now_ps, flow.index, packet.seq, packet.size)
        if flow.ticks.rto_armed_ps is None:
            flow.ticks.arm_rto()
        if len(pairs) > 1:
            self.arm(end)
            return
        snd_nxt = flow.snd_nxt
        window = flow.cca.window_bytes
        if (snd_nxt < flow.end_seq and (window is None or snd_nxt - flow.snd_una < window)) or (
            flow.snd is not None and flow.may_send()
        ):
            due = flow.next_send_ps
            if due < end:
                due = end
            if self.armed_ps is None:
                self.armed_ps = due
                tick = self.tick
                tick.callbacks = self.callbacks
                heappush(port.heap, (due, self.rank, 0, tick))
            else:
                self.arm(due)

    def suspend(self) -> None:
        """Take the events of this NIC out of the heap (see `freeze.py`)."""
        if self.armed_ps is not None:
            self.tick.callbacks = DEAD
            self.tick = Tick()

    def resume(self, shift_ps: int) -> None:
        """Put them back, shift_ps later than they were."""
        if self.armed_ps is not None:
            due, self.armed_ps = self.armed_ps + shift_ps, None
            self.arm(due)

    def forget(self) -> None:
        """Be as new; the events are out of the heap."""
        self.armed_ps = None
        self.schedule.pairs = []
        self.schedule.last = 0

    def pause(self, now_ps: int, pause: bool) -> None:
        """A PFC frame took effect: hold data, and ACKs where they obey."""
        port = self.port
        self.data_paused = pause
        if pause:
            if self.acks_obey_pause:
                port.take_back(now_ps, -1)
                port.paused = True
            return
        port.paused = False
        if port.waiting:
            port.retime(now_ps)
        self.pump(now_ps)


class Host:
    """A host: NICs by port, and what arrives."""

    __slots__ = ("lane", "nics", "node", "on_complete", "on_received")

    def __init__(self, node: int) -> None:
        self.node = node
        self.nics: dict[int, Nic] = {}
        self.lane = False
        self.on_complete: Any = None
        self.on_received: Any = None

    def receive(self, packet: Any, now_ps: int, _port: Any) -> None:
        """The last bit of a frame has arrived."""
        flow = packet.flow
        if packet.kind == DATA:
            before = flow.rx_last_byte_ps
            ack = flow.receive_data(packet, now_ps)
            if flow.rx_last_byte_ps != before:
                self.on_received(flow, now_ps)
            if ack is None:
                return
            if self.lane:
                self._send_on_lane(ack, flow, now_ps)
                return
            port = ack.path[0]
            if port.paused or port.down:
                port.enqueue(ack, now_ps)
                return
            # Port.enqueue of a NIC port, inlined for speed: no queue is measured there.
            start = port.busy_ps
            if start < now_ps:
                start = now_ps
                ack.enter_ps = AT_ONCE
            else:
                ack.enter_ps = now_ps
            ack.start_ps = start
            port.busy_ps = end = start + port.tx_of[ack.size]
            ack.arrive_ps = end = end + port.delay_ps
            port.fifo.append(ack)
            if not port.armed:
                port.armed = True
                tick = port.tick
                tick.callbacks = port.callbacks
                heappush(port.heap, (end, ARRIVE, start << 32 | port.place, tick))
            return
        if flow.finished:
            return
        if flow.receive_ack(packet, now_ps):
            self.on_complete(flow, now_ps)
            flow.ticks.cancel()
        elif flow.has_cca_timer:
            flow.ticks.update_cca(now_ps)
        flow.nic.pump(now_ps)

    @staticmethod
    def _send_on_lane(ack: Any, flow: Any, now_ps: int) -> None:
        # ACKs on a lane of their own: no capacity, no queue, only the way back.
        latency = sum(port.delay_ps + port.tx_of[ack.size] for port in ack.path)
        flow.ticks.send_ack(now_ps, now_ps + latency, ack)


class FlowTicks:
    """The timers of one flow: retransmission (one lazy tick) and congestion control; and its ACKs
    under way where those have a lane of their own."""

    __slots__ = ("cca_armed_ps", "cca_tick", "env", "flow", "lane", "rank", "rto_armed_ps", "rto_tick")

    def __init__(self, env: Any, flow: Any, rank: int) -> None:
        self.env, self.flow, self.rank = env, flow, rank
        self.rto_tick = Tick()
        self.rto_armed_ps: int | None = None
        self.cca_tick = Tick()
        self.cca_armed_ps: int | None = None
        # Tick -> (when the ACK was sent, when it arrives, ACK); empty unless ACKs have a lane.
        self.lane: dict[Tick, tuple[int, int, Any]] = {}

    def send_ack(self, sent_ps: int, due_ps: int, ack: Any) -> None:
        """An ACK is on its lane until due_ps."""
        index = self.flow.index
        tick = Tick((1 << 31 | index) << 64 | ack.first_seq)
        self.lane[tick] = sent_ps, due_ps, ack
        self.env.push(due_ps, ARRIVE, tick, (self._ack_arrives,), sent_ps << 32 | 1 << 31 | index)

    def _ack_arrives(self, tick: Any) -> None:
        ack = self.lane.pop(tick)[2]
        ack.path[-1].peer_host.receive(ack, self.env._now, None)

    def arm_rto(self) -> None:
        """Wait for the present deadline; later ones are noticed when the tick fires. Never wait longer
        than one timeout: an ACK ends the back-off and brings the deadline forward."""
        flow = self.flow
        self.rto_armed_ps = min(flow.rto_deadline_ps, self.env._now + flow.rto_ps)
        self.env.push(self.rto_armed_ps, self.rank, self.rto_tick, (self._rto,))

    def _rto(self, _tick: Any) -> None:
        flow = self.flow
        deadline, self.rto_armed_ps = flow.rto_deadline_ps, None
        if flow.finished or not deadline:
            return
        now = self.env._now
        if deadline <= now:
            flow.on_timeout(now)
            if flow.has_cca_timer:
                self.update_cca(now)
            flow.nic.arm(now)
        self.arm_rto()

    def update_cca(self, now_ps: int) -> None:
        """Ask the CCA when it wants to be called."""
        due = self.flow.cca_deadline_ps(now_ps)
        armed = self.cca_armed_ps
        if due == armed:
            return
        if armed is not None:
            self.cca_tick.callbacks = DEAD
            self.cca_tick = Tick()
        self.cca_armed_ps = due
        if due is not None:
            self.env.push(due, self.rank | 1, self.cca_tick, (self._cca,))

    def _cca(self, _tick: Any) -> None:
        self.cca_armed_ps = None
        flow = self.flow
        now = self.env._now
        flow.on_cca_timer(now)
        self.update_cca(now)
        flow.nic.pump(now)

    def cancel(self) -> None:
        """The flow is done."""
        for tick, armed in ((self.rto_tick, self.rto_armed_ps), (self.cca_tick, self.cca_armed_ps)):
            if armed is not None:
                tick.callbacks = DEAD
        self.rto_armed_ps = self.cca_armed_ps = None
