"""The final tables: everything that matters, within 80 columns."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from wormhole_core.cli.tables import MAX_COLLECTIVES, print_result


def summary(**changes):
    flows = {"label": "all", "job": "", "count": 3136, "mean_ps": 63_350_000}
    for name in ("p50", "p90", "p99", "max"):
        flows |= {f"{name}_ps": 163_350_000, f"{name}_slowdown": 2.171}
    collective = {
        "job": "", "label": "layer_11 wg", "algorithm": "ring-all-reduce", "ranks": 128, "bytes": 5_000_000, "count": 4,
        "mean_ps": 940_300_000, "max_ps": 1_940_300_000, "bus_bps": 74_440_000_000,
    }  # fmt: skip
    link = {
        "link_index": 0, "from": "nvswitch 140", "to": "host 127", "rate_bps": 400 * 10**9, "utilisation": 0.9987,
        "max_queue_bytes": 1_090_000, "drops": 12, "pauses": 340, "marks": 5678,
    }  # fmt: skip
    cost = {
        "events_executed": 12_341_881, "frame_hops": 8_064_000, "cpu_s": 31.65, "wall_s": 32.04,
        "peak_memory_bytes": 51_680_000, "frame_hops_per_cpu_s": 254_807,
    }  # fmt: skip
    used = {"topology": "rail", "workload": "flows", "cca": "hpcc", "routing": "ecmp", "memo-backend": "memory"}
    values = {
        "experiment": {"topology": {"plugin": "rail"}, "workload": {"flows": "my/flows.csv"}},
        "manifest": {"plugins": {"components": [{"kind": kind, "name": name} for kind, name in used.items()]}},
        "status": "complete", "reason": None, "mode": "packet", "model": "event", "seed": 1, "hosts": 128,
        "simulated_ps": 8_791_000_000, "flows_done": 3136, "flows_pending": 0, "bytes_done": 2_016_000_000, "drops": 12,
        "pauses": 340, "marks": 5678, "retransmitted_bytes": 1000, "flows": [flows], "collectives": [collective],
        "busiest_links": [link], "derived": {"ECN at 100 Gbps": "400 kB to 1.6 MB"}, "cost": cost,
    }  # fmt: skip
    return values | changes


def rendered(values, width: int = 80) -> str:
    output = io.StringIO()
    print_result(values, "results", Console(file=output, width=width, highlight=False))
    return output.getvalue()


def test_everything_is_there_and_nothing_is_broken_at_80_columns():
    text = rendered(summary())
    for words in (
        "Complete: 3,136 flows, 2.016 GB in 8.791 ms simulated", "topology rail, workload my/flows.csv, cca hpcc (the ",
        "128 hosts, packet mode, event model, seed 1",
        "ring-all-reduce", "128 x 5 MB", "74.44 Gbps", "163.3 us", "2.17 x", "nvswitch 140", "99.9%",
        "12 drops, 340 pauses, 5,678 marks, 1 kB retransmitted", "8,064,000 frame-hops (254,807 per CPU second)",
        "51.68 MB memory", "ECN at 100 Gbps: 400 kB to 1.6 MB", "Results are in results",
    ):  # fmt: skip
        assert words in text, words
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("status", "words"), [("partial", "stopped at 2 us"), ("stalled", "Stalled"), ("interrupted", "Int")]
)
def test_a_run_that_did_not_finish_says_so(status, words):
    text = rendered(summary(status=status, reason="stopped at 2 us", flows_pending=5))
    assert words in text and "3,136 flows done, 5 pending" in text


def test_empty_runs_and_unknown_memory():
    cost = summary()["cost"] | {"peak_memory_bytes": None, "frame_hops_per_cpu_s": None}
    text = rendered(summary(flows=[], collectives=[], busiest_links=[], derived={}, cost=cost))
    assert "Collectives" not in text and "memory" not in text and "per CPU second" not in text


def test_very_many_kinds_of_collectives_are_cut_with_a_word():
    rows = summary()["collectives"] * (MAX_COLLECTIVES + 3)
    assert "and 3 more kinds" in rendered(summary(collectives=rows))
