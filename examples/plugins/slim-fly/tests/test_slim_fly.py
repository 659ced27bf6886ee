"""The graph has the properties the paper proves."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
from wormhole_example_slim_fly.slim_fly import SlimFlyConfig, build, generator_sets

from wormhole_core import stream
from wormhole_core.errors import ConfigError


def routers(q: int, **options) -> nx.Graph:
    graph = build(SlimFlyConfig(order=q, **options), stream(1))
    return nx.Graph(graph.subgraph(n for n, kind in graph.nodes(data="kind") if kind == "switch"))


@pytest.mark.parametrize(("q", "degree"), [(3, 5), (5, 7), (7, 11), (11, 17), (13, 19)])
def test_size_degree_and_diameter(q, degree):
    graph = routers(q, hosts_per_router=1)
    assert graph.number_of_nodes() == 2 * q * q
    assert set(dict(graph.degree).values()) == {degree}
    assert nx.diameter(graph) == 2


def test_order_five_is_the_hoffman_singleton_graph():
    # The only graph in which 50 nodes have 7 neighbours each, neighbours share none and others share one.
    graph = routers(5)
    for a, b in combinations(graph, 2):
        assert len(list(nx.common_neighbors(graph, a, b))) == (0 if graph.has_edge(a, b) else 1)


def test_generator_sets_are_symmetric():
    for q in (3, 5, 7, 11, 13, 17, 19, 23):
        for members in generator_sets(q):
            assert members == {(-x) % q for x in members}


def test_hosts_are_balanced_by_default():
    graph = build(SlimFlyConfig(), stream(1))
    assert len(graph.graph["hosts"]) == 50 * 4
    assert graph.number_of_edges() == 50 * 4 + 50 * 7 // 2


@pytest.mark.parametrize("order", [1, 2, 4, 9, 15, 67])
def test_other_orders_are_refused(order):
    with pytest.raises(ConfigError, match=r"order must be an odd prime: 3, 5, 7, 11, 13, 17, \.\.\., 61; got"):
        build(SlimFlyConfig(order=order), stream(1))
