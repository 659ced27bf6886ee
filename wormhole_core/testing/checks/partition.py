"""What a partitioner must do: name resources the same way every time, and leave the ports alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from ...contracts.partition import Partitioner
from ..subject import Subject
from ._register import check

Port = tuple[int, int]


def flows_of(subject: Subject, count: int = 60) -> list[list[Port]]:
    """Egress ports of random flows, few enough that many share one."""
    rng = subject.rng("flows")
    return [[(rng.below(30), rng.below(60)) for _ in range(2 + rng.below(5))] for _ in range(count)]


def partition(partitioner: Partitioner, flows: Sequence[Sequence[Port]]) -> set[frozenset[int]]:
    """Groups of flow numbers: connected through ports and through what the partitioner adds."""
    parent = list(range(len(flows)))

    def find(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    owner: dict[Hashable, int] = {}
    for number, ports in enumerate(flows):
        added = list(partitioner.resources(ports))
        for resource in (*(("port", *port) for port in ports), *(("added", resource) for resource in added)):
            other = owner.setdefault(resource, number)
            parent[find(number)] = find(other)
    groups: dict[int, set[int]] = {}
    for number in range(len(flows)):
        groups.setdefault(find(number), set()).add(number)
    return {frozenset(group) for group in groups.values()}


@check("partitioner")
def resources_are_names(subject: Subject) -> None:
    """Resources are hashable, finite, and the same when asked again or by another object."""
    first, second = subject.build(), subject.build()
    for ports in flows_of(subject):
        given = first.resources(tuple(ports))
        subject.expect(isinstance(given, Iterable), "an iterable of resources", repr(given))
        try:
            named = set(given)
        except TypeError as error:
            raise AssertionError(f"{subject.owner}: expected hashable resources; saw {error}") from None
        for other in (first, second):
            again = set(other.resources(tuple(ports)))
            subject.expect(again == named, f"the same resources again for {ports}", f"{again} in place of {named}")


@check("partitioner")
def order_does_not_matter(subject: Subject) -> None:
    """Neither the order of flows nor that of a flow's ports changes the partition."""
    flows = flows_of(subject)
    wanted = partition(subject.build(), [list(ports) for ports in flows])
    rng = subject.rng("shuffle")
    for _ in range(4):
        order = list(range(len(flows)))
        rng.shuffle(order)
        mixed = [list(flows[number]) for number in order]
        for ports in mixed:
            rng.shuffle(ports)
        seen = {frozenset(order[number] for number in group) for group in partition(subject.build(), mixed)}
        subject.expect(seen == wanted, f"the same {len(wanted)} groups in any order", f"{len(seen)} groups, other ones")


@check("partitioner")
def only_coarsens(subject: Subject) -> str:
    """Groups are disjoint, cover all flows, and never part two flows that share a port."""
    flows = flows_of(subject)
    handed = [list(ports) for ports in flows]
    groups = partition(subject.build(), handed)
    changed = [number for number, ports in enumerate(handed) if ports != flows[number]]
    subject.expect(not changed, "the ports of a flow left as they are", f"those of flow {changed[:1]} changed")
    count = sum(len(group) for group in groups)
    subject.expect(count == len(flows) == len(frozenset().union(*groups)), "each flow in one group", f"{count} places")
    home = {number: group for group in groups for number in group}
    users: dict[Any, int] = {}
    for number, ports in enumerate(flows):
        for port in ports:
            other = users.setdefault(port, number)
            subject.expect(
                home[other] is home[number], f"flows {other} and {number} together: both use {port}", "apart"
            )
    return f"{len(groups)} groups of {len(flows)} flows"
