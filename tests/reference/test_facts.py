"""Beyond completion times: receiver times, marks, pauses, queues and frames of the reference runs."""

from __future__ import annotations

import csv

import pytest

from wormhole_core.run.selftest import SHORT, rows

from .conftest import REFERENCE, needs_reference, run_of

pytestmark = needs_reference
NOT_EQUAL = {("s2_incast4_1MB", "dcqcn"), ("d1_ringallreduce8_10MB", "hpcc")}
EQUAL = [name for name in SHORT if name not in NOT_EQUAL]
DRAWS = {"timely", "timely_vwin", "timely_buf2", "nocc", "nocc_win", "nocc_buf2"}
"""Labels that mark at random without reacting: their number of marks is not determined."""
PAUSED = [
    ("s2_incast2_1MB", "nocc_buf2"), ("s2_incast2_1MB", "timely_buf2"), ("s2_incast2_1MB", "dcqcn_step_buf2"),
    ("s2_incast4_1MB", "nocc_buf2"), ("s2_incast8_1MB", "nocc_buf2"), ("s2_incast8_1MB", "dcqcn_step_buf2"),
]  # fmt: skip


def recorded(scenario: str, label: str) -> dict[str, str]:
    with open(REFERENCE / "runs.csv") as lines:
        return next(r for r in csv.DictReader(lines) if (r["scenario"], r["cc"], r["seed"]) == (scenario, label, "1"))


@pytest.mark.parametrize(("scenario", "label"), EQUAL)
def test_frames_marks_queues_and_receiver_times(scenario: str, label: str):
    """Where completion times are equal, so is everything that leads to them."""
    run, facts = run_of(scenario, label), recorded(scenario, label)
    with open(REFERENCE / scenario / f"fct_{label}.csv") as lines:
        assert run.rx_last_byte_ps == tuple(int(r["rx_last_byte_ns"]) * 1000 for r in csv.DictReader(lines))
    assert run.frame_hops == int(facts["packet_hops"])
    assert run.max_queue_bytes == int(facts["max_egress_bytes"])
    assert (run.drops, run.pauses) == (int(facts["drops"]), int(facts["pfc_pauses"]))
    if label not in DRAWS:
        assert run.marks == int(facts["ecn_marks"])


@pytest.mark.parametrize(("scenario", "label"), PAUSED)
def test_pauses_come_and_go_when_they_did(scenario: str, label: str):
    """Every pause and resume of every sender, to the ns."""
    with open(REFERENCE / scenario / f"pfc_{label}.csv") as lines:
        theirs = [(int(r["t_ns"]) * 1000, int(r["node"]), r["pause"] == "1") for r in csv.DictReader(lines)]
    run = run_of(scenario, label)
    assert theirs and sorted(run.pause_log) == sorted(theirs)
    assert run.still_paused == 0


@pytest.mark.parametrize("scenario", ["s2_incast2_1MB", "s2_incast4_1MB"])
@pytest.mark.parametrize("label", ["hpcc", "hpcc_perrtt"])
def test_hpcc_builds_the_same_queue(scenario: str, label: str):
    """The first round trip decides the largest queue; nothing has reacted before it."""
    assert run_of(scenario, label).max_queue_bytes == int(recorded(scenario, label)["max_egress_bytes"])


def test_every_recorded_table_is_shipped_or_random():
    shipped = {(row.scenario, row.label) for row in rows()}
    files = {
        (p.parent.name, p.stem[4:])
        for p in REFERENCE.glob("*/fct_*.csv")
        if "_seed" not in p.stem and p.parent.name != "training"
    }
    assert {label for _, label in files - shipped} <= {"dcqcn_paper"}
    assert shipped <= files
