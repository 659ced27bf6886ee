"""`switches`: flows that send through the same switch are simulated together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from wormhole_core import Component, NoConfig, Partitioner


class Switches(Partitioner):
    """A node is a resource. Hosts count as well: flows of one host with several ports stay together."""

    __slots__ = ()

    def resources(self, ports: Sequence[tuple[int, int]]) -> Iterable[Hashable]:
        return sorted({("switch", node) for node, _ in ports})


def _build(_config: NoConfig) -> Switches:
    return Switches()


SWITCHES = Component(name="switches", build=_build, summary="flows that pass the same node; covers shared buffers")
