"""The fast model under `network.order = "scheduled"`: what was scheduled first happens first.

The reference simulator runs the events of one instant in the order they were scheduled. Here arrivals,
PFC frames, ends of transmissions at hosts and NIC timers share the phase ARRIVE, ordered by when they
were scheduled (an arrival or the end of a transmission: when it began; a timer: when it was set), then
by the order in which the events that scheduled them ran. Timers of flows come before them, since they
were set long ago, and do not wake the NIC.

What ran first is found from what scheduled it, and so on back. A frame begins in an event: another frame's
arrival, the end of the frame before it (for which the fast model has no event, unless at a host), a
timer, the start of a flow. Its `key` is (when that event was scheduled, relative to the frame's own
beginning; the key of that event; the NIC where it all began; how many keys are behind it; a digest of
all the times in them, so that what went in step from the start is seen to at once). Two that
went in step for longer than keys are kept, or began in the same instant, are ordered by that NIC.
Keys hold neither absolute times nor counts: what is frozen, or simulated elsewhere, comes back with
the order it would have had.

The NIC keeps to the reference, too: the end of a transmission is an event, and until it has happened an
ACK changes nothing; with nothing to send it sets its timer, unless one is pending.
"""

from __future__ import annotations

from heapq import heappush
from typing import Any

from ..kernel import DEAD, Tick
from ..order import ARRIVE, PFC
from ..packet import DATA
from .host import FlowTicks, Host, Nic
from .port import AT_ONCE, Port

TIMERS_FIRST = PFC
"""Phase of a flow's timers; PFC frames arrive with the others."""
LONG_AGO = -(1 << 100)
KEEP, MOST = 512, 1024
"""Causes that are compared, and those that a key may keep, so that it is seldom shortened."""
Key = tuple[int, Any, int, int, int]


def caused(lead_ps: int, cause: Key | None, nic: int) -> Key:
    """Key of what began in an event that was scheduled lead_ps (negative) earlier and has the key `cause`;
    nic: where it begins, if its cause has no key."""
    if cause is None:
        return lead_ps, None, nic, 0, 2 - lead_ps
    _, _, nic, depth, digest = cause
    digest = hash((2 - lead_ps, digest))  # of numbers above 0: -1 and -2 have one hash
    if depth < MOST:
        return lead_ps, cause, nic, depth + 1, digest
    keys: list[Key] = []
    while len(keys) < KEEP:
        keys.append(cause)
        cause = cause[1]
    short: Key | None = None
    for depth, key in enumerate(reversed(keys)):
        short = key[0], short, nic, depth, key[4]
    return lead_ps, short, nic, KEEP, digest


def inherited(before: Any, start_ps: int) -> Key:
    """Key of a frame that begins at start_ps because the frame `before` ends."""
    return caused(before.start_ps - start_ps, before.key, 0)


def precedes(one: Key, other: Key) -> bool:
    """Which of two things scheduled in the same instant, for the same instant, happens first."""
    a: Key | None = one
    b: Key | None = other
    for _ in range(KEEP):
        if a is None or b is None:
            if a is b:
                break
            return a is None
        if a[4] == b[4]:
            break
        if a[0] != b[0]:
            return a[0] < b[0]
        a, b = a[1], b[1]
    return one[2] < other[2]


class KeyTick(Tick):
    """A heap event that knows its place among those scheduled in the same instant for the same instant."""

    __slots__ = ("key",)

    def __init__(self, key: Key) -> None:
        super().__init__()
        self.key = key

    def __lt__(self, other: Any) -> bool:
        return precedes(self.key, other.key)


