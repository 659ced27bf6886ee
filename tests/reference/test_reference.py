"""Completion times against the reference simulator: the short list always, the whole table when long."""

from __future__ import annotations

import csv
import json

import pytest

from wormhole_core.run.selftest import SHORT, Row, Run, check_row, judge, rows, short_rows
from wormhole_core.run.selftest_scenarios import scenario

from .conftest import REFERENCE, needs_reference, plugins, run_of

ALL = rows()


def name_of(row: Row) -> str:
    return f"{row.scenario}-{row.label}"


def verdict_of(row: Row):
    if row.seeds_mean_ns:
        return check_row(plugins(), row)
    return judge(row, [run_of(row.scenario, row.label)])


@pytest.mark.parametrize("row", short_rows(), ids=name_of)
def test_short_list(row: Row):
    verdict = verdict_of(row)
    assert verdict.passed, (verdict.measured, verdict.faults)


@pytest.mark.long
@pytest.mark.parametrize("row", [row for row in ALL if (row.scenario, row.label) not in SHORT], ids=name_of)
def test_whole_table(row: Row):
    verdict = verdict_of(row)
    assert verdict.passed, (verdict.measured, verdict.faults)


def test_a_wrong_result_fails():
    """Every kind of bound notices a run that is beyond it."""
    base = run_of("s1_single_1MB", "nocc_win")
    row = next(r for r in ALL if (r.scenario, r.label) == ("s1_single_1MB", "nocc_win"))
    near = Row(scenario="d1_ringallreduce8_10MB", label="hpcc", fct_ns=row.fct_ns)
    seeds = Row(scenario="s2_incast2_1MB", label="dcqcn", seeds_mean_ns=(100_000,) * 5, seeds_last_ns=(100_000,) * 5)

    def like(**changes) -> Run:
        return Run(**{**{slot: getattr(base, slot) for slot in Run.__annotations__}, **changes})

    assert judge(row, [base]).passed
    assert not judge(row, [like(fct_ps=(base.fct_ps[0] + 1000,))]).passed
    assert not judge(row, [like(drops=1)]).passed
    assert not judge(row, [like(pauses=1)]).passed
    good = near.fct_ns[0] * 1000
    assert judge(near, [like(fct_ps=(good * 1.0009,))]).passed
    assert not judge(near, [like(fct_ps=(good * 1.0011,))]).passed
    assert judge(seeds, [like(fct_ps=(100_900_000,))]).passed
    assert not judge(seeds, [like(fct_ps=(101_100_000,))]).passed


def test_closed_formula():
    """10 MB at line rate over one switch: 9999 more frames behind the first one, then its ACK."""
    assert run_of("s1_single_10MB", "dcqcn").fct_ps == ((9999 * 84 + 2 * (84 + 1000) + 2 * (5 + 1000)) * 1000,)
    assert run_of("s1_single_10MB", "dcqcn").rx_last_byte_ps == ((9999 * 84 + 2 * (84 + 1000)) * 1000,)


@needs_reference
def test_scenarios_are_those_of_the_reference():
    """Networks and flows built from their rules equal the recorded ones."""
    for folder in sorted(path.parent for path in REFERENCE.glob("*/topology.json") if path.parent.name[2] == "_"):
        graph, flows = scenario(folder.name)
        links = json.loads((folder / "topology.json").read_text())["links"]
        ours = sorted(
            (d["link_index"], *sorted((a, b)), d["rate_bps"], d["delay_ps"]) for a, b, d in graph.edges(data=True)
        )
        assert ours == [
            (i, *sorted((link["a"], link["b"])), link["gbps"] * 10**9, link["delay_ns"] * 1000)
            for i, link in enumerate(links)
        ]
        with open(folder / "flows.csv") as lines:
            theirs = list(csv.DictReader(lines))
        assert [(f.id, f.src, f.dst, f.size_bytes, f.start_ps, set(f.deps)) for f in flows] == [
            (int(r["flow_id"]), int(r["src"]), int(r["dst"]), int(r["bytes"]), int(r["start_ns"]) * 1000,
             {int(d) for d in (r.get("deps") or "").split(";") if d})
            for r in theirs
        ]  # fmt: skip


@needs_reference
def test_shipped_numbers_are_those_of_the_reference():
    for row in ALL:
        suffixes = ("", "_seed2", "_seed3", "_seed4", "_seed5") if row.seeds_mean_ns else ("",)
        found = []
        for suffix in suffixes:
            with open(REFERENCE / row.scenario / f"fct_{row.label}{suffix}.csv") as lines:
                found.append([int(r["fct_ns"]) for r in csv.DictReader(lines)])
        if row.fct_ns:
            assert row.fct_ns == tuple(found[0]), name_of(row)
        else:
            assert row.seeds_last_ns == tuple(max(f) for f in found)
            assert row.seeds_mean_ns == tuple(round(sum(f) / len(f)) for f in found)
