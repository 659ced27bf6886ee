"""The progress line: as much as fits, and nothing wrong before anything is known."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from wormhole_core.cli.progress import LiveWatcher, PlainWatcher, progress_line
from wormhole_core.run.progress import Progress


def progress(**changes) -> Progress:
    values = dict(
        now_ps=1_500_000, flows_done=3, flows_started=5, flows_total=12, bytes_done=250, bytes_total=1000, events=4_000,
        elapsed_s=2.0,
    )  # fmt: skip
    return Progress(**(values | changes))


def test_everything_on_a_wide_line():
    line = progress_line(progress(), 120).plain
    for piece in (" 25%", "1.5 us simulated", "3/12 flows", "250 B of 1 kB", "ETA 0:06", "2 k events/s"):
        assert piece in line


@pytest.mark.parametrize("width", [20, 40, 80, 120])
@pytest.mark.parametrize("what", ["", "run 3 of 8, noise floor 1"])
def test_the_line_never_wraps(width, what):
    assert progress_line(progress(flows_done=10**9, flows_total=10**9), width, what=what).cell_len < width


def test_of_several_runs_the_line_says_which():
    line = progress_line(progress(), 120, what="run 2 of 3, wormhole").plain
    assert line.startswith("run 2 of 3, wormhole: ") and "25%" in line


def test_notes_that_several_runs_share_are_told_once():
    output = io.StringIO()
    watcher = PlainWatcher(Console(file=output, width=80))
    for what in ("run 1 of 2, packet", "run 2 of 2, wormhole"):
        watcher.run_begins(what)
        watcher.started(("f.csv: [3] rows ignored",))
        watcher.ended()
    assert output.getvalue() == "f.csv: [3] rows ignored\n"


def test_unknown_totals():
    line = progress_line(progress(flows_total=None, bytes_total=None), 120).plain
    assert "%" not in line and "ETA" not in line and "3 flows done" in line


def test_share_by_flows_where_bytes_are_unknown():
    assert progress(bytes_total=None).share == 0.25
    assert progress(bytes_total=None, flows_total=None).share is None
    assert progress(bytes_done=0).remaining_s is None
    assert progress(bytes_done=2000).share == 1.0


def test_the_live_line_is_gone_at_the_end():
    output = io.StringIO()
    watcher = LiveWatcher(Console(file=output, force_terminal=True, width=80))
    watcher.started(("a note",))
    watcher.advanced(progress())
    watcher.ended()
    text = output.getvalue()
    assert "a note" in text and "simulated" in text
    assert text.endswith("\x1b[2K")  # the last thing done is to wipe the line
