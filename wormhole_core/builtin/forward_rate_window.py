"""`rate-window`, the policy of the Wormhole paper: rates that stay within theta of each other.

A flow is steady when, over the last `samples` sampled rates, (max - min) / mean < theta; a partition
when all its flows are. It is then skipped at the mean rates. Two statements follow, with R the mean
over the window, if the rates stay in the range they had: the true mean rate r obeys
|r - R| / r <= theta / (1 - theta), and the duration D estimated for given bytes differs from the true
one by at most theta of the true one. `bounds` gives both.

What the rule cannot see: a rate that ramps slowly keeps within theta over any window that is short
against the ramp, and its bounds then do not hold; `settled` is the safer choice. As in `settled`, and
other than the plain rule, nothing is skipped while a flow is disturbed or stands still.
"""

from __future__ import annotations

from collections import deque

import attrs

from wormhole_core import Component, FastForwardPolicy, PartitionInfo, Sample, SkipPlan, Stream, positive

from .forward_estimate import relative_range

NEVER_PS = 1 << 62
STATE_VERSION = 2


@attrs.frozen(kw_only=True)
class RateWindowConfig:
    """Options of `rate-window`, with the paper's values as defaults."""

    theta: float = attrs.field(
        default=0.05, validator=[attrs.validators.gt(0.0), attrs.validators.lt(1.0)]
    )  # fmt: skip
    """(max - min) / mean of a flow's rates, below which it is steady."""
    samples: int = attrs.field(default=2000, validator=attrs.validators.ge(2))
    """l: sampled rates in the window; they span l - 1 intervals."""
    sample_interval_ps: int = positive(default=1_000_000)
    force: bool = False
    """Also skip CCAs that state neither period nor settling time."""


class RateWindow(FastForwardPolicy):
    """One episode's window of rates."""

    __slots__ = ("_acked", "_active", "_config", "_last_ps", "_rates", "_settle_ps", "_settling_ps")

    def __init__(self, config: RateWindowConfig, partition: PartitionInfo) -> None:
        self._config = config
        self._active = partition.declared or config.force
        self._settling_ps = self._settle_ps = partition.settling_ps or 0
        self._last_ps: int | None = None
        self._rates: deque[tuple[int, ...]] = deque(maxlen=config.samples)
        # Acknowledged bytes at the same samples: a flow may stand still at a constant rate.
        self._acked: deque[tuple[int, ...]] = deque(maxlen=config.samples)

    def interval_ps(self) -> int:
        """As configured; never if the CCA says nothing of itself."""
        return self._config.sample_interval_ps if self._active else NEVER_PS

    def bounds(self) -> tuple[float, float]:
        """Largest relative error of (rate, duration) while rates keep their range."""
        return rate_bound(self._config.theta), self._config.theta

    def observe(self, sample: Sample) -> SkipPlan | None:
        """Add one rate per flow; a plan once the window is full and all flows keep within theta."""
        if not self._active:
            return None
        gap = self._config.sample_interval_ps if self._last_ps is None else sample.now_ps - self._last_ps
        self._last_ps = sample.now_ps
        if sample.disturbed:
            self._rates.clear()
            self._acked.clear()
            self._settle_ps = self._settling_ps
            return None
        if self._settle_ps > 0:
            self._settle_ps -= gap
            if self._settle_ps > 0:
                return None
        self._rates.append(sample.rates_bps)
        self._acked.append(sample.acked_bytes)
        if len(self._rates) < self._config.samples:
            return None
        series = list(zip(*self._rates, strict=True))
        if any(last <= first for first, last in zip(self._acked[0], self._acked[-1], strict=True)):
            return None
        # A rate of nothing has an infinite range.
        if any(relative_range(rates) >= self._config.theta for rates in series):
            return None
        means = tuple(sum(rates) / (len(rates) * 8_000_000_000_000) for rates in series)
        if sample.horizon_ps is not None and sample.horizon_ps <= sample.now_ps:
            return None
        until = sample.now_ps + NEVER_PS if sample.horizon_ps is None else sample.horizon_ps
        return SkipPlan(until_ps=until, bytes_per_ps=means, error_bound=self.bounds()[0])

    def resumed(self, sample: Sample) -> None:
        """The window starts again."""
        self._last_ps = sample.now_ps
        self._rates.clear()
        self._acked.clear()

    def snapshot(self) -> tuple:
        """Rates carry no times."""
        return (STATE_VERSION, self._last_ps is not None, self._settle_ps, tuple(self._rates), tuple(self._acked))

    def restore(self, state: tuple, now_ps: int) -> None:
        """Go on as if the last sample had been taken at now_ps."""
        if not state or state[0] != STATE_VERSION:
            raise ValueError(f"state of another version of policy 'rate-window'; this is version {STATE_VERSION}")
        _, started, self._settle_ps, rates, acked = state
        self._last_ps = now_ps if started else None
        self._rates = deque(rates, maxlen=self._config.samples)
        self._acked = deque(acked, maxlen=self._config.samples)


def rate_bound(theta: float) -> float:
    """theta / (1 - theta): how far the mean of rates within theta may be from the true rate."""
    return theta / (1 - theta)


def _build(config: RateWindowConfig, partition: PartitionInfo, _rng: Stream) -> RateWindow:
    return RateWindow(config, partition)


RATE_WINDOW = Component(
    name="rate-window", build=_build, config=RateWindowConfig,
    summary="skips when the last `samples` rates of every flow lie within theta",
    traits={"limits": {"growing_samples": (0, "the paper's rule is about rates alone")}},
)  # fmt: skip
