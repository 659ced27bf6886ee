"""Arithmetic shared by the rate-based algorithms: derived rates, windows that follow the rate.

Rates are whole bits per second, truncated as the reference simulator does; a window is whole bytes
and at least 1, so that a flow can always have one packet in flight.
"""

from __future__ import annotations

from wormhole_core import Cca, FlowInfo

WINDOW_KINDS = ("none", "fixed", "variable")
"""No window; W_max (the flow's bandwidth-delay product); W_max x rate / line rate."""


def share_of_line(value_bps: int | None, line_rate_bps: int, divisor: int) -> int:
    """A rate option, or line rate / divisor (at least 1 bit/s) where it is None; never above the line rate."""
    return min(line_rate_bps, max(1, line_rate_bps // divisor if value_bps is None else value_bps))


def relative(seq: int | None, snd_una: int) -> int | None:
    """A sequence number for a snapshot (`snd_una` < 0 undoes it: pass -snd_una to restore)."""
    return None if seq is None else seq - snd_una


class RateBased(Cca):
    """A flow governed by a rate, with a window that is absent, fixed or follows the rate."""

    __slots__ = ("_base_rtt_ps", "_follows", "_line_bps", "_min_bps", "_window_max")

    rate_bps: int

    def __init__(self, flow: FlowInfo, window: str, min_rate_bps: int | None) -> None:
        self._line_bps = flow.line_rate_bps
        self._min_bps = share_of_line(min_rate_bps, flow.line_rate_bps, 100)
        self._window_max = max(1, flow.bdp_bytes)
        self._base_rtt_ps = flow.base_rtt_ps
        self._follows = window == "variable"
        self.window_bytes = None if window == "none" else self._window_max
        self.rate_bps = self._line_bps

    def _set_rate(self, rate_bps: int) -> None:
        """Take a rate already within bounds; move the window if it follows."""
        self.rate_bps = rate_bps
        if self._follows:
            self.window_bytes = self._window_max * rate_bps // self._line_bps or 1

    def _bounded(self, rate_bps: float) -> int:
        return min(self._line_bps, max(self._min_bps, int(rate_bps)))

    def scale(self, factor: float, now_ps: int) -> bool:
        """Move to `factor` times the present rate, within the bounds."""
        self._set_rate(self._bounded(self.rate_bps * factor))
        return True
