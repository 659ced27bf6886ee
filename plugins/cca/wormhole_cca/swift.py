"""Swift: a window from end-to-end delay against a scaled target (Kumar et al., SIGCOMM 2020).

Algorithm 1 and section 3 of the paper, cwnd in packets:

(1) delay < target, cwnd >= 1: cwnd += ai / cwnd per packet acknowledged
(2) delay < target, cwnd < 1: cwnd += ai per packet acknowledged
(3) otherwise, at most once per RTT: cwnd *= max(1 - beta (delay - target) / delay, 1 - max_mdf)
(4) a negative acknowledgement, at most once per RTT: cwnd *= 1 - max_mdf; a timeout the same, and
    cwnd = min_cwnd after `retransmit_reset` timeouts in a row
(5) target = base_target + hops x per_hop + max(0, min(a / sqrt(cwnd) + b, fs_range)),
    a = fs_range / (1 / sqrt(fs_min_cwnd) - 1 / sqrt(fs_max_cwnd)), b = -a / sqrt(fs_max_cwnd)
(6) cwnd < 1: one packet every rtt / cwnd

Deviations from the paper: hosts have no processing delay in this model, so the whole RTT is fabric
delay and there is one window, not a second one for the end host; delays are not averaged; the base
target defaults to the flow's base RTT, which already grows with the path, so the default per-hop term
stands for the queue allowed at each hop; the window begins at the bandwidth-delay product,
as a flow's neighbours in this package do. A fractional window of at least 1 is rounded down to packets.
The reference simulator has no Swift, so nothing is measured against it.
"""

from __future__ import annotations

import math
from typing import Any

import attrs

from wormhole_core import Cca, Component, Feedback, FlowInfo, LossKind, Stream, between, optional, positive
from wormhole_core.units import PS_PER_S

ALLOWED_FRAMES_PER_HOP = 8
FLOW_SCALING_TARGETS = 5
FRAME_TIMES_SLACK = 4


@attrs.frozen(kw_only=True)
class SwiftConfig:
    """Options of `swift`."""

    ai: float = between(0.0001, 1000.0, default=1.0)
    """Additive increase in packets per RTT."""
    beta: float = between(0.0, 1.0, default=0.8)
    """Strength of a decrease."""
    max_mdf: float = between(0.0, 0.99, default=0.5)
    """Largest fraction of the window one decrease takes."""
    base_target_ps: int | None = optional()
    """Target for a path without queues; None: base RTT and four frame times at line rate."""
    per_hop_ps: int | None = optional()
    """Topology scaling, added per link of the path; None: eight frame times at line rate."""
    fs_range_ps: int | None = optional()
    """Most that flow scaling adds; None: five base targets."""
    fs_min_cwnd_packets: float = positive(default=0.1)
    """Windows from here down get all of `fs_range_ps`."""
    fs_max_cwnd_packets: float = positive(default=100.0)
    """Windows from here up get none of it."""
    min_cwnd_packets: float = positive(default=0.01)
    """Smallest window."""
    max_cwnd_packets: float | None = optional()
    """Largest window; None: twice the bandwidth-delay product."""
    retransmit_reset: int = positive(default=5)
    """Timeouts in a row that send the window to its minimum."""

    def __attrs_post_init__(self) -> None:
        if self.fs_min_cwnd_packets >= self.fs_max_cwnd_packets:
            low, high = self.fs_min_cwnd_packets, self.fs_max_cwnd_packets
            raise ValueError(f"fs_min_cwnd_packets must be below fs_max_cwnd_packets ({high:g}), got {low:g}")


