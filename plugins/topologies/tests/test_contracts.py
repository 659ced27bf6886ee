"""The conformance kit over every topology of this distribution."""

from __future__ import annotations

from wormhole_topologies.plugin import wormhole_topologies

from wormhole_core.testing import TopologyContract


class TestStar(TopologyContract):
    component = "star"


class TestDumbbell(TopologyContract):
    component = "dumbbell"


class TestLeafSpine(TopologyContract):
    component = "leaf-spine"
    options = ({}, {"leaves": 3, "spines": 2, "hosts_per_leaf": 4, "bundle": 2, "oversubscription": 2})


class TestFatTree(TopologyContract):
    component = "fat-tree"
    options = ({}, {"tiers": 2}, {"k": 4, "oversubscription": 2})


class TestRail(TopologyContract):
    component = "rail"
    options = ({}, {"servers": 3, "gpus_per_server": 4, "nvswitch": False})


class TestRing(TopologyContract):
    component = "ring"
    options = ({}, {"hosts": 5})


def test_nothing_is_left_out() -> None:
    covered = {contract.component for contract in TopologyContract.__subclasses__() if contract.__module__ == __name__}
    assert covered == {component.name for component in wormhole_topologies()}
