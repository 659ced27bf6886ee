"""Several paths: hashing and spraying on a full fat tree, parallel links, no polarisation across tiers."""

from __future__ import annotations

from collections import Counter

import pytest

from wormhole_core import FlowKey, add_link, add_switch, new_graph

SIZE = 2_000_000


@pytest.fixture(scope="module")
def permutation(kit):
    """A permutation of 16 hosts on a full three-tier fat tree, 100 Gbps, 4 KiB frames."""

    def run(routing, size_bytes=SIZE, **network):
        flows = [kit.flow(n, n, (n + 4) % 16, size_bytes) for n in range(16)]
        graph = kit.graph("fat-tree", k=4, tiers=3, delay_ps=500_000)
        return kit.run(graph, flows, routing=routing, network={"payload_bytes": 4096, **network})

    return run


def test_spraying_uses_the_full_bisection(permutation):
    spray, ecmp = permutation("spray"), permutation("ecmp")
    alone_ps = spray.records[0].ideal_fct_ps
    assert 160_000_000 < alone_ps <= min(spray.fct.values())
    assert spray.worst_ps <= 210_000_000
    assert ecmp.worst_ps > 1.5 * spray.worst_ps  # two flows on one link
    for run in (spray, ecmp):
        assert run.simulation.counters.retransmitted_bytes == 0
        assert run.simulation.counters.drops == 0


def test_reliability_is_derived_from_the_routing(kit, permutation):
    """Go-back-N would take each overtaken packet for a loss; a small window some of them."""
    flows = [kit.flow(0, 0, 1, 1_000)]
    chosen = {
        routing: kit.make(kit.star(2), flows, routing=routing).simulation.network.settings.selective
        for routing in ("ecmp", "spray", "flowlet")
    }
    assert chosen == {"ecmp": False, "spray": True, "flowlet": True}
    derived = kit.make(kit.star(2), flows, routing="spray").simulation.derived()
    assert derived["reliability"].startswith("selective-repeat")
    assert permutation("spray", 500_000, reorder_window_packets=3).simulation.counters.retransmitted_bytes > 0
    assert permutation("spray", 500_000, reliability="go-back-n").worst_ps > 500_000_000


def test_spraying_recovers_from_losses(kit):
    graph = kit.graph("leaf-spine", leaves=2, spines=4, hosts_per_leaf=4)
    for _, _, data in graph.edges(data=True):
        data["loss"] = 0.002
    flows = [kit.flow(n, n, n + 4, 1_000_000) for n in range(4)]
    run = kit.run(graph, flows, routing="spray")
    assert len(run.records) == 4
    drops = run.simulation.counters.drops
    assert 0 < run.simulation.counters.retransmitted_bytes < 40 * drops * 1_000


def test_all_parallel_links_are_used(kit):
    graph = new_graph(2)
    a, b = add_switch(graph), add_switch(graph)
    add_link(graph, 0, a, 400 * 10**9, 10**6)
    for _ in range(4):
        add_link(graph, a, b, 10**11, 10**6)
    add_link(graph, b, 1, 400 * 10**9, 10**6)
    run = kit.run(graph, [kit.flow(n, 0, 1, 1_000) for n in range(200)])
    carried = Counter(
        {p.link_index: p.tx_frames for p in run.simulation.network.port_list if (p.node, p.peer) == (a, b)}
    )
    assert sorted(carried) == [1, 2, 3, 4]
    assert all(30 <= n <= 70 for n in carried.values()), carried


def test_ecmp_is_not_polarised(kit):
    """Switches of one tier hash independently of those below: flows that chose one uplink spread again."""
    graph = kit.graph("fat-tree", k=8, tiers=3)
    run = kit.make(graph, [kit.flow(0, 0, 127, 1_000)])
    network = run.simulation.network
    paths: Counter[tuple[int, int]] = Counter()
    for sport in range(1_600):
        key = FlowKey(flow_index=sport, src=0, dst=127, sport=sport, dport=100)
        nodes = [hop[0] for hop in network.hops_for(key, None, 0, 0)]
        paths[nodes[1], nodes[2]] += 1
    assert len(paths) == 16
    assert all(60 <= n <= 150 for n in paths.values()), paths
