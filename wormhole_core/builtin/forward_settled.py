"""`settled`, the default policy: skips a partition whose acknowledged bytes have stopped changing.

It watches acknowledged bytes, not rates: a rate read at an instant is quantised by packets, and a slow
ramp of rates looks flat. A window must pass every test below; what may go wrong during the skip
bounds its length. It knows samples only, never the simulator.

A partition is steady over a window of four blocks if
- the window began after the settling time, and each block holds whole periods, as the CCAs state
  them; a CCA that states neither is not skipped unless `force` is set;
- no flow retransmitted, timed out or was paused, and every flow had bytes acknowledged;
- the bytes of all flows together are the same in each block, within `total_tolerance` (twice that in a
  long window whose blocks scatter without a slope);
- each flow's two halves are the same, within `flow_tolerance`;
- each flow passes a port that is busy, ACK frames included, more than `min_utilisation` of the time
  (else nothing holds the rates where they are), and no queue grows or drains by a rate that matters.

Two windows are tried: `short_rtts`, if every flow also keeps within the tolerance of the total (flows
that started alike, or sit alone on their port), and `window_rtts`. There, flows of one class with one
bottleneck (a family) may differ from half to half by more, as it is known what becomes of it:
- a family whose deviations fade within the window mixes fast: its flows share their mean (within 30 %;
  where nothing is known of that, within 10 %);
- a family whose deviations last, but shrink or are large, is still converging, and is left alone;
- else a family whose deviations last wanders: each flow keeps as much of its deviation as leaves the spread
  of bytes what it would be without skips (`forward_estimate.wander_factor`).

A frozen partition does not move on, so a drift can only be seen while it lives. Hence the caps: a skip
ends when a significant slope of the total, or of a group's rate, would have changed it by
`drift_tolerance` (and is not begun if that is within half a window); the first is at most
`first_skip_windows` windows, each later one at most twice the one before, with a new window in between;
all skips together are at most `reach` times the time lived, unless the flow is alone; and where shares
wander or are apart, no skip is longer than `wander_windows` windows.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import attrs

from wormhole_core import (
    Component,
    FastForwardPolicy,
    PartitionInfo,
    Sample,
    SkipPlan,
    Stream,
    between,
    non_negative,
    positive,
)  # fmt: skip

from .forward_estimate import (
    block_gains,
    by_key,
    clusters,
    persistence,
    relative_range,
    smoothed_gain,
    trend,
    wander_factor,
)  # fmt: skip

BLOCKS = 4
TREND_BLOCKS = 8
SIGNIFICANT = 2.5
"""Standard errors beyond which a slope counts. Six degrees of freedom: 5 % of all windows by chance."""
NOISY = 2.0
"""How far beyond its tolerance the total may range over a long window that shows scatter and no slope."""
QUEUE_TOLERANCE = 0.005
FAMILY = 3
"""Flows it takes to tell whether deviations last."""
MIXES_BELOW = 0.75
"""Share of a deviation left after half a window, 52 base RTTs: under one half after 100 of them."""
SAME_LOAD = 0.01
PACKETS_PER_SAMPLE = 2
SHRINKS_BELOW = 0.92
WANDERS_TO = 0.6
"""A deviation beyond is left from an uneven start and goes away; wandering shares spread by about 0.2."""
SHARE_WITHIN = 1.1
SHARE_WITHIN_MIXING = 1.3
LASTING = 0.999
PS_BITS = 8_000_000_000_000
NEVER_PS = 1 << 62
STATE_VERSION = 1


@attrs.frozen(kw_only=True)
class SettledConfig:
    """Options of `settled`. Tolerances are ratios; windows are counted in the largest base RTT."""

    window_rtts: int = attrs.field(default=104, validator=attrs.validators.ge(16))
    short_rtts: int = attrs.field(default=56, validator=attrs.validators.ge(16))
    total_tolerance: float = between(0.0, 1.0, default=0.01)
    """Range of the four blocks of the partition's total, over their mean."""
    flow_tolerance: float = between(0.0, 1.0, default=0.05)
    """Difference of a flow's two halves, over their mean; four times as much inside a family."""
    cycle_factor: float = positive(default=5.0)
    """By how much larger the tolerances are for CCAs with a period, whose cycles are never quite equal."""
    min_utilisation: float = between(0.0, 1.0, default=0.9)
    """Share of the time, ACK frames included, that a port on each flow's path must be busy."""
    drift_tolerance: float = between(0.0, 1.0, default=0.0025)
    """Change of a rate, extrapolated over the skip, that ends it."""
    first_skip_windows: int = positive(default=8)
    wander_windows: int = positive(default=7)
    reach: float = positive(default=64.0)
    """All skips of an episode together, over the time it was simulated."""
    min_skip_rtts: int = non_negative(default=8)
    """Shorter skips are not worth a freeze and a thaw."""
    force: bool = False
    """Also skip CCAs that state neither period nor settling time."""


