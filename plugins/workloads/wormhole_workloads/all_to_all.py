"""All-to-all: every host sends to every other, in rounds."""

from __future__ import annotations

import attrs

from wormhole_core import Stream, non_negative, positive

from ._rounds import RoundsWorkload


@attrs.frozen(kw_only=True)
class AllToAllConfig:
    """Options of `all-to-all`."""

    size_bytes: int = positive(default=1_000_000)
    """What each host sends to each other host per round."""
    rounds: int = positive(default=1)
    gap_ps: int = non_negative(default=0)
    """Pause of a host between two of its rounds."""


class AllToAll(RoundsWorkload):
    """Rank r sends to r + 1, r + 2, ... around, all at once."""

    __slots__ = ()

    def peers(self, number: int, rank: int) -> list[int]:
        """All others, the next one first, so that not all begin with the same receiver."""
        count = len(self._hosts)
        return [(rank + distance) % count for distance in range(1, count)]

    def per_round(self) -> int:
        """One transfer per other host."""
        return len(self._hosts) - 1


def build(config: AllToAllConfig, hosts: tuple[int, ...], rng: Stream) -> AllToAll:
    """The workload object."""
    return AllToAll(hosts, config.size_bytes, config.rounds, config.gap_ps, "all-to-all")