class ScheduledPort(Port):
    """Gives frames their keys as they enter, and its event the key of the frame at the head."""

    __slots__ = ()

    def __init__(self, *facts: Any) -> None:
        super().__init__(*facts)
        self.place = 0  # ties are for the ticks to decide

    def new_tick(self) -> Tick:
        return KeyTick(caused(LONG_AGO, None, self.index))

    def rearm(self) -> None:
        self.disarm()
        if self.fifo:
            self.tick.key = self.fifo[0].key
        super().rearm()

    def fire(self, tick: Any) -> None:
        fifo = self.fifo
        packet = fifo[0]
        if len(fifo) > 1:
            tick.key = fifo[1].key
        if self.peer_switch is not None:
            packet.path[packet.hop + 1].stamp(packet, packet.arrive_ps)
        Port.fire(self, tick)

    def stamp(self, packet: Any, now_ps: int) -> None:
        """A frame is about to enter; its `start_ps` and key are still those of the link it came by."""
        start = self.busy_ps
        if start < now_ps and not self.paused and not self.down:
            packet.key = caused(packet.start_ps - now_ps, packet.key, 0)
        elif self.fifo:
            packet.key = inherited(self.fifo[-1], start)
        else:
            packet.key = caused(now_ps - start, None, self.index)
        if not self.armed:
            self.tick.key = packet.key

    def retime(self, from_ps: int) -> None:
        before, busy = self.fifo[-1] if self.fifo else None, max(self.busy_ps, from_ps)
        for packet in self.waiting:
            if before is None:
                packet.key = caused(from_ps - busy, None, self.index)
            else:
                packet.key = inherited(before, busy)
            before, packet.start_ps = packet, busy
            busy += self.tx_of[packet.size]
        super().retime(from_ps)

    def push_control(self, now_ps: int, start_ps: int, arrive_ps: int, arrive: Any) -> None:
        key = caused(LONG_AGO, None, self.index)
        if start_ps > now_ps:
            before = next((frame for frame in reversed(self.fifo) if frame.start_ps < start_ps), None)
            key = key if before is None else inherited(before, start_ps)
        self.env.push(arrive_ps, ARRIVE, KeyTick(key), (arrive,), start_ps << 32)


class ScheduledNic(Nic):
    """A NIC that learns of the end of each transmission, and sets its timer only if none is pending."""

    __slots__ = ("cause", "cause_ps", "end_callbacks", "end_ps", "end_tick", "sent_ps", "set_ps")

    def __init__(self, *facts: Any) -> None:
        super().__init__(*facts)
        self.cause_ps = 0  # when the event that is running was scheduled, and its key
        self.cause: Key | None = None
        # Beginning and end of the transmission waited for; when the timer was set.
        self.end_ps: int | None = None
        self.sent_ps = self.set_ps = 0
        self.end_callbacks = (self._ended,)
        self.tick, self.end_tick = self.port.new_tick(), self.port.new_tick()

    def pump(self, now_ps: int) -> None:
        """A queue pair has started: send if possible."""
        self.run(now_ps, now_ps, None)

    def run(self, now_ps: int, cause_ps: int, cause: Key | None) -> None:
        """Send if possible, in an event that was scheduled at cause_ps and has that key."""
        self.cause_ps, self.cause = cause_ps, cause
        port = self.port
        if self.end_ps is not None:
            return
        if port.busy_ps > now_ps:
            self.await_end(now_ps)
            return
        flow = None if self.data_paused or port.down else self.schedule.pick(now_ps)
        if flow is None:
            due, armed = self.schedule.wake_ps(now_ps, self.wake_rule), self.armed_ps
            if due is not None and due > now_ps and (armed is None or (self.wake_rule == "any" and due < armed)):
                self._set_timer(due)
            return
        packet = flow.build_packet(now_ps)
        packet.key = caused(cause_ps - now_ps, cause, port.index)
        if not port.armed:
            port.tick.key = packet.key
        port.enqueue(packet, now_ps)
        packet.enter_ps = AT_ONCE
        for listener in self.on_sent:
            listener(now_ps, flow.index, packet.seq, packet.size)
        if flow.ticks.rto_armed_ps is None:
            flow.ticks.arm_rto()
        self._await(now_ps, port.busy_ps, packet.key)

    def await_end(self, now_ps: int) -> None:
        """Look again when the frame now being sent has left."""
        if self.end_ps is not None:
            return
        port = self.port
        for frame in reversed(port.fifo):
            start = frame.start_ps
            if start <= now_ps:
                if start == now_ps and frame.enter_ps >= 0:
                    # It was queued behind one whose end had been noticed already: it begins in this event.
                    frame.key = caused(self.cause_ps - now_ps, self.cause, port.index)
                self._await(start, start + port.tx_of[frame.size], frame.key)
                return

    def _await(self, sent_ps: int, end_ps: int, key: Key) -> None:
        self.sent_ps, self.end_ps = sent_ps, end_ps
        tick = self.end_tick
        tick.key, tick.callbacks = key, self.end_callbacks
        heappush(self.port.heap, (end_ps, ARRIVE, sent_ps << 32, tick))

    def _ended(self, tick: Any) -> None:
        self.end_ps = None
        self.run(self.env._now, self.sent_ps, tick.key)

    def arm(self, time_ps: int) -> None:
        """See that `run` happens at time_ps; an earlier timer stays, a later one goes dead."""
        self.cause_ps, self.cause = self.env._now, None
        self._set_timer(time_ps)

    def _set_timer(self, time_ps: int) -> None:
        if self.armed_ps is not None:
            if self.armed_ps <= time_ps:
                return
            self.cancel_timer()
        self.armed_ps, self.set_ps = time_ps, self.env._now
        self._push_timer(caused(self.cause_ps - self.set_ps, self.cause, self.port.index))

    def _push_timer(self, key: Key) -> None:
        self.tick.key = key
        self.env.push(self.armed_ps, ARRIVE, self.tick, self.callbacks, self.set_ps << 32)

    def _tick(self, tick: Any) -> None:
        self.armed_ps = None
        self.run(self.env._now, self.set_ps, tick.key)

    def repaced(self, flow: Any, now_ps: int) -> None:
        """Congestion control has moved a deadline: a later timer is set anew."""
        if self.armed_ps is not None and flow.next_send_ps < self.armed_ps:
            self._set_timer(max(now_ps, flow.next_send_ps))

    def cancel_timer(self) -> None:
        """Nothing is left to send, or not then."""
        if self.armed_ps is not None:
            self.tick.callbacks = DEAD
            self.tick = self.port.new_tick()
            self.armed_ps = None

    def pause(self, now_ps: int, pause: bool) -> None:
        port = self.port
        back = port.reverse
        self.cause_ps = now_ps - back.delay_ps - back.tx_of[port.peer_switch.pfc_frame_bytes]
        self.cause = None
        self.data_paused = pause
        if pause:
            if self.acks_obey_pause:
                port.take_back(now_ps, -1)
                port.paused = True
            return
        port.paused = False
        if port.waiting:
            port.retime(now_ps)
        self.run(now_ps, self.cause_ps, None)

    def suspend(self) -> None:
        for tick in (self.tick, self.end_tick):
            tick.callbacks = DEAD

    def resume(self, shift_ps: int) -> None:
        old, old_end = self.tick.key, self.end_tick.key
        self.tick, self.end_tick = self.port.new_tick(), self.port.new_tick()
        if self.armed_ps is not None:
            self.armed_ps += shift_ps
            self.set_ps += shift_ps
            self._push_timer(old)
        if self.end_ps is not None:
            self._await(self.sent_ps + shift_ps, self.end_ps + shift_ps, old_end)

    def forget(self) -> None:
        super().forget()
        self.end_ps = None
        self.tick, self.end_tick = self.port.new_tick(), self.port.new_tick()


