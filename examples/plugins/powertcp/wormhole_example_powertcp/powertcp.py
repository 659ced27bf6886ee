"""PowerTCP: a window from in-band telemetry (Addanki, Michel, Schmid, NSDI 2022).

Per hop, from two successive records of one port (Algorithm 1; b its rate, T the base round-trip time):

(1) current  lambda = dq/dt + mu        how fast bytes arrive: growth of the queue + what is sent
(2) voltage  nu     = q + b T           what is in the network
(3) power    Gamma  = lambda nu         normalised by its value on a full link without a queue, b^2 T
(4) the largest over the hops, averaged: Gamma <- (Gamma (T - dt) + Gamma_hop dt) / T
(5) w <- g (w_old / Gamma + beta) + (1 - g) w,  rate = w / T

w_old is the window in force when the acknowledged data was sent; as in the paper it is remembered once
per round trip. beta = line rate x T / N. Bounds of our own: w is at most line rate x T, at least a
thousandth of that, and a hop whose clock did not advance, or whose counters ran back (another port
answered: the path changed), is left out.
"""

from __future__ import annotations

from typing import Any

import attrs

from wormhole_core import Cca, Feedback, FlowInfo, Stream, between, positive
from wormhole_core.units import PS_PER_S

FLOOR = 1 / 1000
LEAST_POWER = 1e-3
"""An idle hop has power 0; the division needs a bound."""


@attrs.frozen(kw_only=True)
class PowerTcpConfig:
    """Options of `powertcp`."""

    gain: float = between(0.01, 1.0, default=0.9)
    """g, weight of the newest computation."""
    expected_flows: int = positive(default=10)
    """N, over which the additive increase divides a bandwidth-delay product."""


class PowerTcp(Cca):
    """One sender. The window is kept as a float: with many flows a share is less than a packet."""

    __slots__ = (
        "_base_rtt_ps",
        "_beta",
        "_gain",
        "_hops",
        "_line_bps",
        "_most",
        "_old",
        "_power",
        "_update_seq",
        "_window",
    )

    telemetry = "int"
    reacts_to = frozenset({"telemetry"})
    repaces_pending = True

    window_bytes: int
    rate_bps: int

    def __init__(self, config: PowerTcpConfig, flow: FlowInfo, rng: Stream) -> None:
        self._base_rtt_ps = flow.base_rtt_ps
        self._line_bps = flow.line_rate_bps
        self._gain = config.gain
        self._most = float(max(1, flow.bdp_bytes))
        self._beta = self._most / config.expected_flows
        self._old = self._most
        self._power = 1.0
        self._update_seq = 0
        self._hops: tuple[tuple[int, int, int, int], ...] = ()
        self._set_window(self._most)

    def _set_window(self, window: float) -> None:
        self._window = min(self._most, max(self._most * FLOOR, window))
        self.window_bytes = max(1, int(self._window))
        self.rate_bps = max(1, min(self._line_bps, int(self._window * 8 * PS_PER_S / self._base_rtt_ps)))

    def on_ack(self, fb: Feedback) -> None:
        """Equations (1) to (5), at each acknowledgement."""
        found = self._hop_power(fb)
        self._hops = tuple(fb.hops)
        if found is not None:
            power, elapsed_ps = found
            elapsed_ps = min(elapsed_ps, self._base_rtt_ps)
            kept_ps = self._base_rtt_ps - elapsed_ps
            self._power = (self._power * kept_ps + power * elapsed_ps) / self._base_rtt_ps
            target = self._old / max(LEAST_POWER, self._power) + self._beta
            self._set_window(self._gain * target + (1 - self._gain) * self._window)
        if fb.ack_seq > self._update_seq:
            self._old = self._window
            self._update_seq = fb.next_seq

    def _hop_power(self, fb: Feedback) -> tuple[float, int] | None:
        """(normalised power, time between its two records) of the busiest hop; None if no hop can be used."""
        best = None
        if len(fb.hops) != len(self._hops):
            return None
        for (ts_ps, tx_bytes, queue_bytes, rate_bps), old in zip(fb.hops, self._hops, strict=True):
            old_ts_ps, old_tx_bytes, old_queue_bytes, old_rate_bps = old
            elapsed_ps, sent_bytes = ts_ps - old_ts_ps, tx_bytes - old_tx_bytes
            if elapsed_ps <= 0 or sent_bytes < 0 or rate_bps != old_rate_bps:
                continue
            bandwidth = rate_bps / (8 * PS_PER_S)  # bytes per picosecond
            current = (queue_bytes - old_queue_bytes + sent_bytes) / elapsed_ps
            full = bandwidth * self._base_rtt_ps
            power = current * (queue_bytes + full) / (bandwidth * full)
            if best is None or power > best[0]:
                best = power, elapsed_ps
        return best

    def snapshot(self, now_ps: int, snd_una: int) -> tuple[Any, ...]:
        """(window, old window, power, update sequence number, hops with times relative to now)."""
        hops = tuple((ts_ps - now_ps, *rest) for ts_ps, *rest in self._hops)
        return (self._window, self._old, self._power, self._update_seq - snd_una, hops)

    def restore(self, state: tuple[Any, ...], now_ps: int, snd_una: int) -> None:
        """Inverse of `snapshot`."""
        window, self._old, self._power, update_seq, hops = state
        self._update_seq = update_seq + snd_una
        self._hops = tuple((ts_ps + now_ps, *rest) for ts_ps, *rest in hops)
        self._set_window(window)

    def settling_ps(self) -> int:
        """Queues drain within a round trip or two; shares within a few (theorem 2 of the paper)."""
        return 5 * self._base_rtt_ps

    def scale(self, factor: float, now_ps: int) -> bool:
        """Window, old window and rate move together."""
        self._old *= factor
        self._set_window(self._window * factor)
        return True
