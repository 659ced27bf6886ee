"""The scenarios of the self-test, built from their rules: small networks at 100 Gbps with 1 us links.

Names say what happens: `s2_incast4_1MB` is four hosts sending 1 MB each to a fifth. Times of starts
are picoseconds, sizes payload bytes; hosts are numbered from 0 and switches follow.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import attrs

from ..contracts.topology import Graph, add_link, add_switch, new_graph
from ..units import PS_PER_S

RATE_BPS = 100_000_000_000
DELAY_PS = PS_PER_S // 10**6
PAUSE_PS = 50 * DELAY_PS
SIZES = {"KB": 10**3, "MB": 10**6}


@attrs.frozen(kw_only=True)
class ScenarioFlow:
    """One flow, as `run.workload_flows` reads it."""

    id: int
    src: int
    dst: int
    size_bytes: int
    start_ps: int = 0
    deps: tuple[int, ...] = ()
    sport: int | None = None
    dport: int = 100
    traffic_class: int = 3
    path: tuple[int, ...] | None = None
    ack_path: tuple[int, ...] | None = None


Pairs = list[tuple[int, int]]


def star(hosts: int) -> Graph:
    """All hosts on one switch."""
    graph = new_graph(hosts)
    switch = add_switch(graph)
    for host in range(hosts):
        add_link(graph, host, switch, RATE_BPS, DELAY_PS)
    return graph


def leaf_spine(leaves: int, per_leaf: int, spines: int) -> Graph:
    """Every leaf joined to every spine."""
    graph = new_graph(leaves * per_leaf)
    leaf_ids = [add_switch(graph) for _ in range(leaves)]
    spine_ids = [add_switch(graph, tier=2) for _ in range(spines)]
    for host in range(leaves * per_leaf):
        add_link(graph, host, leaf_ids[host // per_leaf], RATE_BPS, DELAY_PS)
    for leaf in leaf_ids:
        for spine in spine_ids:
            add_link(graph, leaf, spine, RATE_BPS, DELAY_PS)
    return graph


def ring_pairs(hosts: int) -> Pairs:
    """Each host to the next."""
    return [(host, (host + 1) % hosts) for host in range(hosts)]


def all_pairs(hosts: int) -> Pairs:
    """Each host to every other, by destination."""
    return [(src, dst) for src in range(hosts) for dst in range(hosts) if src != dst]


def rotated_pairs(hosts: int) -> Pairs:
    """Each host to every other, beginning with the next one."""
    return [(src, (src + k) % hosts) for src in range(hosts) for k in range(1, hosts)]


def plain(pairs: Pairs, size_bytes: int, stagger_ps: int = 0) -> list[ScenarioFlow]:
    """Independent flows; flow i starts i x stagger_ps after the first."""
    return [
        ScenarioFlow(id=i, src=src, dst=dst, size_bytes=size_bytes, start_ps=i * stagger_ps)
        for i, (src, dst) in enumerate(pairs)
    ]


def rounds(
    pairs: Pairs, count: int, size_bytes: int, pause_ps: int, waits: Callable[[int, int, int], bool]
) -> list[ScenarioFlow]:
    """The same pairs `count` times. A flow waits pause_ps after the flows of the round before it for
    which waits(host, src, dst) holds, host being its own source."""
    flows = []
    for step in range(count):
        base = step * len(pairs)
        for i, (host, dst) in enumerate(pairs):
            deps = tuple(base - len(pairs) + k for k, (a, b) in enumerate(pairs) if waits(host, a, b)) if step else ()
            flows.append(
                ScenarioFlow(
                    id=base + i, src=host, dst=dst, size_bytes=size_bytes, start_ps=pause_ps if step else 0, deps=deps
                )
            )
    return flows


def involves(host: int, src: int, dst: int) -> bool:
    """The host sent or received it."""
    return host in (src, dst)


def scenario(name: str) -> tuple[Graph, list[ScenarioFlow]]:
    """Network and flows of a name; KeyError if there is no such scenario."""
    found = re.fullmatch(r"([a-z]\d)_([a-z]+)(\d*)(?:_ring)?_(\d+)([KM]B)(?:_x(\d+))?", name)
    if not found:
        raise KeyError(name)
    _, kind, number, size, unit, count = found.groups()
    hosts, size_bytes = int(number or 0), int(size) * SIZES[unit]
    if kind == "single":
        return star(2), plain([(0, 1)], size_bytes)
    if kind == "incast":
        return star(hosts + 1), plain([(i, hosts) for i in range(hosts)], size_bytes)
    if kind == "staggered":
        return star(hosts + 1), plain([(i, hosts) for i in range(hosts)], size_bytes, stagger_ps=4 * PAUSE_PS)
    if kind == "ring":
        return star(hosts), plain(ring_pairs(hosts), size_bytes)
    if kind == "alltoall" and count is None:
        return star(hosts), plain(all_pairs(hosts), size_bytes)
    if kind == "alltoall":
        return star(hosts), rounds(rotated_pairs(hosts), int(count), size_bytes, PAUSE_PS, involves)
    if kind == "ringallreduce":
        return star(hosts), rounds(ring_pairs(hosts), 2 * (hosts - 1), size_bytes // hosts, 0, involves)
    if kind == "leafspine":
        return leaf_spine(hosts // 4, 4, 2), plain(ring_pairs(hosts), size_bytes)
    raise KeyError(name)
