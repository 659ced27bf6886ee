"""What is known of a chain's time from samples, and drawing what is not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs

from ..rng import Stream

CONFIDENCE = 0.9
DRAWS = 400
RESOLUTION = 10**6
"""Intervals are rounded outward to multiples of a millionth."""


@attrs.frozen
class Part:
    """Something that occurs `count` times on a chain and of which there are samples; one sample: certain."""

    key: Any
    samples: list[float]
    count: int

    def draw(self, means: dict[Any, tuple[float, float]], draws: Stream) -> float:
        """The time all occurrences take together, drawn; means: (mean, deviation) by key in this draw."""
        n = len(self.samples)
        middle = sum(self.samples) / n
        if n == 1:
            return self.count * middle
        known = means.get(self.key)
        if known is None:
            squares = sum((x - middle) ** 2 for x in self.samples)
            deviation = math.sqrt(squares / sum(normal(draws) ** 2 for _ in range(n - 1))) if squares else 0.0
            known = means[self.key] = middle + deviation / math.sqrt(n) * normal(draws), deviation
        mean, deviation = known
        return self.count * mean + math.sqrt(self.count) * deviation * normal(draws)


def outward(share: float, side: int) -> float:
    """Rounded away from the middle to the digits that are told."""
    return side * math.ceil(side * share * RESOLUTION) / RESOLUTION


def normal(draws: Stream) -> float:
    """A standard normal number (Box and Muller, 1958)."""
    return math.sqrt(-2 * math.log(1 - draws.uniform())) * math.cos(2 * math.pi * draws.uniform())


def error_of(own_ps: int, begin_ps: int, chains: Sequence[Sequence[Part]], draws: Stream) -> tuple[float, float, float]:
    """(median, low, high) of the relative error of a makespan: when the last of the chains would have ended
    is drawn some hundred times. own_ps: when the run ended, begin_ps: when its first flow started, from
    where makespans count as in `run.compare`."""
    errors = []
    for _ in range(DRAWS):
        means: dict[Any, tuple[float, float]] = {}
        end = max(sum(part.draw(means, draws) for part in chain) for chain in chains)
        errors.append((own_ps - end) / (end - begin_ps))
    errors.sort()
    tail = (1 - CONFIDENCE) / 2
    low, high = errors[int(tail * DRAWS)], errors[int((1 - tail) * DRAWS)]
    return (errors[DRAWS // 2 - 1] + errors[DRAWS // 2]) / 2, outward(low, -1), outward(high, 1)
