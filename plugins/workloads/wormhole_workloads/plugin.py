"""What this distribution offers; the only module that knows hooks."""

from __future__ import annotations

from typing import Any

from wormhole_core import Component, hookimpl

from . import all_to_all, incast, permutation, ring_all_reduce

COMPONENTS: list[Component[Any]] = [
    Component(name="incast", build=incast.build, config=incast.IncastConfig, summary="many hosts send to one"),
    Component(
        name="permutation", build=permutation.build, config=permutation.PermutationConfig,
        summary="each host sends to one other, shifted or at random, in rounds",
    ),
    Component(
        name="all-to-all", build=all_to_all.build, config=all_to_all.AllToAllConfig,
        summary="each host sends to every other, in rounds",
    ),
    Component(
        name="ring-all-reduce", build=ring_all_reduce.build, config=ring_all_reduce.RingAllReduceConfig,
        summary="2 (N - 1) dependent steps around one or many rings",
        reference="Patarasuk and Yuan, JPDC 69(2), 2009",
    ),
]  # fmt: skip


@hookimpl
def wormhole_workloads() -> list[Component[Any]]:
    """The components of this distribution."""
    return COMPONENTS
