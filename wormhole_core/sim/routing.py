"""Shortest paths over the graph, worked out lazily and shared by hosts with the same neighbours.

Hosts never forward. Distances are kept per set of switches a destination hangs on, not per
destination, so that ten thousand hosts need as many tables as there are leaf switches in use.
"""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

from ..contracts.topology import Graph
from ..errors import ConfigError

Hop = tuple[int, int]
"""(neighbour node, link index): one way to leave a node."""


class Routes:
    """Next hops towards hosts."""

    def __init__(self, graph: Graph) -> None:
        self._kind = {node: data["kind"] for node, data in graph.nodes(data=True)}
        self._nvswitch = {node for node, data in graph.nodes(data=True) if data.get("nvswitch")}
        self._next: dict[int, list[Hop]] = {node: [] for node in graph}
        self._down: set[int] = set()
        for a, b, data in graph.edges(data=True):
            self._next[a].append((b, data["link_index"]))
            self._next[b].append((a, data["link_index"]))
        for hops in self._next.values():
            # Descending neighbour id, as the reference simulator's hash expects.
            hops.sort(key=lambda hop: (-hop[0], hop[1]))
        self._distances: dict[frozenset[int], dict[int, int]] = {}
        self._choices: dict[tuple[int, Any], tuple[Hop, ...]] = {}

    def take_down(self, link_index: int) -> None:
        """A link is gone: forget what was worked out."""
        self._down.add(link_index)
        self._distances.clear()
        self._choices.clear()

    def links_of(self, node: int) -> list[Hop]:
        """All ways to leave a node, links that are down included."""
        return self._next[node]

    def _up(self, node: int) -> list[Hop]:
        return [hop for hop in self._next[node] if hop[1] not in self._down]

    def _attachment(self, host: int) -> frozenset[int]:
        return frozenset(n for n, _ in self._up(host) if self._kind[n] == "switch")

    def _distance_to(self, attachment: frozenset[int]) -> dict[int, int]:
        """Switch -> hops to the nearest switch of the attachment."""
        known = self._distances.get(attachment)
        if known is None:
            known = dict.fromkeys(sorted(attachment), 0)
            frontier = deque(known)
            while frontier:
                node = frontier.popleft()
                for neighbour, _ in self._up(node):
                    if self._kind[neighbour] == "switch" and neighbour not in known:
                        known[neighbour] = known[node] + 1
                        frontier.append(neighbour)
            self._distances[attachment] = known
        return known

    def choices(self, node: int, dst: int) -> tuple[Hop, ...]:
        """Equal-cost ways to leave `node` towards host `dst`, in fixed order; empty: unreachable."""
        direct = tuple(hop for hop in self._up(node) if hop[0] == dst)
        if direct:
            return direct
        attachment = self._attachment(dst)
        key = (node, attachment)
        known = self._choices.get(key)
        if known is None:
            distance = self._distance_to(attachment)
            ways = [hop for hop in self._up(node) if hop[0] in distance]
            best = min((distance[hop[0]] for hop in ways), default=0)
            ways = [hop for hop in ways if distance[hop[0]] == best]
            if self._kind[node] == "switch" and ways and best >= distance.get(node, best + 1):
                ways = []
            # Inside a server the NVSwitch wins over a network path of equal length.
            inside = [hop for hop in ways if hop[0] in self._nvswitch]
            known = self._choices[key] = tuple(inside or ways)
        return known

    def first_path(self, src: int, dst: int) -> list[Hop]:
        """One shortest path as hops; raises ConfigError that names both hosts if there is none."""
        return self.walk(src, dst, lambda _node, _count: 0)

    def walk(self, src: int, dst: int, choose: Any) -> list[Hop]:
        """A shortest path, `choose(node, count)` deciding where there are several ways."""
        path: list[Hop] = []
        node = src
        while node != dst:
            ways = self.choices(node, dst)
            if not ways:
                raise ConfigError(
                    f"host {dst} cannot be reached from host {src} (no way on from node {node}; hosts do not forward): "
                    "add a link or change the flow"
                )
            hop = ways[0] if len(ways) == 1 else ways[choose(node, len(ways))]
            path.append(hop)
            node = hop[0]
        return path

    def pinned(self, nodes: tuple[int, ...], choose: Any) -> list[Hop]:
        """A path given as node ids; raises ConfigError where two of them are not linked."""
        path = []
        for a, b in itertools.pairwise(nodes):
            ways = [hop for hop in self._up(a) if hop[0] == b] if a in self._next else []
            if not ways:
                raise ConfigError(
                    f"pinned path {' '.join(map(str, nodes))}: there is no link from {a} to {b} (or it is down)"
                )
            path.append(ways[0] if len(ways) == 1 else ways[choose(a, len(ways))])
        return path
