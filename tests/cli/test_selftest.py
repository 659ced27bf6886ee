"""`wormhole-sim selftest`: its lines fit a terminal, and say what failed."""

from __future__ import annotations

import pytest

from wormhole_core.cli.selftest import LINE_CELLS, row_lines
from wormhole_core.run.selftest import Run, judge, rows


def run_of(row, factor: float) -> Run:
    """As the reference says, every time multiplied."""
    times = row.fct_ns or (row.seeds_mean_ns[0], row.seeds_last_ns[0])
    return Run(
        fct_ps=tuple(int(value * factor) * 1000 for value in times), rx_last_byte_ps=(), pauses=row.pauses, marks=0,
        drops=0, frame_hops=0, max_queue_bytes=0, still_paused=0, pause_log=(),
    )  # fmt: skip


@pytest.mark.parametrize("factor", [1.0, 1.0007, 2.0])
def test_every_row_fits(factor):
    for row in rows():
        verdict = judge(row, [run_of(row, factor)])
        lines = row_lines(verdict)
        assert max(map(len, lines)) <= LINE_CELLS, lines
        assert row.scenario in lines[0] and row.label in lines[0]
        assert ("PASS" in lines[0]) is verdict.passed
        if row.bound.exact and verdict.passed:
            assert len(lines) == 1 or row.pauses
        else:
            assert "bound: " in " ".join(" ".join(lines).split())
