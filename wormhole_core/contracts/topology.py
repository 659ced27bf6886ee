"""Topologies: `Component.build(config, rng: Stream) -> networkx.MultiGraph`.

Node attributes: `kind` ("host" | "switch"); on switches optionally `buffer_bytes` (else
`network.buffer_bytes`), `nvswitch` (bool: preferred between hosts of one server) and `tier` (int);
on hosts optionally `server` (int).
Edge attributes: `rate_bps`, `delay_ps` (int > 0), `loss` (probability per frame, default 0) and
`link_index` (explicit, unique, 0-based: port numbers, ECMP and the tie rule come from it).
Graph attributes: `hosts` (tuple of node ids in rank order), optionally `ports_of_rank` and `notes`
(list of lines saying what was understood or ignored); `links` belongs to `add_link` (its next
index). Parallel edges are separate links.
Node ids are integers. Optional declared properties, checked by the kit: graph attributes
`bisection_bps` (largest flow from the first to the second half of the hosts), `diameter_hops` (links
between the hosts farthest apart), `equal_paths` (shortest paths between any two hosts that far apart).
"""

from __future__ import annotations

from typing import TypeAlias

import networkx as nx

from ..errors import ConfigError

Graph: TypeAlias = nx.MultiGraph
MAX_NODES = 2_000_000
MAX_LINKS = 8_000_000
"""More would fill the memory of any machine this is likely to run on before it is refused by it."""


def new_graph(hosts: int) -> Graph:
    """An empty graph with hosts 0..hosts-1 in rank order. Raises ConfigError beyond `MAX_NODES`."""
    _refuse_more(hosts, MAX_NODES, "hosts")
    graph = nx.MultiGraph(hosts=tuple(range(hosts)))
    graph.add_nodes_from(range(hosts), kind="host")
    return graph


def add_switch(graph: Graph, tier: int = 1, **attributes: object) -> int:
    """Add a switch with the next free id; returns the id. Raises ConfigError beyond `MAX_NODES`."""
    node: int = graph.number_of_nodes()
    _refuse_more(node + 1, MAX_NODES, "hosts and switches")
    graph.add_node(node, kind="switch", tier=tier, **attributes)
    return node


def add_link(graph: Graph, a: int, b: int, rate_bps: int, delay_ps: int, loss: float = 0.0) -> int:
    """Add a full-duplex link with the next link index; returns the index. Raises ConfigError beyond
    `MAX_LINKS`."""
    # Counting edges costs time in proportion to the graph: 10,000 hosts would take minutes.
    known = graph.graph.get("links")
    index: int = graph.number_of_edges() if known is None else known
    _refuse_more(index + 1, MAX_LINKS, "links")
    graph.graph["links"] = index + 1
    graph.add_edge(a, b, key=index, rate_bps=rate_bps, delay_ps=delay_ps, loss=loss, link_index=index)
    return index


def _refuse_more(count: int, most: int, what: str) -> None:
    if count > most:
        raise ConfigError(f"a topology of {count} {what} or more is too large, at most {most} are simulated; reduce it")


def check_graph(graph: Graph, owner: str) -> None:
    """Raise ConfigError unless the graph keeps the promises above; `owner` names its maker."""
    hosts = graph.graph.get("hosts")
    if not hosts or len(hosts) < 2:
        raise ConfigError(f"{owner}: a topology needs at least 2 hosts, got {len(hosts or ())}")
    kinds = {node: data.get("kind") for node, data in graph.nodes(data=True)}
    for node, kind in kinds.items():
        if kind not in ("host", "switch"):
            raise ConfigError(f"{owner}: node {node!r} has kind {kind!r}, expected 'host' or 'switch'")
    if sorted(hosts, key=repr) != sorted((n for n, k in kinds.items() if k == "host"), key=repr):
        raise ConfigError(f"{owner}: graph attribute 'hosts' must list each host once")
    seen: set[int] = set()
    for a, b, data in graph.edges(data=True):
        where = f"{owner}: link {a}-{b}"
        if a == b:
            raise ConfigError(f"{where} connects a node to itself")
        for name in ("rate_bps", "delay_ps"):
            value = data.get(name)
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise ConfigError(f"{where}: {name} must be a whole number greater than 0, got {value!r}")
        loss = data.get("loss", 0.0)
        if not 0 <= loss < 1:
            raise ConfigError(f"{where}: loss must be at least 0 and less than 1, got {loss!r}")
        index = data.get("link_index")
        if not isinstance(index, int) or index in seen:
            raise ConfigError(f"{where}: link_index must be a unique whole number, got {index!r}")
        seen.add(index)
    lonely = [h for h in hosts if graph.degree(h) == 0]
    if lonely:
        raise ConfigError(f"{owner}: host {lonely[0]} has no link; join it to a switch, or leave it out")
