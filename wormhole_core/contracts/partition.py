"""Partitioners (provisional): which flows must be simulated together.

`Component.build(config) -> Partitioner`. A partitioner may only coarsen: the core adds the ports a
flow uses to whatever is returned and takes connected components.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence


class Partitioner:
    """Default: nothing beyond the shared ports."""

    __slots__ = ()

    def resources(self, ports: Sequence[tuple[int, int]]) -> Iterable[Hashable]:
        """Extra resources of a flow whose egress ports (data and ACK) are `(node, link_index)`."""
        return ()
