"""Taking the events of some flows and ports out of the heap and putting them back, later.

A frozen set keeps its packets in their queues and its share of every buffer. Thawing adds the length
of the pause to every stored time; time stamps that packets and congestion control carry are on the
flows' and ports' own clocks, which stand still meanwhile. Order within an instant comes from ranks
and from when frames began to leave, so it is the same after any pause.

The set must be closed: every packet of its flows is in its ports and no other packet is. PFC frames
on the wire are not part of it, so a set with a paused port, or on a switch that accounts for every
departure, must not be frozen (`may_freeze`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..kernel import DEAD, Tick


def may_freeze(ports: Iterable[Any]) -> bool:
    """Whether these ports hold nothing that a freeze cannot keep."""
    for port in ports:
        if port.paused or port.down or (port.host is not None and port.host.data_paused):
            return False
        if port.switch is not None and port.switch.exact:
            return False
    return True


def freeze(flows: Iterable[Any], ports: Iterable[Any]) -> None:
    """Take the events of a closed set out of the heap (they go dead there)."""
    for port in ports:
        port.disarm()
        nic = port.host
        if nic is not None:
            nic.suspend()
    for flow in flows:
        ticks = flow.ticks
        if ticks.rto_armed_ps is not None:
            ticks.rto_tick.callbacks = DEAD
            ticks.rto_tick = Tick()
        if ticks.cca_armed_ps is not None:
            ticks.cca_tick.callbacks = DEAD
            ticks.cca_tick = Tick()
        for tick in ticks.lane:
            tick.callbacks = DEAD


def thaw(flows: Iterable[Any], ports: Iterable[Any], shift_ps: int) -> None:
    """Put the events of a frozen set back, shift_ps later than they were."""
    for port in ports:
        if shift_ps:
            _shift_port(port, shift_ps)
        if port.fifo:
            port.rearm()
        nic = port.host
        if nic is not None:
            nic.resume(shift_ps)
    for flow in flows:
        ticks = flow.ticks
        flow.skew_ps += shift_ps
        flow.next_send_ps += shift_ps
        if flow.rto_deadline_ps:
            flow.rto_deadline_ps += shift_ps
        if ticks.rto_armed_ps is not None:
            ticks.rto_armed_ps += shift_ps
            ticks.env.push(ticks.rto_armed_ps, ticks.rank, ticks.rto_tick, (ticks._rto,))
        if ticks.cca_armed_ps is not None:
            ticks.cca_armed_ps += shift_ps
            ticks.env.push(ticks.cca_armed_ps, ticks.rank | 1, ticks.cca_tick, (ticks._cca,))
        acks, ticks.lane = ticks.lane, {}
        for sent_ps, due_ps, ack in acks.values():
            ticks.send_ack(sent_ps + shift_ps, due_ps + shift_ps, ack)


def _shift_port(port: Any, shift_ps: int) -> None:
    port.busy_ps += shift_ps
    port.control += shift_ps
    port.skew_ps += shift_ps
    for packet in port.fifo:
        packet.start_ps += shift_ps
        packet.arrive_ps += shift_ps
        if packet.enter_ps >= 0:
            packet.enter_ps += shift_ps


def credit(flows: Sequence[Any], moved_bytes: Sequence[int]) -> None:
    """Account for bytes that flows delivered while frozen: the flow is that much shorter from now on,
    and no packet in flight needs to change."""
    for flow, moved in zip(flows, moved_bytes, strict=True):
        if not 0 <= moved <= flow.end_seq - flow.snd_nxt:
            raise AssertionError(f"flow {flow.index}: {moved} B skipped, {flow.end_seq - flow.snd_nxt} B unsent")
        flow.end_seq -= moved
        flow.skipped_bytes += moved


def set_environment(flows: Iterable[Any], ports: Iterable[Any], env: Any) -> None:
    """Move a frozen set to another environment (for private re-simulation and back)."""
    for port in ports:
        port.env, port.heap = env, env._queue
        if port.host is not None:
            port.host.env = env
    for flow in flows:
        flow.ticks.env = env


def purge(flows: Iterable[Any], ports: Iterable[Any]) -> None:
    """Remove a frozen set for good: its packets vanish, its ports are as before the first flow."""
    for port in ports:
        switch = port.switch
        if switch is not None and not switch.exact:
            switch.held -= sum(p.size for p in port.fifo) + sum(p.size for p in port.waiting)
        for queue in (port.fifo, port.waiting, port.arrivals, port.unreleased):
            queue.clear()
        port.queue = port.busy_ps = port.control = 0
        port.run_bytes = port.flows = 0
        nic = port.host
        if nic is not None:
            nic.forget()
    for flow in flows:
        flow.ticks.rto_armed_ps = flow.ticks.cca_armed_ps = None
        flow.ticks.lane.clear()
