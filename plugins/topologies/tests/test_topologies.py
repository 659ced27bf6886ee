"""What every topology promises, and the shape of each."""

from __future__ import annotations

import json
import time
from pathlib import Path

import networkx as nx
import pytest
from wormhole_topologies.plugin import COMPONENTS

from wormhole_core import check_graph, stream
from wormhole_core.errors import ConfigError

GBPS = 10**9
BY_NAME = {component.name: component for component in COMPONENTS}


def build(name, **options):
    component = BY_NAME[name]
    return component.build(component.config(**options), stream(1, "topology"))


CASES = [
    ("star", {}, 8),
    ("star", {"hosts": 2, "rate_bps": 400 * GBPS}, 2),
    ("star", {"hosts": 7}, 7),
    ("dumbbell", {}, 8),
    ("dumbbell", {"hosts_per_side": 1, "bottleneck_rate_bps": 10 * GBPS}, 2),
    ("dumbbell", {"hosts_per_side": 3, "bottleneck_rate_bps": 1000 * GBPS}, 6),
    ("leaf-spine", {}, 32),
    ("leaf-spine", {"leaves": 2, "spines": 3, "hosts_per_leaf": 2, "bundle": 2, "oversubscription": 2}, 4),
    ("leaf-spine", {"leaves": 1, "spines": 2, "hosts_per_leaf": 3}, 3),
    ("leaf-spine", {"leaves": 3, "spines": 2, "hosts_per_leaf": 3, "fabric_rate_bps": 400 * GBPS}, 9),
    ("fat-tree", {}, 16),
    ("fat-tree", {"k": 2}, 2),
    ("fat-tree", {"k": 4, "tiers": 2}, 8),
    ("fat-tree", {"k": 6}, 54),
    ("fat-tree", {"k": 8, "tiers": 2, "oversubscription": 4}, 32),
    ("fat-tree", {"k": 4, "oversubscription": 2}, 16),
    ("fat-tree", {"hosts": 17}, 17),
    ("fat-tree", {"k": 6, "hosts": 8}, 8),
    ("fat-tree", {"k": 6, "hosts": 3}, 3),
    ("fat-tree", {"k": 6, "tiers": 2, "hosts": 5}, 5),
    ("rail", {}, 32),
    ("rail", {"servers": 2, "gpus_per_server": 2, "spines": 2, "bundle": 2}, 4),
    ("rail", {"servers": 1, "gpus_per_server": 4}, 4),
    ("rail", {"servers": 1, "gpus_per_server": 4, "nvswitch": False}, 4),
    ("rail", {"servers": 3, "gpus_per_server": 4, "nvswitch": False, "oversubscription": 2}, 12),
    ("rail", {"servers": 5, "gpus_per_server": 1}, 5),
    ("ring", {}, 8),
    ("ring", {"hosts": 3}, 3),
    ("ring", {"hosts": 7, "ring_rate_bps": 400 * GBPS}, 7),
]
IDS = [f"{name}-{'-'.join(f'{k}={v}' for k, v in options.items()) or 'default'}" for name, options, _ in CASES]


def without_transit_hosts(graph, a, b):
    """The graph in which only a and b, of all hosts, may be part of a path."""
    return graph.subgraph(n for n, kind in graph.nodes(data="kind") if kind == "switch" or n in (a, b))


def paths_and_hops(graph, a, b):
    """Number of shortest paths from a to b (parallel links count), and their length."""
    part = without_transit_hosts(graph, a, b)
    distance = nx.single_source_shortest_path_length(part, a)
    ways = {a: 1}
    for node in sorted(distance, key=distance.get):
        if node != a:
            ways[node] = sum(
                ways[peer] * part.number_of_edges(peer, node)
                for peer in part[node]
                if distance[peer] == distance[node] - 1
            )
    return ways[b], distance[b]


@pytest.mark.parametrize(("name", "options", "hosts"), CASES, ids=IDS)
def test_promises(name, options, hosts):
    graph = build(name, **options)
    check_graph(graph, name)
    assert nx.is_connected(graph)
    assert graph.graph["hosts"] == tuple(range(hosts))
    assert all(isinstance(node, int) for node in graph)
    links = sorted(data for _, _, data in graph.edges(data="link_index"))
    assert links == list(range(graph.number_of_edges()))
    # Host links come first.
    touches = {data: min(a, b) < hosts for a, b, data in graph.edges(data="link_index")}
    assert sorted(touches.values(), reverse=True) == [touches[index] for index in links]


