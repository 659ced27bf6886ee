"""ECN marking: decided when a frame begins to leave a switch, on the bytes left in its queue.

q > kmax: mark; kmin < q <= kmax: mark with probability pmax * (q - kmin) / (kmax - kmin); else not.
(DCQCN, SIGCOMM 2015, figure 5; DCTCP's step is kmin = kmax.) Only the middle case draws.
"""

from __future__ import annotations

import attrs

from ...errors import ConfigError
from ...rng import Stream
from ...units import PS_PER_S, format_rate
from ..config import NetworkConfig

REFERENCE_RATE_BPS = 100_000_000_000


@attrs.frozen
class Marking:
    """Thresholds of one port, in bytes."""

    kmin_bytes: int
    kmax_bytes: int
    pmax: float

    def marks(self, queue_bytes: int, draws: Stream) -> bool:
        """Whether a frame that leaves queue_bytes behind is marked."""
        if queue_bytes > self.kmax_bytes:
            return True
        if queue_bytes <= self.kmin_bytes:
            return False
        return draws.uniform() * (self.kmax_bytes - self.kmin_bytes) < self.pmax * (queue_bytes - self.kmin_bytes)


def marking_for(rate_bps: int, delay_ps: int, config: NetworkConfig) -> Marking:
    """Thresholds of a port. An entry of `ecn_map` for its rate wins; else 400 and 1600 kB at 100 Gbps
    (or what the configuration says) scaled with the rate, and, where not given, never less than what
    the link itself holds in eight delays."""
    if config.ecn_map is not None:
        try:
            return Marking(*config.ecn_map[rate_bps])
        except KeyError:
            known = ", ".join(format_rate(r) for r in sorted(config.ecn_map))
            raise ConfigError(
                f"network: ecn_map has no thresholds for ports of {format_rate(rate_bps)} (it has {known}); add them"
            ) from None
    scale = rate_bps if config.ecn_scales_with_rate else REFERENCE_RATE_BPS
    kmin_given, kmax_given = config.ecn_kmin_bytes, config.ecn_kmax_bytes
    if kmin_given is None:
        kmin = max(400_000 * rate_bps // REFERENCE_RATE_BPS, rate_bps * delay_ps * 8 // (8 * PS_PER_S))
        if kmax_given is not None:
            kmin = min(kmin, kmax_given * scale // REFERENCE_RATE_BPS)
    else:
        kmin = kmin_given * scale // REFERENCE_RATE_BPS
    kmax = 4 * kmin if kmax_given is None else kmax_given * scale // REFERENCE_RATE_BPS
    if kmax < kmin:
        raise ConfigError(f"network: ecn_kmax_bytes ({kmax_given}) must be at least ecn_kmin_bytes ({kmin_given})")
    return Marking(kmin, kmax, config.ecn_pmax)
