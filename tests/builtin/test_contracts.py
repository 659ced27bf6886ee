"""The conformance kit over everything that ships inside the core."""

from __future__ import annotations

import pytest

from wormhole_core.builtin import plugin
from wormhole_core.testing import FastForwardContract, MemoBackendContract, PartitionerContract, RoutingContract


class TestEcmp(RoutingContract):
    component = "ecmp"
    options = ({}, {"salt": 7})


class TestFlowlet(RoutingContract):
    component = "flowlet"


class TestSpray(RoutingContract):
    component = "spray"
    options = ({}, {"order": "random"})


class TestPorts(PartitionerContract):
    component = "ports"


class TestSwitches(PartitionerContract):
    component = "switches"


class TestWhole(PartitionerContract):
    component = "whole"


class TestMemory(MemoBackendContract):
    component = "memory"


class TestSqlite(MemoBackendContract):
    component = "sqlite"
    options = ({}, {"check": False})


class TestOff(FastForwardContract):
    component = "off"


class TestSettled(FastForwardContract):
    component = "settled"


class TestRateWindow(FastForwardContract):
    component = "rate-window"


@pytest.mark.parametrize(
    ("hook", "contract"),
    [
        ("wormhole_routings", RoutingContract),
        ("wormhole_partitioners", PartitionerContract),
        ("wormhole_memo_backends", MemoBackendContract),
        ("wormhole_fast_forward_policies", FastForwardContract),
    ],
)
def test_nothing_is_left_out(hook, contract) -> None:
    covered = {test.component for test in contract.__subclasses__() if test.__module__ == __name__}
    assert covered == {component.name for component in getattr(plugin, hook)()}
