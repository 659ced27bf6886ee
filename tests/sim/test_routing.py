"""Next hops: shortest, hosts never forward, NVSwitch first inside a server, failed links left out."""

from __future__ import annotations

import pytest

from wormhole_core import add_link, add_switch, new_graph
from wormhole_core.errors import ConfigError
from wormhole_core.sim.routing import Routes

G = 10**9


def link(graph, a, b):
    return add_link(graph, a, b, 100 * G, 10**6)


def server_pair():
    """Hosts 0, 1 and 2, 3 in two servers (NVSwitches 4 and 5), all on leaf 6."""
    graph = new_graph(4)
    inside = [add_switch(graph, nvswitch=True), add_switch(graph, nvswitch=True)]
    leaf = add_switch(graph)
    for host in range(4):
        link(graph, host, leaf)
        link(graph, host, inside[host // 2])
    return graph


def test_nvswitch_wins_inside_a_server():
    routes = Routes(server_pair())
    assert [n for n, _ in routes.first_path(0, 1)] == [4, 1]
    assert [n for n, _ in routes.first_path(3, 2)] == [5, 2]
    assert [n for n, _ in routes.first_path(0, 2)] == [6, 2]
    assert len(routes.choices(0, 1)) == 1


def test_without_the_nvswitch_the_network_carries_it():
    graph = server_pair()
    routes = Routes(graph)
    routes.take_down(graph.edges[0, 4, 1]["link_index"])
    assert [n for n, _ in routes.first_path(0, 1)] == [6, 1]


def test_rail_topology_prefers_the_nvswitch(kit):
    graph = kit.graph("rail", servers=2, gpus_per_server=4)
    routes = Routes(graph)
    for src, dst in ((0, 3), (4, 6)):
        (middle, _), _ = routes.first_path(src, dst)
        assert graph.nodes[middle]["nvswitch"]
    between = routes.first_path(0, 4)
    assert not any(graph.nodes[n].get("nvswitch") for n, _ in between)


def test_all_equal_ways_parallel_links_included():
    graph = new_graph(2)
    a, s1, s2, b = (add_switch(graph) for _ in range(4))
    link(graph, 0, a)
    link(graph, 1, b)
    for spine in (s1, s2):
        for _ in range(2):
            link(graph, a, spine)
            link(graph, spine, b)
    routes = Routes(graph)
    # Descending neighbour, then ascending link index.
    assert [n for n, _ in routes.choices(a, 1)] == [s2, s2, s1, s1]
    indices = [index for _, index in routes.choices(a, 1)]
    assert indices == [*sorted(indices[:2]), *sorted(indices[2:])]
    taken = indices[0]
    routes.take_down(taken)
    assert taken not in [index for _, index in routes.choices(a, 1)]
    assert len(routes.choices(a, 1)) == 3


def test_hosts_do_not_forward():
    graph = new_graph(3)
    left, right = add_switch(graph), add_switch(graph)
    link(graph, 0, left)
    link(graph, 1, left)
    link(graph, 1, right)  # host 1 is on both switches
    link(graph, 2, right)
    routes = Routes(graph)
    assert [n for n, _ in routes.first_path(0, 1)] == [left, 1]
    with pytest.raises(ConfigError, match=r"host 2 cannot be reached from host 0 .*hosts do not forward"):
        routes.first_path(0, 2)


def test_direct_link_between_hosts():
    graph = new_graph(2)
    link(graph, 0, 1)
    assert Routes(graph).first_path(0, 1) == [(1, 0)]


def test_shortest_wins():
    graph = new_graph(2)
    a, b, c = (add_switch(graph) for _ in range(3))
    for pair in ((0, a), (a, b), (b, c), (a, c), (c, 1)):
        link(graph, *pair)
    assert [n for n, _ in Routes(graph).first_path(0, 1)] == [a, c, 1]


def test_pinned_paths():
    graph = new_graph(2)
    a, b, c = (add_switch(graph) for _ in range(3))
    for pair in ((0, a), (a, b), (b, c), (a, c), (c, 1)):
        link(graph, *pair)
    routes = Routes(graph)
    assert [n for n, _ in routes.pinned((0, a, b, c, 1), lambda n, k: 0)] == [a, b, c, 1]
    with pytest.raises(ConfigError, match="no link from 2 to 1"):
        routes.pinned((0, a, 1), lambda n, k: 0)


def test_a_pinned_flow_takes_its_path(kit, model):
    graph = new_graph(2)
    a, b, c = (add_switch(graph) for _ in range(3))
    for pair in ((0, a), (a, b), (b, c), (a, c), (c, 1)):
        link(graph, *pair)
    run = kit.run(graph, [kit.flow(0, 0, 1, 5_000, path=(0, a, b, c, 1))], model=model)
    sent = {(p.node, p.peer): p.tx_frames for p in run.simulation.network.port_list if p.tx_frames}
    assert sent == {(0, a): 5, (a, b): 5, (b, c): 5, (c, 1): 5, (1, c): 5, (c, a): 5, (a, 0): 5}


def test_per_packet_routing_stays_on_one_nic(kit, model):
    """A queue pair belongs to one NIC; its packets spread over the links behind that one."""
    graph = new_graph(2)
    leaves = [add_switch(graph), add_switch(graph)]
    spines = [add_switch(graph), add_switch(graph)]
    for leaf in leaves:
        for host in (0, 1):
            link(graph, host, leaf)
        for spine in spines:
            link(graph, leaf, spine)
    run = kit.run(graph, [kit.flow(0, 0, 1, 40_000)], routing="spray", model=model)
    sent = [p.tx_frames for p in run.simulation.network.port_list if p.node == 0]
    assert sorted(sent) == [0, 40]