class ScheduledHost(Host):
    """A host whose NICs are told why they are asked."""

    __slots__ = ()

    def receive(self, packet: Any, now_ps: int, _port: Any) -> None:
        flow = packet.flow
        cause_ps, cause = packet.start_ps, packet.key
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
            port.stamp(ack, now_ps)
            port.enqueue(ack, now_ps)
            if port.busy_ps > now_ps and port.host.end_ps is None:
                port.host.cause_ps, port.host.cause = cause_ps, cause
                port.host.await_end(now_ps)
            return
        if flow.finished:
            return
        nic = flow.nic
        repaces = flow.repaces and flow.snd_una > 0  # the first ACK updates no rate
        if flow.receive_ack(packet, now_ps):
            self.on_complete(flow, now_ps)
            flow.ticks.cancel()
            if not nic.schedule.pairs:
                nic.cancel_timer()
                return
        elif flow.has_cca_timer:
            flow.ticks.update_cca(now_ps)
        if repaces:
            nic.cause_ps, nic.cause = cause_ps, cause
            nic.repaced(flow, now_ps)
        nic.run(now_ps, cause_ps, cause)


class ScheduledTicks(FlowTicks):
    """Timers of congestion control leave the NIC alone; ACKs on a lane come after the frames."""

    __slots__ = ()

    def send_ack(self, sent_ps: int, due_ps: int, ack: Any) -> None:
        tick = KeyTick(caused(1, None, self.flow.index << 64 | ack.first_seq))
        self.lane[tick] = sent_ps, due_ps, ack
        self.env.push(due_ps, ARRIVE, tick, (self._ack_arrives,), sent_ps << 32)

    def _cca(self, _tick: Any) -> None:
        self.cca_armed_ps = None
        now = self.env._now
        self.flow.on_cca_timer(now)
        self.update_cca(now)
