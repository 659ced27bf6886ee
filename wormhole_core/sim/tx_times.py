"""How long frames occupy a link: worked out once per size and rate. Shared by both motion models."""

from __future__ import annotations

from ..units import serialisation_ps


class TxTimes(dict[int, int]):
    """Wire size in bytes -> serialisation time in ps of one rate, filled on demand."""

    def __init__(self, rate_bps: int, resolution_ps: int) -> None:
        super().__init__()
        self.rate_bps, self.resolution_ps = rate_bps, resolution_ps

    def __missing__(self, size_bytes: int) -> int:
        value = self[size_bytes] = serialisation_ps(size_bytes, self.rate_bps, self.resolution_ps)
        return value
