"""Percentiles and groups of the final tables."""

from __future__ import annotations

import networkx as nx
import pytest

from wormhole_core import CollectiveRecord, FlowRecord, LinkRecord
from wormhole_core.run.statistics import MAX_GROUPS, Statistics, busiest_links, percentile


def flow(i: int, label: str = "", fct_ps: int = 100) -> FlowRecord:
    return FlowRecord(
        index=i, id=i, src=0, dst=1, sport=1, dport=2, size_bytes=10, start_ps=0, fct_ps=fct_ps, rx_last_byte_ps=1,
        ideal_fct_ps=50, label=label,
    )  # fmt: skip


@pytest.mark.parametrize(("percent", "value"), [(50, 50), (90, 90), (99, 99), (100, 100), (1, 1)])
def test_nearest_rank(percent, value):
    assert percentile(range(1, 101), percent) == value
    assert percentile([7], percent) == 7


def test_all_flows_then_each_label():
    statistics = Statistics()
    for i in range(10):
        statistics.flow_finished(flow(i, "ab"[i % 2], 100 + i))
    every, a, b = statistics.flow_summary()
    assert (every["label"], every["count"], every["max_ps"], every["p50_ps"]) == ("all", 10, 109, 104)
    assert (a["label"], a["count"], a["mean_ps"], a["max_slowdown"]) == ("a", 5, 104, 2.16)
    assert b["p50_ps"] == 105


def test_one_label_or_very_many_are_not_listed():
    for labels in (1, MAX_GROUPS + 20):
        statistics = Statistics()
        for i in range(100):
            statistics.flow_finished(flow(i, f"label {i % labels}"))
        (only,) = statistics.flow_summary()
        assert only["count"] == 100
    assert Statistics().flow_summary() == []


def test_equal_collectives_are_told_together():
    statistics = Statistics()
    for i, duration_ps in enumerate((100, 300)):
        statistics.collective(
            CollectiveRecord(
                id=i, label="wg", algorithm="all-to-all", ranks=2, size_bytes=8, start_ps=0, duration_ps=duration_ps
            )
        )
    (row,) = statistics.collective_summary()
    assert (row["count"], row["mean_ps"], row["max_ps"]) == (2, 200, 300)


def test_busiest_links_have_names_and_idle_ones_are_left_out():
    graph = nx.MultiGraph()
    graph.add_node(0, kind="host")
    graph.add_node(1, kind="switch")
    graph.add_node(2, kind="switch", nvswitch=True)
    graph.add_node(3, kind="switch", name="leaf A")

    def link(node: int, peer: int, busy_ps: int) -> LinkRecord:
        return LinkRecord(
            link_index=0, node=node, peer=peer, rate_bps=1, tx_bytes=1, tx_frames=1, busy_ps=busy_ps, max_queue_bytes=0,
            drops=0, dropped_bytes=0, marks=0, pauses=0, paused_ps=0,
        )  # fmt: skip

    rows = busiest_links([link(0, 1, 5), link(2, 3, 9), link(1, 0, 0)], 10, graph)
    assert [(r["from"], r["to"], r["utilisation"]) for r in rows] == [
        ("nvswitch 2", "leaf A", 0.9),
        ("host 0", "switch 1", 0.5),
    ]
