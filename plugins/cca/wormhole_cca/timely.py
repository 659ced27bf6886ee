"""TIMELY: a flow's rate from the gradient of its round-trip time (Mittal et al., SIGCOMM 2015).

Algorithm 1 of the paper, one update per completion event:

(1) rtt_diff <- (1 - alpha) rtt_diff + alpha (new_rtt - prev_rtt)
(2) gradient = rtt_diff / min_rtt
(3) new_rtt < T_low: rate += delta
(4) new_rtt > T_high: rate *= 1 - beta (1 - T_high / new_rtt)
(5) gradient <= 0: rate += N delta, N = 5 after five such events in a row ("hyperactive increase"), else 1
(6) gradient > 0: rate *= 1 - beta gradient

Deviations from the paper, all as in the reference: a completion event is the acknowledgement of the
data that was in flight at the last one, about once per RTT, not that of a 16 to 64 KB segment; increases by
(3) count toward (5), and after `hai_threshold` increases both use `hai_rate_bps`; an optional window
bounds the bytes in flight. Pacing is per packet. From the reference: none known.
"""

from __future__ import annotations

from typing import Any

import attrs

from wormhole_core import Component, Feedback, FlowInfo, Stream, between, non_negative, one_of, optional, positive

from ._reference import MIN_RATE_BPS, Preset, reference_preset
from ._windows import WINDOW_KINDS, RateBased, relative, share_of_line


@attrs.frozen(kw_only=True)
class TimelyConfig:
    """Options of `timely`."""

    ai_rate_bps: int | None = optional()
    """delta; None: line rate / 1000 (100 Mbps at 100 Gbps)."""
    hai_rate_bps: int | None = optional()
    """N delta of the hyperactive increase; None: line rate / 200."""
    hai_threshold: int = non_negative(default=5)
    """Increases in a row before the hyperactive one."""
    min_rate_bps: int | None = optional()
    """Lowest rate; None: line rate / 100."""
    window: str = one_of(*WINDOW_KINDS, default="none")
    """"none", "fixed" (bandwidth-delay product) or "variable" (follows the rate)."""
    alpha: float = between(0.0, 1.0, default=0.875)
    """Weight of the new sample in the average of RTT differences."""
    beta: float = between(0.0, 1.0, default=0.8)
    """Strength of a decrease."""
    t_low_ps: int = positive(default=50_000_000)
    """RTTs below it always increase the rate."""
    t_high_ps: int = positive(default=500_000_000)
    """RTTs above it always decrease the rate."""
    min_rtt_ps: int = positive(default=20_000_000)
    """Time the gradient is normalised by."""

    def __attrs_post_init__(self) -> None:
        if self.t_low_ps > self.t_high_ps:
            raise ValueError(f"t_low_ps must be at most t_high_ps ({self.t_high_ps}), got {self.t_low_ps}")


class Timely(RateBased):
    """One TIMELY sender."""

    __slots__ = (
        "_ai_bps", "_alpha", "_beta", "_hai_bps", "_hai_threshold", "_last_rtt_ps", "_min_rtt_ps",
        "_rtt_diff_ps", "_stage", "_t_high_ps", "_t_low_ps", "_update_seq",
    )  # fmt: skip

    telemetry = "timestamp"
    reacts_to = frozenset({"delay"})

    def __init__(self, config: TimelyConfig, flow: FlowInfo, rng: Stream | None = None) -> None:
        super().__init__(flow, config.window, config.min_rate_bps)
        self._ai_bps = share_of_line(config.ai_rate_bps, flow.line_rate_bps, 1000)
        self._hai_bps = share_of_line(config.hai_rate_bps, flow.line_rate_bps, 200)
        self._hai_threshold = config.hai_threshold
        self._alpha = config.alpha
        self._beta = config.beta
        self._t_low_ps = config.t_low_ps
        self._t_high_ps = config.t_high_ps
        self._min_rtt_ps = config.min_rtt_ps
        self._rtt_diff_ps = 0.0
        self._last_rtt_ps = 0
        self._stage = 0
        self._update_seq: int | None = None

    def on_ack(self, fb: Feedback) -> None:
        """Update once the data in flight at the last update is acknowledged."""
        update_seq = self._update_seq
        if update_seq is not None:
            if fb.ack_seq <= update_seq:
                return
            self._update(fb.rtt_ps)
        self._update_seq = fb.next_seq
        self._last_rtt_ps = fb.rtt_ps

    def _update(self, rtt_ps: int) -> None:
        alpha = self._alpha
        self._rtt_diff_ps = (1 - alpha) * self._rtt_diff_ps + alpha * (rtt_ps - self._last_rtt_ps)  # (1)
        gradient = self._rtt_diff_ps / self._min_rtt_ps  # (2)
        if rtt_ps < self._t_low_ps or (rtt_ps <= self._t_high_ps and gradient <= 0):  # (3), (5)
            step_bps = self._ai_bps if self._stage < self._hai_threshold else self._hai_bps
            self._stage += 1
            self._set_rate(min(self._line_bps, self.rate_bps + step_bps))
            return
        if rtt_ps > self._t_high_ps:
            factor = 1 - self._beta * (1 - self._t_high_ps / rtt_ps)  # (4)
        else:
            factor = max(0.0, 1 - self._beta * gradient)  # (6)
        self._stage = 0
        self._set_rate(max(self._min_bps, int(self.rate_bps * factor)))

    def snapshot(self, now_ps: int, snd_una: int) -> tuple[Any, ...]:
        """(rate, averaged RTT difference, last RTT, increases in a row, update seq)."""
        update_seq = relative(self._update_seq, snd_una)
        return (self.rate_bps, self._rtt_diff_ps, self._last_rtt_ps, self._stage, update_seq)

    def restore(self, state: tuple[Any, ...], now_ps: int, snd_una: int) -> None:
        """Inverse of `snapshot`."""
        rate_bps, self._rtt_diff_ps, self._last_rtt_ps, self._stage, update_seq = state
        self._update_seq = relative(update_seq, -snd_una)
        self._set_rate(rate_bps)


def _label(*, window: str = "none", buffer_mib: int = 32) -> Preset:
    options = {
        "ai_rate_bps": 100_000_000, "hai_rate_bps": 500_000_000, "hai_threshold": 5,
        "min_rate_bps": MIN_RATE_BPS, "window": window, "alpha": 0.875, "beta": 0.8,
        "t_low_ps": 50_000_000, "t_high_ps": 500_000_000, "min_rtt_ps": 20_000_000,
    }  # fmt: skip
    return reference_preset(options, ack_high_priority=True, buffer_mib=buffer_mib)


COMPONENT = Component(
    name="timely",
    build=Timely,
    summary="rate from the gradient of the round-trip time (TIMELY)",
    config=TimelyConfig,
    reference="Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015, Algorithm 1",
    presets={
        "reference:timely": _label(),
        "reference:timely_vwin": _label(window="variable"),
        "reference:timely_buf2": _label(buffer_mib=2),
    },
)
