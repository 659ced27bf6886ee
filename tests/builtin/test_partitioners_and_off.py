"""Partitioners only add resources; the policy `off` never skips."""

from __future__ import annotations

import pytest

from wormhole_core import PartitionInfo, Sample, stream
from wormhole_core.builtin.forward_off import OFF
from wormhole_core.builtin.partition_ports import PORTS
from wormhole_core.builtin.partition_switches import SWITCHES
from wormhole_core.builtin.partition_whole import WHOLE

# Egress ports of three flows: the first two meet at node 8 on different links, the third is elsewhere.
FLOWS = [((0, 0), (8, 1)), ((1, 2), (8, 3)), ((4, 4), (9, 5))]


def groups(component) -> list[set[int]]:
    """Connected components over ports and extra resources, as the core takes them."""
    partitioner = component.build(component.config())
    found: list[tuple[set[int], set]] = []
    for index, ports in enumerate(FLOWS):
        mine, uses = {index}, {("port", p) for p in ports} | set(partitioner.resources(ports))
        rest = []
        for flows, resources in found:
            if resources & uses:
                mine, uses = mine | flows, uses | resources
            else:
                rest.append((flows, resources))
        found = [*rest, (mine, uses)]
    return sorted((flows for flows, _ in found), key=min)


@pytest.mark.parametrize(
    ("component", "expected"),
    [(PORTS, [{0}, {1}, {2}]), (SWITCHES, [{0, 1}, {2}]), (WHOLE, [{0, 1, 2}])],
)
def test_groups(component, expected):
    assert groups(component) == expected


def test_resources_do_not_depend_on_order():
    partitioner = SWITCHES.build(SWITCHES.config())
    assert list(partitioner.resources(FLOWS[0])) == list(partitioner.resources(FLOWS[0][::-1]))


def test_off_never_skips():
    info = PartitionInfo(
        flows=1,
        base_rtt_ps=8_000_000,
        settling_ps=None,
        period_ps=None,
        declared=False,
        flow_ports=((0,),),
        port_rate_bps=(10**11,),
        payload_bytes=1000,
        line_rate_bps=(10**11,),
        exchangeable=(0,),
    )
    policy = OFF.build(OFF.config(), info, stream(1, "policy"))
    for step in range(100):
        sample = Sample(
            now_ps=step * 10**9,
            acked_bytes=(step * 12_500_000,),
            rates_bps=(10**11,),
            queue_bytes=(0,),
            busy_ps=(step * 10**9,),
            disturbed=False,
            remaining_bytes=(10**12,),
            horizon_ps=None,
        )
        assert policy.observe(sample) is None
    assert policy.interval_ps() > 10**18 and OFF.traits["never_skips"]
