"""DCQCN: ECN-driven rate control for RDMA (Zhu et al., SIGCOMM 2015).

Equations of the paper (section 3.1), R_C the current rate, R_T the target rate:

(1) at a congestion notification: R_T <- R_C; R_C <- R_C (1 - alpha / 2); alpha <- (1 - g) alpha + g
(2) each `alpha_timer_ps` without one: alpha <- (1 - g) alpha
(3) fast recovery, the first F increase events after a cut: R_C <- (R_T + R_C) / 2
(4) additive increase after that: R_T <- R_T + R_AI, then (3)
(5) hyper increase, once timer and byte counter are both past F: R_T <- R_T + R_HAI, then (3)

Deviations from the paper, all as in the reference (and in network cards): notifications only set flags, which
the alpha timer turns into (1) or (2) and the decrease timer into a cut, at most one per period
(`decrease_timer_ps = 0` cuts at once as the paper does); both timers start at the first notification, the
decrease timer 1 ns late; R_T is left alone by a cut that finds no increase since the last one unless
`clamp_target`; there is no separate notification frame, the echo bit of an ACK is one, and every mark is echoed
unless `cnp_interval_ps` is set; without a byte counter the increase events of the timer alone
go through (3), one (4), then (5). With a byte counter: more than F events of either kind for (4), of both for
(5); it counts acknowledged bytes, since a sender's Cca is asked at ACKs.

From the reference: alpha and the idle decrease timer are advanced when somebody looks, not by an event
each microsecond; the values are the same. A timer due at the instant of an ACK comes before it, except an alpha
timer with a period of at most a quarter of the base RTT, which comes after (there, the ACK entered its
last link before the timer was armed).
"""

from __future__ import annotations

from typing import Any

import attrs

from wormhole_core import (
    CcaReceiver,
    Component,
    Feedback,
    FlowInfo,
    Stream,
    between,
    non_negative,
    one_of,
    optional,
    positive,
)

from ._reference import MIN_RATE_BPS, RANDOM_MARKING, STEP_400K, Preset, reference_preset
from ._windows import WINDOW_KINDS, RateBased, share_of_line

FIRST_DECREASE_DELAY_PS = 1000
NEGLIGIBLE_ALPHA = 1e-30


@attrs.frozen(kw_only=True)
class DcqcnConfig:
    """Options of `dcqcn`."""

    gain: float = between(0.0, 1.0, default=1 / 256)
    """g, weight of the newest period in alpha."""
    alpha_timer_ps: int = positive(default=1_000_000)
    """Period of alpha updates."""
    decrease_timer_ps: int = non_negative(default=4_000_000)
    """Shortest time between two cuts; 0: cut at every notification."""
    increase_timer_ps: int = positive(default=300_000_000)
    """Period of increase events after a cut."""
    fast_recovery_steps: int = non_negative(default=1)
    """F, increase events that only halve the distance to the target."""
    ai_rate_bps: int | None = optional()
    """R_AI; None: line rate / 5000 (20 Mbps at 100 Gbps)."""
    hai_rate_bps: int | None = optional()
    """R_HAI; None: line rate / 500."""
    min_rate_bps: int | None = optional()
    """Lowest rate; None: line rate / 100."""
    window: str = one_of(*WINDOW_KINDS, default="none")
    """"none", "fixed" (bandwidth-delay product) or "variable" (follows the rate)."""
    clamp_target: bool = False
    """Every cut sets the target to the rate before it, as in the paper."""
    cnp_interval_ps: int | None = optional()
    """Receiver: at most one echo per interval; None: every mark is echoed."""
    byte_counter_bytes: int | None = optional()
    """Bytes per increase event of the byte counter; None: no byte counter."""


