"""Which flows must be together: those that share a port (or a partitioner's resource), transitively."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .members import Member, Partition

Coarsen = Callable[[Any], Iterable[Any]] | None


class _Union:
    """Disjoint sets over small integers."""

    def __init__(self, size: int) -> None:
        self.parent = list(range(size))

    def find(self, item: int) -> int:
        """The representative of an item's set."""
        parent = self.parent
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    def join(self, a: int, b: int) -> None:
        """Make two sets one; the smaller representative stays, so that order is by first member."""
        a, b = self.find(a), self.find(b)
        if a != b:
            self.parent[max(a, b)] = min(a, b)


def components(members: list[Member], coarsen: Coarsen) -> list[list[Member]]:
    """Connected components, each and all in the order given. Cost: flows x hops."""
    if len(members) == 1:
        return [members]
    union = _Union(len(members))
    seen: dict[Any, int] = {}
    for i, member in enumerate(members):
        for resource in _resources(member, coarsen):
            other = seen.setdefault(resource, i)
            if other != i:
                union.join(i, other)
    parts: dict[int, list[Member]] = {}
    for i, member in enumerate(members):
        parts.setdefault(union.find(i), []).append(member)
    return list(parts.values())


def grouped(
    arrivals: list[Member], owners: dict[Any, Partition], coarsen: Coarsen
) -> list[tuple[list[Member], list[Partition]]]:
    """Arrivals of one instant with the partitions they touch, joined where they meet.

    Each group: members in order of index, partitions in order of their number. The cost does not
    depend on how many other partitions there are.
    """
    arrivals = sorted(arrivals, key=lambda m: m.plan.index)
    union = _Union(len(arrivals))
    find, join = union.find, union.join
    seen: dict[Any, int] = {}
    touching: list[set[Partition]] = []
    for i, member in enumerate(arrivals):
        touched = set()
        mine = i
        for resource in _resources(member, coarsen):
            owner = owners.get(resource)
            if owner is not None:
                if owner in touched:
                    continue
                touched.add(owner)
                resource = owner
            other = seen.setdefault(resource, i)
            # Most ports lead back to the same neighbour: what is joined already is not looked up.
            if other != i and other != mine:
                join(i, other)
                mine = other
        touching.append(touched)
    groups: dict[int, tuple[list[Member], set[Partition]]] = {}
    for i, member in enumerate(arrivals):
        members, partitions = groups.setdefault(find(i), ([], set()))
        members.append(member)
        partitions |= touching[i]
    return [(members, sorted(parts, key=lambda p: p.id)) for members, parts in groups.values()]


def _resources(member: Member, coarsen: Coarsen) -> Iterable[Any]:
    ports = member.ports
    return ports if coarsen is None else (*ports, *coarsen(ports))
