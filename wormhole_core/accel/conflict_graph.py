"""The Flow Conflict Graph of an episode: vertices flows, edges how many links two of them share.

A summary for people: it is drawn, printed and counted, never used as a key (`key.py` says why). A
remembered episode carries its `shape`: per flow the labels of its data and ACK ports, its size and line
rate. Flows that meet only where the ACKs of one pass are joined by edges of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

ROUNDS = 3


def shape_of(members: Sequence[Any], ports: Sequence[Any]) -> tuple[Any, ...]:
    """((labels of data ports, of ACK ports, size_bytes, line_rate_bps) per flow); labels count in order of
    `ports`."""
    labels = {port: label for label, port in enumerate(ports)}
    return tuple(
        (
            tuple(labels[port] for port in m.plan.path), tuple(labels[port] for port in m.ports[len(m.plan.path) :]),
            m.transfer.size_bytes, m.plan.info.line_rate_bps,
        )
        for m in members
    )  # fmt: skip


def checked_shape(data: Any) -> tuple[Any, ...]:
    """A shape as it was stored; raises ValueError, TypeError or KeyError for anything else."""
    return tuple(
        (tuple(map(int, path)), tuple(map(int, back)), int(size), int(rate)) for path, back, size, rate in data
    )


@attrs.frozen
class ConflictGraph:
    """rate_bps: per flow its mean rate over the episode. edges: (i, j) with i < j -> links on which the
    data of both pass. ack_edges: the same where the data of one meets the ACKs of the other, for pairs
    that have no edge. name: a short text that is the same for graphs that look the same."""

    rate_bps: tuple[int, ...]
    edges: dict[tuple[int, int], int]
    ack_edges: dict[tuple[int, int], int]
    name: str

    @property
    def flows(self) -> int:
        """Number of vertices."""
        return len(self.rate_bps)


def conflict_graph(shape: Sequence[Any], ends_ps: Iterable[tuple[int, int]]) -> ConflictGraph:
    """The graph of a remembered episode. ends_ps: (flow, time of its end counted from the start).

    Cost: for each link the pairs of flows on it."""
    ends = dict(ends_ps)
    data: dict[int, list[int]] = {}
    acks: dict[int, list[int]] = {}
    for flow, (path, back, *_) in enumerate(shape):
        for label in path:
            data.setdefault(label, []).append(flow)
        for label in back:
            acks.setdefault(label, []).append(flow)
    edges: dict[tuple[int, int], int] = {}
    meetings: dict[tuple[int, int], int] = {}
    for label, flows in data.items():
        for i, a in enumerate(flows):
            for b in flows[i + 1 :]:
                edges[a, b] = edges.get((a, b), 0) + 1
            for b in acks.get(label, ()):
                pair = (a, b) if a < b else (b, a)
                if a != b:
                    meetings[pair] = meetings.get(pair, 0) + 1
    ack_edges = {pair: count for pair, count in meetings.items() if pair not in edges}
    rates = tuple(
        size * 8 * 10**12 // ends[flow] if ends.get(flow) else rate for flow, (*_, size, rate) in enumerate(shape)
    )
    return ConflictGraph(rates, edges, ack_edges, _name(len(shape), edges, ack_edges))


def _name(count: int, *kinds: dict[tuple[int, int], int]) -> str:
    """Colour refinement over the weighted edges: equal for graphs that differ by numbering only."""
    colours = ["flow"] * count
    near: list[list[tuple[int, tuple[int, int]]]] = [[] for _ in range(count)]
    for kind, edges in enumerate(kinds):
        for (a, b), weight in edges.items():
            near[a].append((b, (kind, weight)))
            near[b].append((a, (kind, weight)))
    for _ in range(ROUNDS):
        colours = [
            _short(f"{colours[i]}|{sorted((colours[j], weight) for j, weight in near[i])}") for i in range(count)
        ]
    return _short(str(sorted(colours)))


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()
