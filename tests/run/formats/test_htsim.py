"""htsim files: counts and triggers checked, the derived sizes of a fat tree, and its wiring."""

from __future__ import annotations

import pytest

from wormhole_core.contracts.topology import check_graph
from wormhole_core.errors import InputError
from wormhole_core.run.formats import distances_from, facts, read_cm, read_flows, read_topology

MATRIX = """Nodes 4
Connections 3
Triggers 1
Failures 0
# comment
0->1 id 1 start 0 size 1000000 send_done_trigger 1
1->2\tid 2  trigger 1 size 3000000000
2->3 size 500000 start 7 prio 3
trigger id 1 oneshot
"""
TOPO = """Nodes 16
Tiers 2      # two
Podsize 16
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 4
Oversubscribed 1
Downlink_Latency_ns 1000
Switch_Latency_ns 500
Tier 1
Downlink_speed_Gbps 100
Radix_Down 8
Downlink_Latency_ns 2000
Bundle 2
"""


def test_matrix(write):
    matrix = read_cm(write("a.cm", MATRIX))
    assert (matrix.nodes, matrix.declared["connections"], matrix.triggers) == (4, 3, {1: 9})
    assert [(c.src, c.dst, c.size_bytes, c.start, c.trigger, c.send_done_trigger) for c in matrix.connections] == [
        (0, 1, 1_000_000, 0, None, 1),
        (1, 2, 3_000_000_000, None, 1, None),
        (2, 3, 500_000, 7, None, None),
    ]
    with pytest.raises(InputError, match="can be validated but not run yet"):
        read_flows(matrix.path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Connections 3", "Connections 4", r":2: the file declares 4 connections but has 3"),
        ("Triggers 1", "Triggers 2", r":3: the file declares 2 triggers but has 1"),
        ("_trigger 1", "_trigger 2", r":6: trigger 2 is used but not defined"),
        ("0->1", "0->4", r":6: node 4 does not exist, expected 0 to 3"),
        ("0->1", "1->1", r":6: a connection goes from node 1 to itself"),
        ("size 1000000", "sise 1000000", r":6: unknown word 'sise'; did you mean 'size'"),
        ("size 1000000", "", r":6: the connection 0->1 has no size"),
        ("start 7", "prio 7", r":8: the connection 2->3 has neither start nor trigger"),
        ("oneshot", "twice", r":9: expected 'trigger id N oneshot"),
        ("Nodes 4", "# Nodes", r":6: no line 'Nodes' before the first connection"),
    ],
)
def test_faults_of_matrices(write, old, new, message):
    with pytest.raises(InputError, match=message):
        read_cm(write("a.cm", MATRIX.replace(old, new, 1)))


def test_two_tier_topology(write):
    topology = read_topology(write("a.topo", TOPO))
    check_graph(topology.graph, "a.topo")
    assert topology.layout["spines"] == 2
    assert topology.graph.number_of_edges() == 16 + 4 * 4
    assert topology.graph.number_of_edges(16, 20) == 2
    edge = topology.graph.get_edge_data(0, 16)[0]
    assert (edge["rate_bps"], edge["delay_ps"]) == (10**11, 1_500_000)
    assert facts(topology.path)["tiers_cfg"]["1"]["bundle"] == 2


def test_three_tiers_reach_everybody(shared):
    topology = read_topology(shared / "inputs/htsim/test.topo")
    check_graph(topology.graph, "test.topo")
    distances = distances_from(topology.graph, 0)
    assert [distances[host] for host in topology.hosts] == [0, 2, 4, 4, 6, 6, 6, 6]
    # Every port of every switch is wired: radix down plus radix up.
    tiers = {tier: set() for tier in (1, 2, 3)}
    for node, data in topology.graph.nodes(data=True):
        if data["kind"] == "switch":
            tiers[data["tier"]].add(topology.graph.degree(node))
    assert tiers == {1: {4}, 2: {6}, 3: {4}}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Radix_Down 4", "Radix_Down 5", r"Nodes / Radix_Down of tier 0 is 16 / 5"),
        ("Radix_Down 8", "Radix_Down 4", r"Radix_Down of tier 1 is 4 but 8 links come from below"),
        ("Oversubscribed 1", "Oversubscribed 2", r"Oversubscribed of tier 0 is 2 but the rates give 1"),
        ("Podsize 16", "Podsize 8", r"Podsize is 8 with 2 tiers|ToRs / pods"),
        ("Downlink_Latency_ns 1000", "Downlink_Latency_ns 0", r":9: Downlink_Latency_ns is 0"),
        ("Radix_Up 4", "Radix_Upp 4", r":7: unknown key 'Radix_Upp'; did you mean 'radix_up'"),
        ("Radix_Up 4", "Radix_Down 4", r":7: Radix_Down is given twice"),
        ("Radix_Up 4\n", "", r"key radix_up is missing in tier 0"),
        ("Tier 1", "Tier 3", r":11: Tier 3 does not follow"),
        ("Tiers 2", "Tiers 4", r"Tiers is 4 and 2 are described"),
        ("Nodes 16", "Nodes 160000000", r"Nodes is 160000000, expected at most"),
    ],
)
def test_faults_of_topologies(write, old, new, message):
    with pytest.raises(InputError, match=message):
        read_topology(write("a.topo", TOPO.replace(old, new, 1)))
