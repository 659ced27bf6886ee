"""The conformance kit over every workload of this distribution."""

from __future__ import annotations

from wormhole_workloads.plugin import wormhole_workloads

from wormhole_core.testing import WorkloadContract


class TestIncast(WorkloadContract):
    component = "incast"
    options = ({}, {"fan_in": 1, "receiver": 0, "stagger_ps": "1us"})


class TestPermutation(WorkloadContract):
    component = "permutation"
    options = ({}, {"rounds": 3, "gap_ps": "1us"}, {"shift": 1, "rounds": 2})


class TestAllToAll(WorkloadContract):
    component = "all-to-all"
    options = ({}, {"rounds": 2, "gap_ps": "1us"})


class TestRingAllReduce(WorkloadContract):
    component = "ring-all-reduce"
    options = ({}, {"iterations": 2, "gap_ps": "1us", "size_bytes": 1001}, {"stride": 2, "group_size": 2})


def test_nothing_is_left_out() -> None:
    covered = {contract.component for contract in WorkloadContract.__subclasses__() if contract.__module__ == __name__}
    assert covered == {component.name for component in wormhole_workloads()}
