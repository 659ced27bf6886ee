"""`whole`: all flows in flight are one group, so only a fully repeated network state is reused."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from wormhole_core import Component, NoConfig, Partitioner


class Whole(Partitioner):
    """Every flow uses one common resource."""

    __slots__ = ()

    def resources(self, ports: Sequence[tuple[int, int]]) -> Iterable[Hashable]:
        return (("whole",),)


def _build(_config: NoConfig) -> Whole:
    return Whole()


WHOLE = Component(name="whole", build=_build, summary="all flows in flight together (to measure what partitions save)")
