"""Named counter-based random streams.

A stream's state is one integer, so it can be stored, restored and compared. Streams never touch the
global random state; the same seed and name always give the same numbers, on every platform.

The generator is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) run as a counter: draw i of a stream is
the finaliser of `key + (i + 1) * golden`.
"""

from __future__ import annotations

import hashlib
from typing import Any

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_TO_UNIT = 1.0 / (1 << 53)


class Stream:
    """One stream of uniform numbers; `counter` draws were made so far (settable, to rewind)."""

    __slots__ = ("counter", "key")

    def __init__(self, key: int, counter: int = 0) -> None:
        self.key = key & _MASK
        self.counter = counter

    def bits(self) -> int:
        """Next 64 random bits as an integer."""
        self.counter += 1
        z = (self.key + self.counter * _GOLDEN) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def uniform(self) -> float:
        """Next number in [0, 1)."""
        return (self.bits() >> 11) * _TO_UNIT

    def below(self, bound: int) -> int:
        """Next integer in [0, bound); raises ValueError if bound < 1."""
        if bound < 1:
            raise ValueError(f"bound must be at least 1, got {bound}")
        return self.bits() * bound >> 64

    def shuffle(self, items: list[Any]) -> None:
        """Shuffle a list in place (Fisher-Yates)."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]


def stream(seed: int, *name: object) -> Stream:
    """The stream called `name` (any printable parts) of a run's seed, from its beginning."""
    text = "\x1f".join([str(seed), *map(str, name)]).encode()
    return Stream(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little"))
