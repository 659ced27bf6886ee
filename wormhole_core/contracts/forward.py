"""Fast-forward policies (provisional): when is a partition steady, and how far may it be skipped.

`Component.build(config, partition: PartitionInfo, rng: Stream) -> FastForwardPolicy`; one object per
live episode. A policy sees samples, never the simulator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class PartitionInfo:
    """A partition at the start of an episode. Tuples are parallel: one entry per flow, per port.

    base_rtt_ps: the largest of its flows. settling_ps, period_ps: the largest the CCAs state, None
    if any does not know. flow_ports: per flow the indices into ports of its data path.
    port_rate_bps: line rates. payload_bytes: of a full frame. has_dependents: someone waits for a
    flow. exchangeable: per flow a class number; flows of one class look alike.
    """

    flows: int
    base_rtt_ps: int
    settling_ps: int | None
    period_ps: int | None
    declared: bool
    flow_ports: tuple[tuple[int, ...], ...]
    port_rate_bps: tuple[int, ...]
    payload_bytes: int
    line_rate_bps: tuple[int, ...]
    exchangeable: tuple[int, ...]
    has_dependents: bool = True


@attrs.frozen(kw_only=True)
class Sample:
    """The partition at an instant (global clock). Cumulative since the episode began.

    acked_bytes, rates_bps: per flow; a rate is what congestion control lets the flow send of payload, by
    its rate or by its window in one base RTT. queue_bytes, busy_ps (time spent sending, ACK frames included):
    per port. disturbed: since the last sample a flow retransmitted, timed out, was paused, or a
    one-shot timer fired. remaining_bytes: per flow. horizon_ps: the next known arrival or reroute,
    None if there is none.
    """

    now_ps: int
    acked_bytes: tuple[int, ...]
    rates_bps: tuple[int, ...]
    queue_bytes: tuple[int, ...]
    busy_ps: tuple[int, ...]
    disturbed: bool
    remaining_bytes: tuple[int, ...]
    horizon_ps: int | None


@attrs.frozen(kw_only=True)
class SkipPlan:
    """Skip from now to until_ps at the latest, flow i moving at bytes_per_ps[i] (goodput).

    error_bound: the relative error of the partition's skipped bytes the policy stands for. spread: by
    how much single flows may differ from their rate besides, at random and without bias.
    """

    until_ps: int
    bytes_per_ps: tuple[float, ...]
    error_bound: float = 0.0
    spread: float = 0.0


class FastForwardPolicy(ABC):
    """Decides for one episode."""

    @abstractmethod
    def interval_ps(self) -> int:
        """Time between samples."""

    @abstractmethod
    def observe(self, sample: Sample) -> SkipPlan | None:
        """A plan to skip, or None to go on simulating."""

    def resumed(self, sample: Sample) -> None:
        """A skip ended (perhaps early) and simulation goes on from `sample`."""

    def snapshot(self) -> tuple[Any, ...]:
        """State as nested tuples, times relative to the last sample."""
        return ()

    def restore(self, state: tuple[Any, ...], now_ps: int) -> None:
        """Become what `snapshot` described."""