class CnpReceiver(CcaReceiver):
    """Notification point: at most one echo per interval; a mark in between is echoed when it ends."""

    __slots__ = ("_interval_ps", "_last_ps", "_waiting")

    def __init__(self, interval_ps: int) -> None:
        self._interval_ps = interval_ps
        self._last_ps: int | None = None
        self._waiting = False

    def on_data(self, now_ps: int, ecn_marked: bool) -> bool:
        """Section 3.1 of the paper, NP algorithm; a waiting mark leaves with the first ACK after the interval."""
        if ecn_marked:
            self._waiting = True
        if self._waiting and (self._last_ps is None or now_ps - self._last_ps >= self._interval_ps):
            self._last_ps = now_ps
            self._waiting = False
            return True
        return False

    def snapshot(self, now_ps: int) -> tuple[Any, ...]:
        """(time of the last echo relative to now, whether a mark waits)."""
        return (None if self._last_ps is None else self._last_ps - now_ps, self._waiting)

    def restore(self, state: tuple[Any, ...], now_ps: int) -> None:
        """Inverse of `snapshot`."""
        last_ps, self._waiting = state
        self._last_ps = None if last_ps is None else last_ps + now_ps


class Dcqcn(RateBased):
    """Reaction point of one flow."""

    __slots__ = (
        "_ai_bps", "_alpha", "_alpha_after_ack", "_alpha_at_ps", "_alpha_flag", "_alpha_ps", "_byte_stage",
        "_clamp", "_cnp_interval_ps", "_counted_bytes", "_counter_bytes", "_decrease_at_ps",
        "_decrease_flag", "_decrease_ps", "_fast_steps", "_gain", "_hai_bps", "_increase_at_ps", "_increase_ps",
        "_next_ps", "_stage", "_target_bps",
    )  # fmt: skip

    reacts_to = frozenset({"marks"})

    def __init__(self, config: DcqcnConfig, flow: FlowInfo, rng: Stream | None = None) -> None:
        super().__init__(flow, config.window, config.min_rate_bps)
        self._ai_bps = share_of_line(config.ai_rate_bps, flow.line_rate_bps, 5000)
        self._hai_bps = share_of_line(config.hai_rate_bps, flow.line_rate_bps, 500)
        self._gain = config.gain
        self._alpha_ps = config.alpha_timer_ps
        self._alpha_after_ack = 4 * config.alpha_timer_ps <= flow.base_rtt_ps
        self._decrease_ps = config.decrease_timer_ps
        self._increase_ps = config.increase_timer_ps
        self._fast_steps = config.fast_recovery_steps
        self._clamp = config.clamp_target
        self._cnp_interval_ps = config.cnp_interval_ps
        self._counter_bytes = config.byte_counter_bytes
        self._alpha = 1.0
        self._target_bps = flow.line_rate_bps
        self._stage = self._byte_stage = 0
        self._counted_bytes = 0
        self._alpha_flag = self._decrease_flag = False
        # Times of the next firing; None until the first notification (increase: until the first cut).
        self._alpha_at_ps: int | None = None
        self._decrease_at_ps: int | None = None
        self._increase_at_ps: int | None = None
        self._next_ps: int | None = None

    def make_receiver(self) -> CnpReceiver | None:
        """A notification point if echoes are limited."""
        return None if self._cnp_interval_ps is None else CnpReceiver(self._cnp_interval_ps)

    def on_ack(self, fb: Feedback) -> None:
        """An echoed mark is a notification; acknowledged bytes advance the byte counter."""
        if self._counter_bytes is not None and self._increase_at_ps is not None:
            self._counted_bytes += fb.acked_bytes
            while self._counted_bytes >= self._counter_bytes:
                self._counted_bytes -= self._counter_bytes
                self._increase(timer=False)
        if fb.ecn_marked:
            self._notify(fb.now_ps)

    def _notify(self, now_ps: int) -> None:
        self._fire_due(now_ps)
        if self._alpha_at_ps is None:
            self._alpha_at_ps = now_ps + self._alpha_ps
            self._target_bps = self.rate_bps
            if self._decrease_ps:
                self._decrease_at_ps = now_ps + self._decrease_ps + FIRST_DECREASE_DELAY_PS
        elif self._decrease_ps:
            self._advance_alpha(now_ps - 1 if self._alpha_after_ack else now_ps)
            self._alpha_flag = True
        if self._decrease_ps:
            self._decrease_flag = True
        else:
            self._advance_alpha(now_ps)
            self._cut(now_ps)
            self._alpha = (1 - self._gain) * self._alpha + self._gain  # (1)
            self._alpha_at_ps = now_ps + self._alpha_ps
        self._plan(now_ps)

    def next_timer_ps(self, now_ps: int) -> int | None:
        """The next instant at which the rate may change."""
        return self._next_ps

    def on_timer(self, now_ps: int) -> None:
        """Fire what is due."""
        self._fire_due(now_ps)
        self._plan(now_ps)

    def _plan(self, now_ps: int) -> None:
        """A decrease timer without a flag only keeps its phase, so nobody need be woken for it."""
        increase_at = self._increase_at_ps
        if self._decrease_flag and self._decrease_at_ps is not None:
            if increase_at is None or self._decrease_at_ps < increase_at:
                self._next_ps = self._decrease_at_ps
                return
        self._next_ps = increase_at

    def _fire_due(self, now_ps: int) -> None:
        """Decrease and increase timers up to now in order of time; at one instant, the one armed earlier."""
        while True:
            decrease_at, increase_at = self._decrease_at_ps, self._increase_at_ps
            if decrease_at is not None and not self._decrease_flag and decrease_at <= now_ps:
                # Idle firings up to now: skip them in one step.
                self._decrease_at_ps = now_ps + self._decrease_ps - (now_ps - decrease_at) % self._decrease_ps
                continue
            if (
                increase_at is not None
                and increase_at <= now_ps
                and (
                    decrease_at is None
                    or not self._decrease_flag
                    or increase_at < decrease_at
                    or (increase_at == decrease_at and self._increase_ps > self._decrease_ps)
                )
            ):
                self._increase_at_ps = increase_at + self._increase_ps
                self._increase(timer=True)
            elif decrease_at is not None and decrease_at <= now_ps:
                self._decrease_at_ps = decrease_at + self._decrease_ps
                self._advance_alpha(decrease_at)
                self._decrease_flag = False
                self._cut(decrease_at)
            else:
                return

    def _advance_alpha(self, now_ps: int) -> None:
        """Alpha timers up to and including now: (1) if notified in the period, else (2)."""
        at, period = self._alpha_at_ps, self._alpha_ps
        if at is None or at > now_ps:
            return
        keep, alpha = 1 - self._gain, self._alpha
        while at <= now_ps:
            if self._alpha_flag:
                alpha = keep * alpha + self._gain
                self._alpha_flag = False
            else:
                alpha = keep * alpha
                if alpha < NEGLIGIBLE_ALPHA:
                    # Nothing left to decay: keep the phase and skip the rest of a long silence.
                    alpha = 0.0
                    at += (now_ps - at) // period * period
            at += period
        self._alpha, self._alpha_at_ps = alpha, at

    def _cut(self, now_ps: int) -> None:
        """(1), rates only; restarts the increase timer and both counts."""
        if self._clamp or self._stage or self._byte_stage:
            self._target_bps = self.rate_bps
        self._set_rate(max(self._min_bps, int(self.rate_bps * (1 - self._alpha / 2))))
        self._stage = self._byte_stage = 0
        self._counted_bytes = 0
        self._increase_at_ps = now_ps + self._increase_ps

    def _increase(self, *, timer: bool) -> None:
        """(3), (4) or (5), by the number of increase events since the cut, this one included."""
        fast = self._fast_steps
        if timer:
            self._stage += 1
        else:
            self._byte_stage += 1
        if self._counter_bytes is None:
            additive, hyper = self._stage > fast, self._stage > fast + 1
        else:
            additive = max(self._stage, self._byte_stage) > fast
            hyper = min(self._stage, self._byte_stage) > fast
        if additive:
            step_bps = self._hai_bps if hyper else self._ai_bps
            self._target_bps = min(self._line_bps, self._target_bps + step_bps)
        self._set_rate((self.rate_bps + self._target_bps) // 2)

    def snapshot(self, now_ps: int, snd_una: int) -> tuple[Any, ...]:
        """(rate, target, alpha, flags, counts, times of the next firings relative to now)."""
        self._advance_alpha(now_ps - 1)
        if self._decrease_at_ps is not None and not self._decrease_flag and self._decrease_at_ps < now_ps:
            late_ps = (now_ps - self._decrease_at_ps) % self._decrease_ps
            self._decrease_at_ps = now_ps + (self._decrease_ps - late_ps) % self._decrease_ps
        timers = (self._alpha_at_ps, self._decrease_at_ps, self._increase_at_ps)
        return (
            self.rate_bps, self._target_bps, self._alpha, self._alpha_flag, self._decrease_flag,
            self._stage, self._byte_stage, self._counted_bytes,
            *(None if at is None else at - now_ps for at in timers),
        )  # fmt: skip

    def restore(self, state: tuple[Any, ...], now_ps: int, snd_una: int) -> None:
        """Inverse of `snapshot`."""
        (
            rate_bps, self._target_bps, self._alpha, self._alpha_flag, self._decrease_flag,
            self._stage, self._byte_stage, self._counted_bytes, *timers,
        ) = state  # fmt: skip
        shifted = (None if at is None else at + now_ps for at in timers)
        self._alpha_at_ps, self._decrease_at_ps, self._increase_at_ps = shifted
        self._set_rate(rate_bps)
        self._plan(now_ps)

    def scale(self, factor: float, now_ps: int) -> bool:
        """Move rate and target to `factor` times their present values, within the bounds."""
        self._target_bps = self._bounded(self._target_bps * factor)
        return super().scale(factor, now_ps)

    def period_ps(self) -> int:
        """Shortest whole cycle between two cuts: fast recovery and one additive step."""
        return (self._fast_steps + 1) * self._increase_ps


_CARD = {"alpha_timer_ps": 1_000_000, "decrease_timer_ps": 4_000_000, "increase_timer_ps": 300_000_000}
_PAPER = {"alpha_timer_ps": 50_000_000, "decrease_timer_ps": 50_000_000, "increase_timer_ps": 55_000_000}


def _label(
    timers: dict[str, int],
    *,
    window: str = "none",
    marking: tuple[int, int, float] = RANDOM_MARKING,
    buffer_mib: int = 32,
) -> Preset:
    options = {
        **timers, "gain": 1 / 256, "fast_recovery_steps": 1, "ai_rate_bps": 20_000_000, "hai_rate_bps": 200_000_000,
        "min_rate_bps": MIN_RATE_BPS, "window": window, "clamp_target": False,
        "cnp_interval_ps": None, "byte_counter_bytes": None,
    }  # fmt: skip
    # The windowed label was measured with ACKs that share the data class's pause, the others without.
    return reference_preset(options, ack_high_priority=window == "none", marking=marking, buffer_mib=buffer_mib)


COMPONENT = Component(
    name="dcqcn",
    build=Dcqcn,
    summary="rate from marks, by alpha, decrease and recovery timers (DCQCN)",
    config=DcqcnConfig,
    reference="Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, section 3",
    presets={
        "reference:dcqcn": _label(_CARD),
        "reference:dcqcn_vwin": _label(_CARD, window="variable"),
        "reference:dcqcn_paper": _label(_PAPER),
        "reference:dcqcn_step": _label(_CARD, marking=STEP_400K),
        "reference:dcqcn_paper_step": _label(_PAPER, marking=STEP_400K),
        "reference:dcqcn_step_buf2": _label(_CARD, marking=STEP_400K, buffer_mib=2),
    },
)
