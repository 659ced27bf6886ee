"""The shipped examples are what they say they are. The demo itself is run by `make demo`."""

from __future__ import annotations

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
    result = simulate(EXAMPLES / "demo.toml", {"workload.size_scale": 500}, plugins=plugins)
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
