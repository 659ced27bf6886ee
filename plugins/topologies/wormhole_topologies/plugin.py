"""What this distribution offers; the only module that knows hooks."""

from __future__ import annotations

from typing import Any

from wormhole_core import Component, hookimpl

from . import dumbbell, fat_tree, leaf_spine, rail, ring, star

COMPONENTS: list[Component[Any]] = [
    Component(name="star", build=star.build, config=star.StarConfig, summary="all hosts on one switch"),
    Component(
        name="dumbbell", build=dumbbell.build, config=dumbbell.DumbbellConfig,
        summary="two switches and the bottleneck between them",
    ),
    Component(
        name="leaf-spine", build=leaf_spine.build, config=leaf_spine.LeafSpineConfig,
        summary="every leaf joined to every spine, with bundles and oversubscription",
    ),
    Component(
        name="fat-tree", build=fat_tree.build, config=fat_tree.FatTreeConfig,
        summary="k-port switches in 2 or 3 tiers, full or with empty ports",
        reference="Al-Fares et al., SIGCOMM 2008, section 3",
    ),
    Component(
        name="rail", build=rail.build, config=rail.RailConfig,
        summary="rail-optimised servers of GPUs: NVSwitch inside, one leaf per rail, spines",
        reference="Wang et al., Rail-only, HOTI 2024, section 2",
    ),
    Component(name="ring", build=ring.build, config=ring.RingConfig, summary="a ring of switches, one host on each"),
]  # fmt: skip


@hookimpl
def wormhole_topologies() -> list[Component[Any]]:
    """The components of this distribution."""
    return COMPONENTS
