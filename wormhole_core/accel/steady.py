"""Looking at a live partition for a fast-forward policy, and moving it forward.

A policy sees samples only. What it proposes is bounded here: no flow moves beyond its last unsent
byte, and nothing is frozen that a freeze cannot keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..contracts.forward import PartitionInfo, Sample
from ..units import PS_PER_S
from .members import Partition


def partition_info(partition: Partition, payload_bytes: int) -> PartitionInfo:
    """The partition as a policy may know it."""
    flows = partition.real_flows()
    place = {port: i for i, port in enumerate(partition.ports)}
    settling = [f.cca.settling_ps() for f in flows]
    periods = [f.cca.period_ps() for f in flows]
    classes: dict[Any, int] = {}
    return PartitionInfo(
        flows=len(flows),
        base_rtt_ps=max(f.base_rtt_ps for f in flows),
        settling_ps=None if None in settling else max(settling),
        period_ps=None if None in periods else max(periods),
        declared=all(s is not None or p is not None for s, p in zip(settling, periods, strict=True)),
        flow_ports=tuple(tuple(place[port] for port in f.data_path) for f in flows),
        port_rate_bps=tuple(port.rate_bps for port in partition.ports),
        payload_bytes=payload_bytes,
        line_rate_bps=tuple(f.line_rate_bps for f in flows),
        exchangeable=tuple(
            classes.setdefault((f.info, tuple((p.rate_bps, p.delay_ps) for p in f.data_path)), len(classes))
            for f in flows
        ),
    )


def take_sample(partition: Partition, now_ps: int) -> Sample:
    """The partition at this instant."""
    flows = partition.real_flows()
    ports = partition.ports
    trouble = disturbance(partition)
    disturbed = partition.disturbance is not None and trouble != partition.disturbance
    partition.disturbance = trouble
    return Sample(
        now_ps=now_ps,
        acked_bytes=tuple(f.snd_una + f.skipped_bytes for f in flows),
        rates_bps=tuple(payload_rate_bps(f) for f in flows),
        queue_bytes=tuple(p.queue for p in ports),
        busy_ps=tuple(p.tx_bytes * 8 * PS_PER_S // p.rate_bps for p in ports),
        disturbed=disturbed,
        remaining_bytes=tuple(f.end_seq - f.snd_una for f in flows),
        horizon_ps=None,
    )


def payload_rate_bps(flow: Any) -> int:
    """What a flow may send now, headers left out: its rate, or a window per base RTT if that is less."""
    rate = flow.cca.rate_bps
    rate = flow.line_rate_bps if rate is None else min(rate, flow.line_rate_bps)
    rate = int(rate * flow.payload_bytes // flow.frame_bytes)
    window = flow.cca.window_bytes
    return rate if window is None else min(rate, int(window * 8 * PS_PER_S // flow.base_rtt_ps))


def disturbance(partition: Partition) -> tuple[int, int, int, int]:
    """Counters that change when something happens that is not the steady course of things."""
    flows = partition.real_flows()
    return (
        sum(f.retransmitted_bytes for f in flows), sum(f.timeouts for f in flows),
        sum(p.pauses for p in partition.ports), sum(p.drops for p in partition.ports),
    )  # fmt: skip


def moved_bytes(flow: Any, bytes_per_ps: float, duration_ps: int) -> int:
    """Bytes a flow moves in a skip: never beyond what it has not sent yet."""
    return min(int(bytes_per_ps * duration_ps), flow.end_seq - flow.snd_nxt)


def unsent_ends_ps(flow: Any, bytes_per_ps: float) -> float:
    """How long until a flow moving at this rate has nothing unsent left."""
    return (flow.end_seq - flow.snd_nxt) / bytes_per_ps


def finish_times(remaining: Sequence[int], rates: Sequence[float], shared_port: bool) -> tuple[list[float], float]:
    """When flows that move at these rates end, counted from now, and the largest relative share of
    bandwidth-time that others' ends would have given a flow (an upper bound of the error made if that
    is ignored, to be divided by the FCT).

    With a port that all of them share, what an ended flow leaves is given to the others in
    proportion; else it is left unused. Times in ps.
    """
    left = [float(r) for r in remaining]
    speed = list(rates)
    total = sum(rates)
    now, ends = 0.0, [0.0] * len(left)
    waiting = list(range(len(left)))
    freed_time = 0.0
    while waiting:
        step = min(left[i] / speed[i] for i in waiting)
        freed_time += step * (1 - sum(rates[i] for i in waiting) / total)
        now += step
        for i in waiting:
            left[i] -= speed[i] * step
        done = [i for i in waiting if left[i] <= speed[i] * 0.5]
        for i in done:
            ends[i] = now
        waiting = [i for i in waiting if i not in done]
        if shared_port and waiting:
            scale = total / sum(rates[i] for i in waiting)
            for i in waiting:
                speed[i] = rates[i] * scale
    return ends, freed_time
