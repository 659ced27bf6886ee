"""Hosts: NICs that send ACKs and serve queue pairs, the receiving side, and the timers of flows.

Per NIC two processes: one lets ACKs go as soon as the port is free, one serves queue pairs. ACKs go
first: data frames are chosen only in the instant they begin to leave, and never while an ACK waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any

from ..flow import Flow
from ..kernel import KernelEnvironment, Tick
from ..order import ARRIVE, DEPART, SEND
from ..packet import DATA
from ..rules.nic_schedule import RoundRobin
from .alarm import Alarm
from .port import Port


class NicPort(Port):
    """A host's end of a link; a pause there is the NIC's affair."""

    @property
    def stopped(self) -> bool:
        return bool(self.host.data_paused)

    def _pause(self, pause: bool, now_ps: int) -> None:
        self.host.pause(pause, now_ps)

    def kill(self, now_ps: int) -> None:
        super().kill(now_ps)
        self.host.kill()

    def quiet(self, now_ps: int) -> bool:
        return not self.host.acks and super().quiet(now_ps)


class Nic:
    """One NIC port of a host: `acks` wait their turn, `schedule` holds the queue pairs."""

    def __init__(self, port: NicPort, acks_obey_pause: bool, wake_rule: str) -> None:
        env = port.env
        self.port = port
        self.acks: deque[Any] = deque()
        self.schedule = RoundRobin()
        self.data_paused = False
        self.acks_obey_pause = acks_obey_pause
        self.wake_rule = wake_rule
        self.on_sent: tuple[Any, ...] = ()
        self._ack_turn = Alarm(env, DEPART | port.index)
        self._data_turn = Alarm(env, SEND | port.index)
        env.process(self._send_acks())
        env.process(self._serve_pairs())

    # --- ACKs ---

    def send_ack(self, ack: Any, now_ps: int) -> None:
        """An ACK is to leave by this port."""
        if self.port.down:
            self.port.drop(ack, "link down")
            return
        self.acks.append(ack)
        self._next_ack(now_ps)

    def _send_acks(self) -> Generator[Any, Any, None]:
        while True:
            yield self._ack_turn.ring()
            self._next_ack(int(self.port.env.now))

    def _next_ack(self, now_ps: int) -> None:
        if self.acks and not self.port.paused and self.port.busy_ps <= now_ps:
            ack = self.acks.popleft()
            self.port.transmit(ack.size, now_ps, packet=ack)
        if self.acks and not self.port.paused:
            self._ack_turn.set(self.port.busy_ps)

    # --- queue pairs ---

    def add(self, flow: Flow) -> None:
        """A queue pair starts here, or moves here."""
        flow.nic = self
        self.schedule.pairs.append(flow)

    def remove(self, flow: Flow) -> None:
        """A queue pair moves to another NIC."""
        self.schedule.remove(flow)

    def arm(self, time_ps: int) -> None:
        """Try to send at time_ps."""
        self._data_turn.set_no_later(time_ps)

    def _serve_pairs(self) -> Generator[Any, Any, None]:
        while True:
            yield self._data_turn.ring()
            self.pump(int(self.port.env.now))

    def pump(self, now_ps: int) -> None:
        """Send a data frame if one may go now; see to it that the next attempt is made in time."""
        port = self.port
        if self.data_paused or port.down or not self.schedule.pairs:
            return
        if self.acks or port.busy_ps > now_ps:
            self.arm(max(port.busy_ps, now_ps))
            return
        flow = self.schedule.pick(now_ps)
        if flow is None:
            due = self.schedule.wake_ps(now_ps, self.wake_rule)
            if due is not None:
                self.arm(due)
            return
        packet = flow.build_packet(now_ps)
        port.transmit(packet.size, now_ps, packet=packet)
        for listener in self.on_sent:
            listener(now_ps, flow.index, packet.seq, packet.size)
        flow.ticks.watch()
        self.arm(port.busy_ps)

    # --- PFC, failures ---

    def pause(self, pause: bool, now_ps: int) -> None:
        """Hold data, and ACKs where they obey; or go on."""
        self.data_paused = pause
        self.port.paused = pause and self.acks_obey_pause
        if not pause:
            self._next_ack(now_ps)
            self.pump(now_ps)

    def kill(self) -> None:
        """The link has gone down."""
        self.data_paused = False
        for ack in self.acks:
            self.port.drop(ack, "link down")
        self.acks.clear()
        self._ack_turn.cancel()


class Host:
    """A host: NICs by link index, and what arrives."""

    def __init__(self, env: KernelEnvironment, node: int) -> None:
        self.env = env
        self.node = node
        self.nics: dict[int, Nic] = {}
        self.lane = False
        self.on_received: Any = None
        self.on_complete: Any = None

    def receive(self, packet: Any, now_ps: int) -> None:
        """The last bit of a frame has arrived; the host answers at once."""
        if packet.kind == DATA:
            self._receive_data(packet, now_ps)
        elif not packet.flow.finished:
            self._receive_ack(packet, now_ps)

    def _receive_data(self, packet: Any, now_ps: int) -> None:
        flow = packet.flow
        complete_before = flow.rx_last_byte_ps >= 0
        ack = flow.receive_data(packet, now_ps)
        if flow.rx_last_byte_ps >= 0 and not complete_before:
            self.on_received(flow, now_ps)
        if ack is None:
            return
        if self.lane:
            self._send_on_lane(ack, now_ps)
        else:
            ack.path[0].host.send_ack(ack, now_ps)

    def _receive_ack(self, ack: Any, now_ps: int) -> None:
        flow = ack.flow
        if flow.receive_ack(ack, now_ps):
            self.on_complete(flow, now_ps)
            flow.ticks.cancel()
        else:
            flow.ticks.watch()
            if flow.has_cca_timer:
                flow.ticks.update_cca(now_ps)
        flow.nic.pump(now_ps)

    def _send_on_lane(self, ack: Any, now_ps: int) -> None:
        """ACKs on a lane of their own take no capacity and meet no queue: only time passes."""
        arrive_ps = now_ps + sum(port.delay_ps + port.tx_of[ack.size] for port in ack.path)
        sender = ack.path[-1].peer_host
        # After all frames that began to be sent in the same instant; then by flow and by frame answered.
        entry = Tick((1 << 31 | ack.flow.index) << 64 | ack.first_seq)
        self.env.push(arrive_ps, ARRIVE, entry, (lambda _t: sender.receive(ack, arrive_ps),), now_ps)


class Timers:
    """Two processes of one flow: the retransmission timeout and the congestion control's timer."""

    def __init__(self, env: KernelEnvironment, flow: Flow, rank: int) -> None:
        self.env, self.flow = env, flow
        self._timeout = Alarm(env, rank)
        self._cca = Alarm(env, rank | 1)
        env.process(self._run_timeout())
        if flow.has_cca_timer:
            env.process(self._run_cca())

    def watch(self) -> None:
        """The flow's deadline may have changed. One that moved on is noticed when the alarm rings."""
        if self.flow.rto_deadline_ps:
            self._timeout.set_no_later(self.flow.rto_deadline_ps)

    def _run_timeout(self) -> Generator[Any, Any, None]:
        flow = self.flow
        while True:
            yield self._timeout.ring()
            now = int(self.env.now)
            if 0 < flow.rto_deadline_ps <= now:
                flow.on_timeout(now)
                if flow.has_cca_timer:
                    self.update_cca(now)
                flow.nic.arm(now)
            self.watch()

    def update_cca(self, now_ps: int) -> None:
        """Ask the congestion control when it wants to be called."""
        due = self.flow.cca_deadline_ps(now_ps)
        if due is None:
            self._cca.cancel()
        elif due != self._cca.time_ps:
            self._cca.set(due)

    def _run_cca(self) -> Generator[Any, Any, None]:
        flow = self.flow
        while True:
            yield self._cca.ring()
            now = int(self.env.now)
            flow.on_cca_timer(now)
            self.update_cca(now)
            flow.nic.pump(now)

    def cancel(self) -> None:
        """The flow is done."""
        self._timeout.cancel()
        self._cca.cancel()
