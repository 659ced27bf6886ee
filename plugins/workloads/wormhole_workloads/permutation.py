"""Permutation: every host sends to one other and receives from one other, in rounds."""

from __future__ import annotations

import attrs

from wormhole_core import Stream, non_negative, optional, positive
from wormhole_core.errors import ConfigError

from ._rounds import RoundsWorkload


@attrs.frozen(kw_only=True)
class PermutationConfig:
    """Options of `permutation`."""

    size_bytes: int = positive(default=1_000_000)
    """What each host sends per round."""
    shift: int | None = optional()
    """Rank r sends to rank r + shift; default: a random derangement, another one each round."""
    rounds: int = positive(default=1)
    gap_ps: int = non_negative(default=0)
    """Pause of a host between two of its rounds."""


class Permutation(RoundsWorkload):
    """Rounds of one transfer per host."""

    __slots__ = ("_asked", "_drawn", "_next_draw", "_rng", "_shift")

    def __init__(self, config: PermutationConfig, hosts: tuple[int, ...], rng: Stream) -> None:
        super().__init__(hosts, config.size_bytes, config.rounds, config.gap_ps, "permutation")
        if config.shift is not None and config.shift % len(hosts) == 0:
            raise ConfigError(
                f"workload 'permutation': shift {config.shift} makes each of {len(hosts)} hosts send to itself; "
                f"take 1 to {len(hosts) - 1}"
            )
        self._shift = config.shift
        self._rng = rng
        self._drawn: dict[int, list[int]] = {}  # receivers per round; dropped when every rank has asked
        self._asked: dict[int, int] = {}
        self._next_draw = 0

    def peers(self, number: int, rank: int) -> tuple[int]:
        """The one receiver."""
        if self._shift is not None:
            return ((rank + self._shift) % len(self._hosts),)
        while self._next_draw <= number:  # in order of rounds, whichever rank comes first
            self._drawn[self._next_draw] = derangement(len(self._hosts), self._rng)
            self._next_draw += 1
        peer = self._drawn[number][rank]
        self._asked[number] = self._asked.get(number, 0) + 1
        if self._asked[number] == len(self._hosts):
            del self._drawn[number], self._asked[number]
        return (peer,)

    def per_round(self) -> int:
        """One."""
        return 1


def derangement(count: int, rng: Stream) -> list[int]:
    """A permutation of range(count) without fixed points, all equally likely.

    Shuffles until none is fixed: e = 2.7 times on average, whatever the count.
    """
    while True:
        order = list(range(count))
        rng.shuffle(order)
        if all(target != index for index, target in enumerate(order)):
            return order


def build(config: PermutationConfig, hosts: tuple[int, ...], rng: Stream) -> Permutation:
    """The workload object; raises ConfigError if the shift sends a host to itself."""
    return Permutation(config, hosts, rng)