class Swift(Cca):
    """One Swift sender."""

    __slots__ = (
        "_ai", "_base_rtt_ps", "_base_target_ps", "_beta", "_cut_at_ps", "_cwnd", "_frame_bits_ps", "_fs_offset",
        "_fs_range_ps", "_fs_slope", "_line_bps", "_max_cwnd", "_max_mdf", "_min_cwnd", "_payload_bytes",
        "_reset_after", "_rtt_ps", "_start_cwnd", "_timeouts",
    )  # fmt: skip

    telemetry = "timestamp"
    reacts_to = frozenset({"delay", "loss"})

    def __init__(self, config: SwiftConfig, flow: FlowInfo, rng: Stream | None = None) -> None:
        frame_ps = flow.frame_bytes * 8 * PS_PER_S // flow.line_rate_bps
        base_ps = config.base_target_ps
        if base_ps is None:
            base_ps = flow.base_rtt_ps + FRAME_TIMES_SLACK * frame_ps
        per_hop_ps = ALLOWED_FRAMES_PER_HOP * frame_ps if config.per_hop_ps is None else config.per_hop_ps
        self._base_target_ps = base_ps + flow.hops * per_hop_ps
        self._fs_range_ps = FLOW_SCALING_TARGETS * base_ps if config.fs_range_ps is None else config.fs_range_ps
        high = 1 / math.sqrt(config.fs_max_cwnd_packets)
        self._fs_slope = self._fs_range_ps / (1 / math.sqrt(config.fs_min_cwnd_packets) - high)
        self._fs_offset = -self._fs_slope * high
        self._ai = config.ai
        self._beta = config.beta
        self._max_mdf = config.max_mdf
        self._reset_after = config.retransmit_reset
        self._line_bps = flow.line_rate_bps
        self._base_rtt_ps = flow.base_rtt_ps
        self._payload_bytes = flow.payload_bytes
        self._frame_bits_ps = flow.frame_bytes * 8 * PS_PER_S
        bdp_packets = max(1.0, flow.bdp_bytes / flow.payload_bytes)
        self._max_cwnd = config.max_cwnd_packets or 2 * bdp_packets
        self._min_cwnd = min(config.min_cwnd_packets, self._max_cwnd)
        self._start_cwnd = min(bdp_packets, self._max_cwnd)
        self._rtt_ps = flow.base_rtt_ps
        self._cut_at_ps: int | None = None
        self._timeouts = 0
        self.rate_bps = self._line_bps
        self._set_cwnd(self._start_cwnd)

    def _set_cwnd(self, cwnd: float) -> None:
        """Clamp, then turn packets into a window and, below one packet, a pacing rate (6)."""
        cwnd = min(self._max_cwnd, max(self._min_cwnd, cwnd))
        self._cwnd = cwnd
        if cwnd >= 1.0:
            self.window_bytes = int(cwnd) * self._payload_bytes
            self.rate_bps = self._line_bps
        else:
            self.window_bytes = self._payload_bytes
            rate_bps = int(self._frame_bits_ps * cwnd / self._rtt_ps)
            self.rate_bps = min(self._line_bps, max(1, rate_bps))

    def _target_ps(self) -> float:
        """(5)."""
        scaling = self._fs_slope / math.sqrt(self._cwnd) + self._fs_offset
        if scaling <= 0.0:
            return self._base_target_ps
        return self._base_target_ps + (scaling if scaling < self._fs_range_ps else self._fs_range_ps)

    def on_ack(self, fb: Feedback) -> None:
        """(1) to (3)."""
        delay_ps = self._rtt_ps = max(1, fb.rtt_ps)
        self._timeouts = 0
        cwnd = self._cwnd
        target_ps = self._target_ps()
        if delay_ps < target_ps:
            acked_packets = fb.acked_bytes / self._payload_bytes
            self._set_cwnd(cwnd + self._ai * acked_packets / (cwnd if cwnd >= 1.0 else 1.0))
        elif self._may_cut(fb.now_ps):
            factor = max(1 - self._beta * (delay_ps - target_ps) / delay_ps, 1 - self._max_mdf)
            self._cut(cwnd * factor, fb.now_ps)
        elif cwnd < 1.0:
            self._set_cwnd(cwnd)

    def on_loss(self, now_ps: int, lost_bytes: int, kind: str) -> None:
        """(4)."""
        if kind == LossKind.TIMEOUT:
            self._timeouts += 1
            if self._timeouts >= self._reset_after:
                self._cut(self._min_cwnd, now_ps)
                return
        if self._may_cut(now_ps):
            self._cut(self._cwnd * (1 - self._max_mdf), now_ps)

    def _may_cut(self, now_ps: int) -> bool:
        return self._cut_at_ps is None or now_ps - self._cut_at_ps >= self._rtt_ps

    def _cut(self, cwnd: float, now_ps: int) -> None:
        before = self._cwnd
        self._set_cwnd(cwnd)
        if self._cwnd < before:
            self._cut_at_ps = now_ps

    def snapshot(self, now_ps: int, snd_una: int) -> tuple[Any, ...]:
        """(cwnd, last RTT, timeouts in a row, time of the last cut relative to now)."""
        cut_at = None if self._cut_at_ps is None else self._cut_at_ps - now_ps
        return (self._cwnd, self._rtt_ps, self._timeouts, cut_at)

    def restore(self, state: tuple[Any, ...], now_ps: int, snd_una: int) -> None:
        """Inverse of `snapshot`."""
        cwnd, self._rtt_ps, self._timeouts, cut_at = state
        self._cut_at_ps = None if cut_at is None else cut_at + now_ps
        self._set_cwnd(cwnd)

    def settling_ps(self) -> int:
        """Time the additive increase takes to refill a window that was halved once."""
        return max(1, math.ceil(self._start_cwnd / 2 / self._ai)) * self._base_rtt_ps

    def scale(self, factor: float, now_ps: int) -> bool:
        """Move the window to `factor` times its present value, within the bounds."""
        self._set_cwnd(self._cwnd * factor)
        return True


COMPONENT = Component(
    name="swift",
    build=Swift,
    summary="window from end-to-end delay against a scaled target (Swift)",
    config=SwiftConfig,
    reference="Kumar et al., Swift: Delay is Simple and Effective for Congestion Control, SIGCOMM 2020, section 3",
)