@pytest.mark.parametrize(("name", "options", "hosts"), CASES, ids=IDS)
def test_declared_diameter_and_paths(name, options, hosts):
    graph = build(name, **options)
    measured = [paths_and_hops(graph, a, b) for a in range(hosts) for b in range(hosts) if a < b]
    diameter = max(hops for _, hops in measured)
    assert graph.graph["diameter_hops"] == diameter
    assert {ways for ways, hops in measured if hops == diameter} == {graph.graph["equal_paths"]}


@pytest.mark.parametrize(("name", "options", "hosts"), CASES, ids=IDS)
def test_declared_bisection(name, options, hosts):
    graph = build(name, **options)
    if "bisection_bps" not in graph.graph:
        odd = options.get("leaves", 4) % 2 or options.get("servers", 4) % 2
        assert odd or (name == "fat-tree" and ("hosts" in options or options["k"] == 2))
        return
    flow = nx.DiGraph()
    for a, b, rate in graph.edges(data="rate_bps"):
        for x, y in ((a, b), (b, a)):
            if x >= hosts or x < hosts // 2:  # hosts only send or only receive: none forwards
                if y >= hosts or (y >= hosts // 2 and y < hosts):
                    old = flow.get_edge_data(x, y, {"capacity": 0})["capacity"]
                    flow.add_edge(x, y, capacity=old + rate)
    for host in range(hosts):
        flow.add_edge(*(("from", host) if host < hosts // 2 else (host, "to")))
    assert nx.maximum_flow_value(flow, "from", "to") == graph.graph["bisection_bps"]


@pytest.mark.parametrize(("name", "options", "hosts"), CASES, ids=IDS)
def test_same_options_same_graph(name, options, hosts):
    one, two = build(name, **options), build(name, **options)
    assert list(one.nodes(data=True)) == list(two.nodes(data=True))
    assert list(one.edges(keys=True, data=True)) == list(two.edges(keys=True, data=True))
    assert one.graph == two.graph


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("star", {"hosts": 1024}),
        ("dumbbell", {"hosts_per_side": 512}),
        ("leaf-spine", {"leaves": 32, "hosts_per_leaf": 32, "spines": 16}),
        ("fat-tree", {"hosts": 1024}),
        ("fat-tree", {"k": 16}),
        ("fat-tree", {"hosts": 1024, "tiers": 2}),
        ("rail", {"servers": 128}),
        ("ring", {"hosts": 1024}),
    ],
)
def test_a_thousand_hosts(name, options):
    graph = build(name, **options)
    assert len(graph.graph["hosts"]) == 1024
    assert nx.is_connected(graph)


def test_ten_thousand_hosts_build_in_seconds():
    begin = time.process_time()
    graph = build("fat-tree", hosts=10_000)
    assert time.process_time() - begin < 20  # a fraction of a second; minutes if adding a link were not O(1)
    assert len(graph.graph["hosts"]) == 10_000
    assert graph.graph["notes"][1] == "1664 of 11664 host ports are empty, those at the end"
    assert graph.number_of_edges() == 10_000 + 2 * 11_664


def test_fat_tree_switches_use_their_ports_and_no_more():
    for options in ({"k": 6}, {"k": 6, "tiers": 2}):
        graph = build("fat-tree", **options)
        assert {graph.degree(node) for node, kind in graph.nodes(data="kind") if kind == "switch"} == {6}
    graph = build("fat-tree", k=8, oversubscription=4)
    degrees = {tier: {graph.degree(n) for n, t in graph.nodes(data="tier") if t == tier} for tier in (1, 2, 3)}
    assert degrees == {1: {4 + 1}, 2: {8}, 3: {8}}


def test_oversubscription_and_fabric_rate():
    graph = build("leaf-spine", leaves=2, spines=2, hosts_per_leaf=4, bundle=2, oversubscription=4)
    assert {data["rate_bps"] for a, _, data in graph.edges(data=True) if a >= 8} == {25 * GBPS}
    assert graph.number_of_edges(8, 10) == 2
    assert graph.graph["notes"] == ["fabric links of 25 Gbps, oversubscription 4"]
    graph = build("leaf-spine", leaves=2, spines=2, hosts_per_leaf=4, fabric_rate_bps=400 * GBPS)
    assert graph.graph["notes"] == ["fabric links of 400 Gbps, oversubscription 0.5"]


def test_rail_places_each_gpu_on_its_rail_and_server():
    graph = build("rail", servers=3, gpus_per_server=4, spines=2)
    assert [graph.nodes[host]["server"] for host in range(12)] == [0] * 4 + [1] * 4 + [2] * 4
    assert [graph.nodes[node].get("nvswitch") for node in range(12, 21)] == [True] * 3 + [None] * 6
    for host in range(12):
        assert list(graph[host]) == [12 + host // 4, 15 + host % 4]
    assert graph.edges[0, 12, 0]["rate_bps"] == 2400 * GBPS
    assert graph.edges[0, 15, 1]["rate_bps"] == 100 * GBPS
    bare = build("rail", servers=3, gpus_per_server=4, spines=2, nvswitch=False)
    assert not any(bare.nodes[node].get("nvswitch") for node in bare)
    assert [bare.degree(host) for host in range(12)] == [1] * 12


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("star", {"hosts": 1}, "topology 'star': a topology needs at least 2 hosts"),
        ("star", {"hosts": 0}, "hosts must be greater than 0"),
        ("star", {"delay_ps": 0}, "delay_ps must be greater than 0"),
        ("ring", {"hosts": 2}, "hosts = 2 cannot be built; a ring takes 3 or more"),
        ("fat-tree", {"k": 4, "hosts": 17}, "with k = 4 and 3 tiers, which take 2 to 16 hosts; k = 6 takes up to 54"),
        ("fat-tree", {"hosts": 1}, "which take 2 to 2 hosts; ask for more"),
        ("fat-tree", {"k": 5}, "k must be an even number of ports, at least 2, got 5"),
        ("fat-tree", {"tiers": 4}, "tiers must be 2 or 3, got 4"),
        (
            "fat-tree",
            {"k": 12, "oversubscription": 4},
            "must divide k/2 = 6, got 4; with k = 12 these exist: 1, 2, 3, 6",
        ),
        ("leaf-spine", {"fabric_rate_bps": 100 * GBPS, "oversubscription": 3}, "means an oversubscription of 2, not 3"),
        ("leaf-spine", {"host_rate_bps": 8, "oversubscription": 1e6}, "leaves links of 0 bps"),
        ("rail", {"servers": 1, "gpus_per_server": 1}, "topology 'rail': a topology needs at least 2 hosts"),
    ],
)
def test_what_cannot_be_built_is_refused(name, options, message):
    # A configuration class refuses with ValueError; the core turns that into a ConfigError of its own.
    with pytest.raises((ConfigError, ValueError)) as error:
        build(name, **options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


SHARED = Path(__file__).resolve().parents[4] / "shared"


@pytest.mark.parametrize(
    ("scenario", "name", "options"),
    [
        ("s2_incast16_1MB", "star", {"hosts": 17}),
        ("s7_leafspine16_ring_10MB", "leaf-spine", {"spines": 2, "hosts_per_leaf": 4, "oversubscription": 2.0}),
    ],
)
def test_same_as_the_measured_topologies(scenario, name, options):
    path = SHARED / "reference" / scenario / "topology.json"
    if not path.exists():
        pytest.skip("the reference data does not lie beside the checkout")
    wanted = [
        (link["a"], link["b"], link["gbps"] * GBPS, link["delay_ns"] * 1000)
        for link in json.loads(path.read_text())["links"]
    ]
    links = sorted(build(name, **options).edges(data=True), key=lambda edge: edge[2]["link_index"])
    assert [(a, b, data["rate_bps"], data["delay_ps"]) for a, b, data in links] == wanted


def test_rail_equals_a_cluster_file_of_its_kind():
    path = SHARED / "inputs/simai_topo/Spectrum-X_128g_8gps_100Gbps_A100"
    if not path.exists():
        pytest.skip("the sample inputs do not lie beside the checkout")
    graph = build("rail", servers=16, spines=64, fabric_rate_bps=400 * GBPS)
    words = path.read_text().split()
    nodes, links = int(words[0]), int(words[4])
    rows = [words[i : i + 5] for i in range(len(words) - 5 * links, len(words), 5)]
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (nodes, links)
    ours = sorted(graph.edges(data=True), key=lambda edge: edge[2]["link_index"])
    assert [(a, b, f"{data['rate_bps'] // GBPS}Gbps") for a, b, data in ours] == [
        (int(a), int(b), r) for a, b, r, *_ in rows
    ]
    assert {data["delay_ps"] for *_, data in ours} == {25_000, 500_000}