class Settled(FastForwardPolicy):
    """One episode's watch. Window lengths are counted in intervals between samples."""

    __slots__ = (
        "_active", "_config", "_history", "_info", "_interval_ps", "_last_ps", "_limit_ps", "_lived_ps",
        "_long", "_proposed_ps", "_settle_ps", "_short", "_skipped_ps", "_slack", "_taken", "reason",
    )  # fmt: skip

    def __init__(self, config: SettledConfig, partition: PartitionInfo) -> None:
        self._config, self._info = config, partition
        self._active = partition.declared or config.force
        rtt = max(1, partition.base_rtt_ps)
        period = partition.period_ps or 0
        self._slack = config.cycle_factor if period else 1.0
        # A sample costs time per flow, and tells little before every flow had a few packets.
        every = max(1, math.ceil(PACKETS_PER_SAMPLE * partition.flows / _packets(partition, rtt)))
        # Windows divide into 8 blocks: four to compare, eight for the slope.
        if period:
            quarter = max(config.window_rtts * rtt // BLOCKS, 16 * every * rtt, 1)
            self._long = self._short = 64
            self._interval_ps = -(-(-(-quarter // period) * period) // 16)
        else:
            self._long, self._short = (
                max(2, math.ceil(rtts / every / TREND_BLOCKS)) * TREND_BLOCKS
                for rtts in (config.window_rtts, min(config.short_rtts, config.window_rtts))
            )
            self._interval_ps = every * rtt
        # Samples of the present window, oldest first; _taken counts them since it began.
        self._history: deque[Sample] = deque(maxlen=self._long + 1)
        self._taken = 0
        self._settle_ps = partition.settling_ps or 0
        self._last_ps: int | None = None
        # The longest skip so far may have been, and what the last plan makes of it if it is carried out.
        self._limit_ps: int | None = None
        self._proposed_ps: int | None = None
        self._lived_ps = self._skipped_ps = 0
        self.reason = "" if self._active else "its congestion control states neither period nor settling time"
        """Why the last full window was not skipped; empty if it was, or none is full yet."""

    def interval_ps(self) -> int:
        """One base RTT, more with many flows, or a 64th of the window that covers whole periods."""
        return self._interval_ps if self._active else NEVER_PS

    # --- watching ---

    def observe(self, sample: Sample) -> SkipPlan | None:
        """Add a sample; a plan if the window it completes passes every test."""
        if not self._active:
            return None
        if self._last_ps is None:
            # Sampling begins with the episode or one interval into it; settling counts from its start.
            fresh = not any(sample.acked_bytes) and not any(sample.busy_ps)
            self._last_ps = sample.now_ps if fresh else sample.now_ps - self._interval_ps
        gap, self._last_ps = sample.now_ps - self._last_ps, sample.now_ps
        self._lived_ps += gap
        if sample.disturbed:
            self._restart("a flow was disturbed")
            self._settle_ps = self._info.settling_ps or 0
            self._limit_ps = None
            return None
        if self._settle_ps > 0:
            self._settle_ps -= gap
            if self._settle_ps > 0:
                return None
        elif gap != self._interval_ps and self._history:
            self._restart("samples came unevenly")
        self._history.append(sample)
        self._taken += 1
        spans = self._taken - 1
        if self._long > self._short <= spans and not (spans - self._short) % (self._short // BLOCKS):
            plan = self._judge(self._short, False)
            if plan is not None:
                return plan
        if spans >= self._long and not (spans - self._long) % (self._long // BLOCKS):
            return self._judge(self._long, True)
        return None

    def resumed(self, sample: Sample) -> None:
        """A new window begins; what was frozen needs no settling."""
        if self._last_ps is not None:
            self._skipped_ps += max(0, sample.now_ps - self._last_ps)
            self._limit_ps = self._proposed_ps
        self._last_ps = sample.now_ps
        self._restart("")
        self._history.append(sample)
        self._taken = 1

    def _restart(self, why: str) -> None:
        self._history.clear()
        self._taken = 0
        self.reason = why

    # --- judging ---

    def _judge(self, spans: int, whole: bool) -> SkipPlan | None:
        window = list(self._history)[-spans - 1 :]
        counters = list(zip(*(s.acked_bytes for s in window), strict=True))
        totals = [sum(s.acked_bytes) for s in window]
        self.reason = self._unsteady(window, counters, totals, whole)
        if self.reason:
            return None
        return self._plan(window, counters, totals, whole)

    def _unsteady(self, window: list[Sample], counters: list[Any], totals: list[int], whole: bool) -> str:
        config, info = self._config, self._info
        change = relative_range(block_gains(totals, BLOCKS)) / (config.total_tolerance * self._slack)
        if change > 1 and not (whole and self._slack == 1 and change <= NOISY and not _slope(totals, SIGNIFICANT)[0]):
            return "the total of its flows still changes"
        duration = window[-1].now_ps - window[0].now_ps
        for ports in info.flow_ports:
            if max(window[-1].busy_ps[p] - window[0].busy_ps[p] for p in ports) <= config.min_utilisation * duration:
                return "no port on a flow's path is busy enough to hold its rate"
        tolerance = config.flow_tolerance * self._slack if whole else config.total_tolerance
        for family in self._families(window):
            wide = 4 if whole and len(family) >= FAMILY else 1
            for i in family:
                first, second = block_gains(counters[i], 2)
                if first <= 0 or second <= 0:
                    return "a flow had no bytes acknowledged"
                # One packet more or less is not a change.
                if 2 * (abs(second - first) - info.payload_bytes) > wide * tolerance * (first + second):
                    return "the share of a flow still changes"
        middle = len(window) // 2
        for port, rate in enumerate(info.port_rate_bps):
            early = sum(s.queue_bytes[port] for s in window[:middle])
            late = sum(s.queue_bytes[port] for s in window[-middle:])
            # The means lie half a window apart: their difference against what the port carries meanwhile.
            allowed = QUEUE_TOLERANCE * self._slack * rate * (duration // 2) / PS_BITS + 4 * info.payload_bytes
            if abs(late - early) > middle * allowed:
                return "a queue still changes"
        return ""

    def _families(self, window: list[Sample]) -> list[list[int]]:
        info = self._info
        keys = []
        for kind, ports in zip(info.exchangeable, info.flow_ports, strict=True):
            # The first of the fullest ports of the path, so that noise does not choose between equals.
            busy = [window[-1].busy_ps[p] - window[0].busy_ps[p] for p in ports]
            enough = max(busy) * (1 - SAME_LOAD)
            keys.append((kind, next(p for p, b in zip(ports, busy, strict=True) if b >= enough)))
        return by_key(keys)

    def _plan(self, window: list[Sample], counters: list[Any], totals: list[int], whole: bool) -> SkipPlan | None:
        config, info = self._config, self._info
        now, horizon = window[-1].now_ps, window[-1].horizon_ps
        window_ps = (len(window) - 1) * self._interval_ps
        gains = [smoothed_gain(series)[0] for series in counters]
        shared: list[list[int]] = []
        wandering: list[tuple[list[int], float]] = []
        apart = False
        for family in self._families(window):
            halves = [block_gains(counters[i], 2) for i in family]
            kept, shrinks, widest = persistence([h[0] for h in halves], [h[1] for h in halves])
            known = len(family) >= FAMILY
            if known and kept >= MIXES_BELOW and widest > config.total_tolerance:
                if not whole:
                    self.reason = "shares differ: it takes the long window to tell what becomes of them"
                    return None
                if shrinks < SHRINKS_BELOW or widest > WANDERS_TO:
                    self.reason = "shares are still converging"
                    return None
                wandering.append((family, kept))
                continue
            found = clusters(family, gains, SHARE_WITHIN_MIXING if known and kept < MIXES_BELOW else SHARE_WITHIN)
            shared += found
            apart = apart or len(found) > 1
        # Caps.
        cap_ps, noise = NEVER_PS, 0.0
        series_of = [range(info.flows), *(m for m in (*shared, *(f for f, _ in wandering)) if len(m) < info.flows)]
        # The more series, the more seem to slope by chance: t beyond this has a chance of 5 % in all.
        significant = SIGNIFICANT * len(series_of) ** 0.25
        for members in series_of:
            series = totals if len(members) == info.flows else [
                sum(at) for at in zip(*(counters[i] for i in members), strict=True)
            ]  # fmt: skip
            slope, mean_error = _slope(series, significant)
            if slope:
                cap_ps = min(cap_ps, int(config.drift_tolerance / slope * (window_ps // TREND_BLOCKS)))
            noise = max(noise, mean_error)
        if cap_ps < window_ps // 2:
            self.reason = "a rate still drifts"
            return None
        limit = config.first_skip_windows * window_ps if self._limit_ps is None else 2 * self._limit_ps
        if apart or wandering:
            limit = config.wander_windows * window_ps
        if info.flows > 1:
            # A flow alone has no shares that could drift apart unseen.
            limit = min(limit, int(config.reach * self._lived_ps) - self._skipped_ps)
        limit = min(limit, cap_ps)
        until = now + limit if horizon is None else min(now + limit, horizon)
        if until - now < max(1, config.min_skip_rtts * info.base_rtt_ps):
            self.reason = "a skip would be too short"
            return None
        self._proposed_ps = limit
        # Rates.
        weight = smoothed_gain(counters[0])[1] * self._interval_ps
        averaging = math.sqrt(min(1.0, window_ps / (until - now)))
        rates = [0.0] * info.flows
        scatter = 0.0
        for members in shared:
            gain = sum(gains[i] for i in members)
            for i in members:
                rates[i] = gain / (len(members) * weight)
                scatter = max(scatter, averaging * abs(gains[i] * len(members) - gain) / gain)
        for members, kept in wandering:
            mean = sum(gains[i] for i in members) / len(members)
            left_ps = max(window[-1].remaining_bytes[i] for i in members) * weight / mean
            relaxation_ps = window_ps / 2 / -math.log(min(kept, LASTING))
            share = wander_factor(1 + (until - now) / window_ps, left_ps, relaxation_ps)
            for i in members:
                rates[i] = (mean + share * (gains[i] - mean)) / weight
                scatter = max(scatter, abs(gains[i] / mean - 1))
        drift = config.drift_tolerance * (until - now) / (2 * cap_ps)
        return SkipPlan(until_ps=until, bytes_per_ps=tuple(rates), error_bound=2 * noise + drift, spread=scatter)

    # --- state ---

    def snapshot(self) -> tuple:
        """The window and the caps; times relative to the last sample, counters as the episode has them."""
        last = self._last_ps
        window = () if last is None else tuple(
            (s.now_ps - last, s.acked_bytes, s.rates_bps, s.queue_bytes, s.busy_ps, s.disturbed, s.remaining_bytes,
             None if s.horizon_ps is None else s.horizon_ps - last)
            for s in self._history
        )  # fmt: skip
        return (STATE_VERSION, last is not None, self._taken, self._settle_ps, self._limit_ps, self._proposed_ps,
                self._lived_ps, self._skipped_ps, self.reason, window)  # fmt: skip

    def restore(self, state: tuple, now_ps: int) -> None:
        """Go on as if the last sample had been taken at now_ps."""
        if not state or state[0] != STATE_VERSION:
            raise ValueError(f"state of another version of policy 'settled'; this is version {STATE_VERSION}")
        _, started, self._taken, self._settle_ps, self._limit_ps, self._proposed_ps, *rest = state
        self._lived_ps, self._skipped_ps, self.reason, window = rest
        self._last_ps = now_ps if started else None
        self._history.clear()
        for time, acked, rates, queue, busy, disturbed, remaining, horizon in window:
            self._history.append(Sample(
                now_ps=time + now_ps, acked_bytes=acked, rates_bps=rates, queue_bytes=queue, busy_ps=busy,
                disturbed=disturbed, remaining_bytes=remaining,
                horizon_ps=None if horizon is None else horizon + now_ps,
            ))  # fmt: skip


def _slope(series: list[int], significant: float) -> tuple[float, float]:
    """(slope per block or 0.0 if it may be chance, error of the mean), relative to the mean."""
    slope, slope_error, mean_error = trend(block_gains(series, TREND_BLOCKS))
    return (abs(slope) if abs(slope) > significant * slope_error else 0.0), mean_error


def _packets(partition: PartitionInfo, duration_ps: int) -> float:
    """Full packets that fit through the first and the last ports of the flows in a time."""
    ends = ({path[0] for path in partition.flow_ports}, {path[-1] for path in partition.flow_ports})
    capacity = min(sum(partition.port_rate_bps[p] for p in ports) for ports in ends)
    return capacity * duration_ps / PS_BITS / partition.payload_bytes


def _build(config: SettledConfig, partition: PartitionInfo, _rng: Stream) -> Settled:
    return Settled(config, partition)


SETTLED = Component(
    name="settled", build=_build, config=SettledConfig,
    summary="skips when acknowledged bytes per block have stopped changing",
)  # fmt: skip
