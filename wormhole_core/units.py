"""Quantities with units: parse what users write, print what users read.

Simulated time is integer picoseconds (`_ps`), rates are integer bits per second (`_bps`), sizes are
integer bytes (`_bytes`). The suffix of a field's name decides how a text is read; a bare number is
taken in the field's own unit. Decimal prefixes are powers of 1000, `Ki`, `Mi`, `Gi` powers of 1024.
"""

from __future__ import annotations

import re
from fractions import Fraction

PS_PER_NS = 1_000
PS_PER_US = 1_000_000
PS_PER_MS = 1_000_000_000
PS_PER_S = 1_000_000_000_000

_TIME = {"ps": 1, "ns": PS_PER_NS, "us": PS_PER_US, "µs": PS_PER_US, "ms": PS_PER_MS, "s": PS_PER_S}
_PREFIX = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_RATE = {p + u: f for p, f in _PREFIX.items() for u in ("bps", "bit/s", "b/s")}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SIZE = {p + "B": f for p, f in {**_PREFIX, **_BINARY}.items()}
_LONGEST = 64
"""Digits and decimal exponent of the longest number read."""
_NUMBER = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s].*?)?\s*$")


def _parse(value: object, units: dict[str, int], kind: str, example: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"{value!r} is not a {kind}; write e.g. {example}")
    if isinstance(value, str):
        match = _NUMBER.match(value)
        if not match or (match[2] is not None and match[2] not in units):
            known = ", ".join(u for u in units if u not in ("µs",))
            raise ValueError(f"{value!r} is not a {kind}; write e.g. {example} (units: {known})")
        exponent = match[1].lower().partition("e")[2]
        if len(match[1]) > _LONGEST or (exponent and abs(int(exponent)) > _LONGEST):
            # An exact number of that length would take for ever; nothing we simulate is that large.
            raise ValueError(f"{value[:24]!r}... is too long for a {kind}; write e.g. {example}")
        number = Fraction(match[1].replace("_", "")) * (units[match[2]] if match[2] else 1)
    else:
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{value!r} is not a finite {kind}; write e.g. {example}")
        number = Fraction(value)
    return round(number)


def parse_time_ps(value: object) -> int:
    """`"1.5us"` -> 1_500_000; a bare number is picoseconds. Raises ValueError."""
    return _parse(value, _TIME, "time", "12us")


def parse_rate_bps(value: object) -> int:
    """`"400Gbps"` -> 400_000_000_000; a bare number is bits per second. Raises ValueError."""
    return _parse(value, _RATE, "rate", "400Gbps")


def parse_size_bytes(value: object) -> int:
    """`"32MiB"` -> 33_554_432; a bare number is bytes. Raises ValueError."""
    return _parse(value, _SIZE, "size", "32MiB")


def serialisation_ps(size_bytes: int, rate_bps: int, resolution_ps: int = 1) -> int:
    """Time a frame occupies a link, rounded to the nearest multiple of the clock resolution."""
    unit = rate_bps * resolution_ps
    return (size_bytes * 8 * PS_PER_S + unit // 2) // unit * resolution_ps


def _scaled(value: float, steps: list[tuple[float, str]]) -> str:
    for factor, unit in steps:
        if abs(value) >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value:.4g} {steps[-1][1]}"


def format_time(time_ps: float) -> str:
    """Picoseconds for people: `1.5 us`."""
    return _scaled(time_ps, [(PS_PER_S, "s"), (PS_PER_MS, "ms"), (PS_PER_US, "us"), (PS_PER_NS, "ns"), (1, "ps")])


def format_rate(rate_bps: float) -> str:
    """Bits per second for people: `400 Gbps`."""
    return _scaled(rate_bps, [(1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1, "bps")])


def format_size(size_bytes: float) -> str:
    """Bytes for people, powers of 1000: `1.05 MB`."""
    return _scaled(size_bytes, [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")])
