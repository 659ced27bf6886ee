"""The Flow Conflict Graph of an episode: vertices flows, edges how many links two of them share.

A summary for people: it is drawn, printed and counted, never used as a key (`key.py` says why). A
remembered episode carries its `shape`: per flow the labels of its data ports, its size and line rate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

ROUNDS = 3


def shape_of(members: Sequence[Any], ports: Sequence[Any]) -> tuple[Any, ...]:
    """((labels of data ports, size_bytes, line_rate_bps) per flow); labels count in order of `ports`."""
    labels = {port: label for label, port in enumerate(ports)}
    return tuple(
        (tuple(labels[port] for port in m.plan.path), m.transfer.size_bytes, m.plan.info.line_rate_bps) for m in members
    )


def checked_shape(data: Any) -> tuple[Any, ...]:
    """A shape as it was stored; raises ValueError, TypeError or KeyError for anything else."""
    return tuple((tuple(int(label) for label in path), int(size), int(rate)) for path, size, rate in data)


@attrs.frozen
class ConflictGraph:
    """rate_bps: per flow its mean rate over the episode. edges: (i, j) with i < j -> links shared.
    name: a short text that is the same for graphs that look the same."""

    rate_bps: tuple[int, ...]
    edges: dict[tuple[int, int], int]
    name: str

    @property
    def flows(self) -> int:
        """Number of vertices."""
        return len(self.rate_bps)


def conflict_graph(shape: Sequence[Any], ends_ps: Iterable[tuple[int, int]]) -> ConflictGraph:
    """The graph of a remembered episode. ends_ps: (flow, time of its end counted from the start).

    Cost: for each link the pairs of flows on it."""
    ends = dict(ends_ps)
    users: dict[int, list[int]] = {}
    for flow, (path, *_) in enumerate(shape):
        for label in path:
            users.setdefault(label, []).append(flow)
    edges: dict[tuple[int, int], int] = {}
    for flows in users.values():
        for i, a in enumerate(flows):
            for b in flows[i + 1 :]:
                edges[a, b] = edges.get((a, b), 0) + 1
    rates = tuple(
        size * 8 * 10**12 // ends[flow] if ends.get(flow) else rate for flow, (_, size, rate) in enumerate(shape)
    )
    return ConflictGraph(rates, edges, _name(len(shape), edges))


def _name(count: int, edges: dict[tuple[int, int], int]) -> str:
    """Colour refinement over the weighted edges: equal for graphs that differ by numbering only."""
    colours = ["flow"] * count
    near: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for (a, b), weight in edges.items():
        near[a].append((b, weight))
        near[b].append((a, weight))
    for _ in range(ROUNDS):
        colours = [
            _short(f"{colours[i]}|{sorted((colours[j], weight) for j, weight in near[i])}") for i in range(count)
        ]
    return _short(str(sorted(colours)))


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()
