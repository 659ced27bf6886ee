"""HPCC: a flow's rate from in-band telemetry of every hop (Li et al., SIGCOMM 2019).

Equations of the paper (section 3.2 and Algorithm 1):

(1) I_j = W_j x R_j summed over flows; the inflight bytes of a link, estimated as
(2) U = min(qlen, qlen_prev) / (B T) + txRate / B, txRate = (txBytes - txBytes_prev) / (ts - ts_prev)
(3) U <- (1 - tau/T) U + (tau/T) max over hops of u', the moving average of MeasureInflight
(4) W = W^c / (U / eta) + W_AI, multiplicative: U >= eta, or maxStage additive steps were made
(5) W = W^c + W_AI, additive otherwise
(6) R = W / T

W^c, the reference window, changes once per window of acknowledged data; between those instants every
ACK computes W afresh from the same W^c ("fast reaction"). W_AI = W_init (1 - eta) / N for N flows.

Deviations from the paper: the state is the rate, and the window is W_max x rate / line rate, so the
window is (6) read backwards; the queue term uses the flow's W_max in place of B T, scaled by the ratio
of rates; the rate has a floor. Hops whose record cannot come from the port seen before (clock or counter
ran back, another rate, more bytes than the rate allows) are left out; with per-packet spraying that is most of
what can be done without port numbers in the telemetry. From the reference: none known when `ai_rate_bps`,
`min_rate_bps` and `max_stage` are given (it keeps one telemetry record per hop and does not notice a change of path).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from wormhole_core import (
    Cca,
    Component,
    Feedback,
    FlowInfo,
    Stream,
    between,
    non_negative,
    optional,
    positive,
)

from ._reference import MIN_RATE_BPS, Preset, reference_preset
from ._windows import relative, share_of_line

SETTLING_RTTS = 5
POSSIBLE_USE = 2.0
"""No port sends more than its rate; counters rounded to units may seem to. Beyond it, it was another port."""


@attrs.frozen(kw_only=True)
class HpccConfig:
    """Options of `hpcc`."""

    eta: float = between(0.01, 1.0, default=0.95)
    """Target utilisation of the busiest link."""
    ai_rate_bps: int | None = optional()
    """Additive increase; None: line rate x (1 - eta) / expected_flows."""
    expected_flows: int = positive(default=100)
    """N of the rule for W_AI. 100 gives the customary 50 Mbps at 100 Gbps; fewer mix faster."""
    max_stage: int = non_negative(default=5)
    """Additive steps before a multiplicative one is forced; 0: always multiplicative."""
    fast_react: bool = True
    """Compute a new rate at every ACK; False: only once per window."""
    min_rate_bps: int | None = optional()
    """Lowest rate; None: line rate / 1000."""
    variable_window: bool = True
    """The window follows the rate; False: it stays at the bandwidth-delay product."""


class Hpcc(Cca):
    """One HPCC sender."""

    __slots__ = (
        "_ai_bps",
        "_base_rtt_ps",
        "_current_bps",
        "_eta",
        "_fast",
        "_hops",
        "_line_bps",
        "_max_stage",
        "_min_bps",
        "_queue_weight",
        "_seen",
        "_stage",
        "_update_seq",
        "_utilisation",
        "_variable",
        "_window_max",
    )  # fmt: skip

    telemetry = "int"
    reacts_to = frozenset({"telemetry"})
    repaces_pending = True

    rate_bps: int
    window_bytes: int

    def __init__(self, config: HpccConfig, flow: FlowInfo, rng: Stream | None = None) -> None:
        line_bps = self._line_bps = flow.line_rate_bps
        self._base_rtt_ps = flow.base_rtt_ps
        self._window_max = max(1, flow.bdp_bytes)
        self._eta = config.eta
        derived_bps = max(1, int(line_bps * (1 - config.eta) / config.expected_flows))
        self._ai_bps = derived_bps if config.ai_rate_bps is None else config.ai_rate_bps
        self._max_stage = config.max_stage
        self._fast = config.fast_react
        self._min_bps = share_of_line(config.min_rate_bps, line_bps, 1000)
        self._variable = config.variable_window
        self._queue_weight = line_bps / self._window_max
        self._current_bps = line_bps
        self._stage = 0
        self._utilisation = 1.0
        self._update_seq: int | None = None
        self._hops: Sequence[tuple[int, int, int, int]] = ()
        self._seen: dict[int, tuple[int, int, int, int]] = {}
        self.rate_bps = line_bps
        self.window_bytes = self._window_max

    @property
    def target_utilisation(self) -> float:
        """eta."""
        return self._eta

    def on_ack(self, fb: Feedback) -> None:
        """Equations (2) to (6).

        The hottest method of the package, hence locals, one loop without calls, no strict zip and no
        arithmetic on empty queues: a third of the time in benchmarks/bench_cca.py.
        """
        update_seq = self._update_seq
        if update_seq is None:
            self._update_seq = fb.next_seq
            self._hops = fb.hops
            return
        window_done = fb.ack_seq > update_seq
        if not (window_done or self._fast):
            return
        hops = fb.hops
        previous = self._last_of_ports(fb) if fb.hop_ports else self._hops
        highest = -1.0
        tau = 0
        for (ts, sent, queue, rate), (old_ts, old_sent, old_queue, old_rate) in zip(hops, previous):  # noqa: B905
            elapsed = ts - old_ts
            if elapsed > 0 and rate == old_rate:
                used = (sent - old_sent) * 8e12 / elapsed / rate
                if not 0.0 <= used <= POSSIBLE_USE:
                    continue
                if queue and old_queue:
                    used += (queue if queue < old_queue else old_queue) * self._queue_weight / rate
                if used > highest:
                    highest = used
                    tau = elapsed
        self._hops = hops
        if tau:
            base = self._base_rtt_ps
            if tau < base:
                utilisation = (self._utilisation * (base - tau) + highest * tau) / base
            else:
                utilisation = highest
            self._utilisation = utilisation
            ratio = utilisation / self._eta
            stage = self._stage
            if ratio >= 1.0 or stage >= self._max_stage:
                new_bps = int(self._current_bps / ratio) + self._ai_bps if ratio > 0.0 else self._line_bps
                stage = 0
            else:
                new_bps = self._current_bps + self._ai_bps
                stage += 1
            line_bps = self._line_bps
            if new_bps > line_bps:
                new_bps = line_bps
            elif new_bps < self._min_bps:
                new_bps = self._min_bps
            self.rate_bps = new_bps
            if self._variable:
                self.window_bytes = self._window_max * new_bps // line_bps or 1
            if window_done:
                self._current_bps = new_bps
                self._stage = stage
        if window_done:
            self._update_seq = fb.next_seq

    def _last_of_ports(self, fb: Feedback) -> list[tuple[int, int, int, int]]:
        """Packets take several paths: what each of these ports said last, now replaced."""
        seen, previous = self._seen, []
        for port, record in zip(fb.hop_ports, fb.hops, strict=True):
            last = seen.get(port, record)
            previous.append(last)
            if record[0] >= last[0]:
                seen[port] = record
        return previous

    def snapshot(self, now_ps: int, snd_una: int) -> tuple[Any, ...]:
        """(rate, current rate, stage, utilisation, update seq, hops with time stamps relative to now, the
        same of ports by number where packets take several paths)."""
        hops = tuple((ts - now_ps, sent, queue, rate) for ts, sent, queue, rate in self._hops)
        update_seq = relative(self._update_seq, snd_una)
        seen = tuple((port, r[0] - now_ps, *r[1:]) for port, r in sorted(self._seen.items()))
        return (self.rate_bps, self._current_bps, self._stage, self._utilisation, update_seq, hops, seen)

    def restore(self, state: tuple[Any, ...], now_ps: int, snd_una: int) -> None:
        """Inverse of `snapshot`."""
        self.rate_bps, self._current_bps, self._stage, self._utilisation, update_seq, hops, seen = state
        self._update_seq = relative(update_seq, -snd_una)
        self._hops = tuple((ts + now_ps, sent, queue, rate) for ts, sent, queue, rate in hops)
        self._seen = {port: (ts + now_ps, sent, queue, rate) for port, ts, sent, queue, rate in seen}
        if self._variable:
            self.window_bytes = self._window_max * self.rate_bps // self._line_bps or 1

    def settling_ps(self) -> int:
        """Link load and queue settle within a few RTTs. Shares keep drifting: a difference between N flows
        halves in about 0.7 x line rate / (N x ai_rate) RTTs, which needs to be watched, not waited for."""
        return SETTLING_RTTS * self._base_rtt_ps

    def scale(self, factor: float, now_ps: int) -> bool:
        """Move the rate and the reference rate to `factor` times their present values, within bounds."""
        low, high = self._min_bps, self._line_bps
        self.rate_bps = min(high, max(low, int(self.rate_bps * factor)))
        self._current_bps = min(high, max(low, int(self._current_bps * factor)))
        if self._variable:
            self.window_bytes = self._window_max * self.rate_bps // self._line_bps or 1
        return True


def _label(*, fast_react: bool = True, max_stage: int = 0) -> Preset:
    options = {
        "eta": 0.95, "ai_rate_bps": 40_000_000, "max_stage": max_stage, "fast_react": fast_react,
        "min_rate_bps": MIN_RATE_BPS, "variable_window": True,
    }  # fmt: skip
    return reference_preset(options, int_multiple=4)


COMPONENT = Component(
    name="hpcc",
    build=Hpcc,
    summary="rate from in-band telemetry of every hop (HPCC)",
    config=HpccConfig,
    reference="Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, section 3 and Algorithm 1",
    presets={
        "reference:hpcc": _label(),
        "reference:hpcc_perrtt": _label(fast_react=False),
        "reference:hpcc_stage5": _label(max_stage=5),
    },
)
