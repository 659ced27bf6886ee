"""The shipped examples are what they say they are. The demo itself is run by `make demo`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wormhole_core.api import load, simulate
from wormhole_core.run.build import build
from wormhole_core.run.experiment import read_experiment

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture(scope="module")
def plugins():
    return load()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_experiments_build(path, plugins):
    assert build(read_experiment(path), plugins).workload.total_items() > 0


def test_the_demo_is_a_data_parallel_all_reduce_along_the_rails(plugins):
    parts = build(read_experiment(EXAMPLES / "demo.toml"), plugins)
    assert len(parts.hosts) == 32
    # 7 gradients on 4 rails; a ring of 8 takes 14 steps of 8 transfers.
    assert parts.workload.total_items() == 7 * 4 * 14 * 8
    assert parts.workload.total_bytes() == 4 * 14 * 32_000_000


def test_the_demo_in_small_runs_and_finishes(plugins):
    # Volumes are divided by 500.
    result = simulate(EXAMPLES / "demo.toml", {"workload.size_divisor": 500}, plugins=plugins)
    assert result.summary["status"] == "complete"
    assert len(result.collectives) == 7 * 4
    assert {record.algorithm for record in result.collectives} == {"ring-all-reduce"}


def test_first_flows_with_a_dependency(plugins):
    first = EXAMPLES / "first"
    result = simulate(
        {"topology": {"file": str(first / "topology.json")}, "workload": {"flows": str(first / "flows.csv")}},
        plugins=plugins,
    )
    flows = {flow.id: flow for flow in result.flows}
    assert len(flows) == 5
    assert flows[4].start_ps == max(flows[i].start_ps + flows[i].rx_last_byte_ps for i in (0, 1, 2))
    assert flows[0].slowdown > 2  # three flows into one host


# --- lessons ---

LESSONS = sorted((EXAMPLES / "lessons").glob("[0-9]*.py"))


def lesson(path: Path, *arguments: str, first: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a lesson; `first`: a folder that is searched for modules before all others."""
    places = [str(first)] if first else []
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*places, *filter(None, sys.path)])}
    command = [sys.executable, str(path), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_there_are_four_lessons():
    assert [path.stem for path in LESSONS] == ["01_queue", "02_incast", "03_control_loop", "04_skipped_steady_state"]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_says_what_it_said_before(path):
    ran = lesson(path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == path.with_suffix(".out").read_text(), f"if this is right: python {path} > {path.stem}.out"


def test_without_matplotlib_a_picture_is_refused_after_the_text(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('not here')\n")
    ran = lesson(LESSONS[0], "--picture", str(tmp_path / "x.png"), first=tmp_path)
    assert ran.returncode == 1 and ran.stdout == LESSONS[0].with_suffix(".out").read_text()
    assert ran.stderr == 'a picture needs matplotlib: python -m pip install "wormhole-sim[plots]"\n'


def test_a_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra `plots`)")
    ran = lesson(LESSONS[0], "--picture", str(tmp_path / "x.png"))
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"
