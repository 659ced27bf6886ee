"""DCTCP: cut in proportion to the fraction of marked packets (Alizadeh et al., SIGCOMM 2010).

Equations of the paper (section 3.1), here with a rate in place of the congestion window:

(1) alpha <- (1 - g) alpha + g F, F the fraction of packets marked in the last window of data
(2) rate <- rate (1 - alpha / 2), at most once per window of data

and an additive increase once per window without a cut.

Deviations from the paper, all as in the reference: the rate is the state, and the window, if any, is
W_max x rate / line rate; there is no slow start, a flow begins at line rate; alpha begins at 1; F divides
by the packets in flight when the window began, plus one; the receiver echoes every mark on its own
ACK (RFC 8257's delayed-ACK state machine is not needed with one ACK per packet); loss does not change the
rate. The increase is one packet per base RTT unless given. From the reference: none known.
"""

from __future__ import annotations

import math
from typing import Any

import attrs

from wormhole_core import Component, Feedback, FlowInfo, Stream, between, one_of, optional
from wormhole_core.units import PS_PER_S

from ._reference import MIN_RATE_BPS, STEP_300K, reference_preset
from ._windows import WINDOW_KINDS, RateBased, relative


@attrs.frozen(kw_only=True)
class DctcpConfig:
    """Options of `dctcp`."""

    gain: float = between(0.0, 1.0, default=1 / 16)
    """g, weight of the newest window in alpha."""
    ai_rate_bps: int | None = optional()
    """Additive increase per window; None: one packet per base RTT."""
    min_rate_bps: int | None = optional()
    """Lowest rate; None: line rate / 100."""
    window: str = one_of(*WINDOW_KINDS, default="variable")
    """"none", "fixed" (bandwidth-delay product) or "variable" (follows the rate)."""


class Dctcp(RateBased):
    """One DCTCP sender."""

    __slots__ = ("_ai_bps", "_alpha", "_batch", "_cwr_seq", "_gain", "_marks", "_payload_bytes", "_update_seq")

    reacts_to = frozenset({"marks"})

    def __init__(self, config: DctcpConfig, flow: FlowInfo, rng: Stream | None = None) -> None:
        super().__init__(flow, config.window, config.min_rate_bps)
        packet_per_rtt_bps = flow.payload_bytes * 8 * PS_PER_S // max(1, flow.base_rtt_ps)
        ai_bps = packet_per_rtt_bps if config.ai_rate_bps is None else config.ai_rate_bps
        self._ai_bps = max(1, min(flow.line_rate_bps, ai_bps))
        self._gain = config.gain
        self._payload_bytes = flow.payload_bytes
        self._alpha = 1.0
        self._marks = 0
        self._batch = 0
        self._update_seq: int | None = None
        self._cwr_seq: int | None = None
        """Set while a cut is in force (congestion window reduced): ends when it is acknowledged."""

    def on_ack(self, fb: Feedback) -> None:
        """(1) at the end of each window of data, (2) at the first mark outside a reduced window."""
        ack_seq = fb.ack_seq
        update_seq = self._update_seq
        marked = fb.ecn_marked
        if marked:
            self._marks += 1
        window_done = update_seq is None or ack_seq > update_seq
        if window_done:
            if update_seq is None:
                self._batch = fb.next_seq // self._payload_bytes + 1
            else:
                fraction = min(1.0, self._marks / self._batch)
                self._alpha = (1 - self._gain) * self._alpha + self._gain * fraction
                self._marks = 0
                self._batch = max(0, fb.next_seq - ack_seq) // self._payload_bytes + 1
            self._update_seq = fb.next_seq
        if self._cwr_seq is not None:
            if ack_seq <= self._cwr_seq:
                return
            self._cwr_seq = None
        if marked:
            self._set_rate(max(self._min_bps, int(self.rate_bps * (1 - self._alpha / 2))))
            self._cwr_seq = fb.next_seq
        elif window_done:
            self._set_rate(min(self._line_bps, self.rate_bps + self._ai_bps))

    def snapshot(self, now_ps: int, snd_una: int) -> tuple[Any, ...]:
        """(rate, alpha, marks and packets of this window, update seq, end of the reduced window)."""
        update_seq, cwr_seq = relative(self._update_seq, snd_una), relative(self._cwr_seq, snd_una)
        return (self.rate_bps, self._alpha, self._marks, self._batch, update_seq, cwr_seq)

    def restore(self, state: tuple[Any, ...], now_ps: int, snd_una: int) -> None:
        """Inverse of `snapshot`."""
        rate_bps, self._alpha, self._marks, self._batch, update_seq, cwr_seq = state
        self._update_seq, self._cwr_seq = relative(update_seq, -snd_una), relative(cwr_seq, -snd_una)
        self._set_rate(rate_bps)

    def period_ps(self) -> int:
        """Length of the sawtooth of a flow alone: half of sqrt(2 W) packets (section 3.3 of the paper, with
        the threshold left out of W, as a flow does not know it), climbed at the additive increase."""
        window_packets = max(1.0, self._window_max / self._payload_bytes)
        climb_bits = 0.5 * math.sqrt(2 * window_packets) * self._payload_bytes * 8
        per_rtt_bits = self._ai_bps * self._base_rtt_ps / PS_PER_S
        return max(1, math.ceil(climb_bits / per_rtt_bits)) * self._base_rtt_ps


COMPONENT = Component(
    name="dctcp",
    build=Dctcp,
    summary="rate cut in proportion to the fraction of marked packets (DCTCP)",
    config=DctcpConfig,
    reference="Alizadeh et al., Data Center TCP, SIGCOMM 2010, section 3; RFC 8257",
    presets={
        "reference:dctcp": reference_preset(
            {"gain": 1 / 16, "ai_rate_bps": 615_000_000, "min_rate_bps": MIN_RATE_BPS, "window": "variable"},
            marking=STEP_300K,
        ),
    },
)
