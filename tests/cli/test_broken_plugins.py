"""Plugins that break their contract during a run: exit code 4, the plugin named, standard output kept clean."""

from __future__ import annotations

import json

import pytest

PLUGIN = """
from wormhole_core import Cca, Component, Transfer, Workload, hookimpl

print("loaded")

class Bad(Cca):
    def __init__(self, config, flow, rng):
        self.window_bytes, self.rate_bps = 30000, None
    def on_ack(self, fb):
        {on_ack}
    def snapshot(self, now_ps, snd_una):
        return ()
    def restore(self, state, now_ps, snd_una): ...

class Odd(Workload):
    def advance(self, now_ps, done):
        return {items}

@hookimpl
def wormhole_ccas():
    return [Component(name="bad", build=Bad, summary="x")]

@hookimpl
def wormhole_workloads():
    return [Component(name="odd", build=lambda config, hosts, rng: Odd(), summary="x")]
"""
STAR = ("run", "--topology", "star", "--set", "topology.hosts=3", "--json", "--quiet")


@pytest.fixture
def plugin(tmp_path):
    def write(on_ack="pass", items="[]"):
        path = tmp_path / "breaking_plugin.py"
        path.write_text(PLUGIN.format(on_ack=on_ack, items=items))
        return "--plugin", path

    return write


@pytest.mark.parametrize("mode", ["packet", "wormhole"])
@pytest.mark.parametrize(
    ("on_ack", "expected"),
    [
        ("self.rate_bps = 0", "rate_bps of 0"),
        ("self.rate_bps = 1e9 / 3", "rate_bps of 333333333.3"),
        ("self.window_bytes = 'wide'", "window_bytes of 'wide'"),
        ("raise SystemExit(7)", "SystemExit: 7"),
        ("raise GeneratorExit", "GeneratorExit"),
    ],
)
def test_a_cca_that_asks_for_the_impossible_is_named(cli, plugin, tmp_path, on_ack, expected, mode):
    answer = cli(
        *STAR, "--workload", "incast", "--cca", "bad", *plugin(on_ack), "--mode", mode, "--out", tmp_path / "o"
    )
    assert answer.code == 4 and answer.out == ""
    assert expected in answer.err and "breaking_plugin" in answer.err and "defect" not in answer.err
    assert json.loads((tmp_path / "o" / "result.json").read_text())["status"] == "partial"


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("None", "advance gave None"),
        ("[7]", "advance gave 7"),
        ("[Transfer(id=1, src=0, dst=1, size_bytes=1.5)]", "size_bytes is 1.5"),
        ("[Transfer(id=1, src=0, dst=1, size_bytes=1, delay_ps=0.5)]", "delay_ps is 0.5"),
    ],
)
def test_a_workload_that_emits_nonsense_is_named(cli, plugin, items, expected):
    answer = cli(*STAR, "--workload", "odd", *plugin(items=items))
    assert answer.code == 4
    assert expected in answer.err and "workload 'odd'" in answer.err and "breaking_plugin" in answer.err


def test_what_a_plugin_prints_is_no_part_of_the_json(cli, plugin):
    answer = cli(*STAR, "--workload", "incast", "--cca", "bad", *plugin("print('noise')"))
    assert answer.code == 0 and answer.result["status"] == "complete"
    assert "loaded" in answer.err and "noise" in answer.err
