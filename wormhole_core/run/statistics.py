"""What the end of a run says about all flows and collectives, gathered while it goes.

Keeps two numbers per flow, not the records. Percentiles are nearest-rank.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from ..contracts.observer import Observer
from ..contracts.result import CollectiveRecord, FlowRecord, LinkRecord
from ..contracts.topology import Graph
from .outputs import bus_bps, utilisation

PERCENTILES = (50, 90, 99)
MAX_GROUPS = 12
"""Labels are listed one by one up to this many; a trace where each flow has its own says nothing."""
BUSIEST = 5


class Statistics(Observer):
    """Flow completion times and slowdowns by label; collectives by label and algorithm."""

    def __init__(self) -> None:
        self._fct: dict[tuple[str, str], array[int]] = {}
        self._slowdown: dict[tuple[str, str], array[float]] = {}
        self._collectives: dict[tuple[str, str, str, int, int], list[tuple[int, int]]] = {}

    def flow_finished(self, record: FlowRecord) -> None:
        """Two numbers per flow."""
        key = (record.job, record.label)
        if key not in self._fct:
            if len(self._fct) > MAX_GROUPS:
                key = ("", "(others)")
            self._fct.setdefault(key, array("q"))
            self._slowdown.setdefault(key, array("d"))
        self._fct[key].append(record.fct_ps)
        self._slowdown[key].append(record.slowdown)

    def collective(self, record: CollectiveRecord) -> None:
        """Collectives that differ only in id and time are told together."""
        key = (record.job, record.label, record.algorithm, record.ranks, record.size_bytes)
        self._collectives.setdefault(key, []).append((record.duration_ps, bus_bps(record)))

    def flow_summary(self) -> list[dict[str, Any]]:
        """All flows first, then per label where there are few labels."""
        if not self._fct:
            return []
        every = _flow_group("all", "", _joined(self._fct.values(), "q"), _joined(self._slowdown.values(), "d"))
        if not 1 < len(self._fct) <= MAX_GROUPS:
            return [every]
        groups = [
            _flow_group(label, job, self._fct[job, label], self._slowdown[job, label]) for job, label in self._fct
        ]
        return [every, *groups]

    def collective_summary(self) -> list[dict[str, Any]]:
        """One entry per kind of collective, in the order first seen."""
        summary = []
        for (job, label, algorithm, ranks, size_bytes), runs in self._collectives.items():
            times = sorted(duration for duration, _ in runs)
            summary.append({
                "job": job, "label": label, "algorithm": algorithm, "ranks": ranks, "bytes": size_bytes,
                "count": len(runs), "mean_ps": round(sum(times) / len(times)), "max_ps": times[-1],
                "bus_bps": round(sum(bus for _, bus in runs) / len(runs)),
            })  # fmt: skip
        return summary


def percentile(ordered: Any, percent: float) -> Any:
    """Nearest-rank percentile of a sorted sequence that is not empty."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def busiest_links(records: Iterable[LinkRecord], span_ps: int, graph: Graph) -> list[dict[str, Any]]:
    """The links that sent the longest, with names people know."""
    order = sorted(records, key=lambda r: (-r.busy_ps, r.link_index, r.node))[:BUSIEST]
    return [
        {
            "link_index": r.link_index, "from": node_name(graph, r.node), "to": node_name(graph, r.peer),
            "rate_bps": r.rate_bps, "utilisation": round(utilisation(r, span_ps), 6),
            "max_queue_bytes": r.max_queue_bytes, "drops": r.drops, "pauses": r.pauses, "marks": r.marks,
        }
        for r in order
        if r.busy_ps
    ]  # fmt: skip


def node_name(graph: Graph, node: int) -> str:
    """`host 3`, `leaf 18`: the node's own name, else what it is and its id."""
    data = graph.nodes[node]
    kind = "nvswitch" if data.get("nvswitch") else data.get("kind", "node")
    return str(data.get("name") or f"{kind} {node}")


def _joined(parts: Iterable[array[Any]], code: str) -> array[Any]:
    whole = array(code)
    for part in parts:
        whole.extend(part)
    return whole


def _flow_group(label: str, job: str, fct: array[int], slowdown: array[float]) -> dict[str, Any]:
    times, slow = sorted(fct), sorted(slowdown)
    group: dict[str, Any] = {"label": label, "job": job, "count": len(times), "mean_ps": round(sum(times) / len(times))}
    group.update({f"p{p}_ps": percentile(times, p) for p in PERCENTILES})
    group["max_ps"] = times[-1]
    group["mean_slowdown"] = round(sum(slow) / len(slow), 6)
    group.update({f"p{p}_slowdown": round(percentile(slow, p), 6) for p in PERCENTILES})
    group["max_slowdown"] = round(slow[-1], 6)
    return group
