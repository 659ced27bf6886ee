"""The Python way in: the same experiments, results as records."""

from __future__ import annotations

import json

import pytest

from wormhole_core.api import Watcher, compare, load, simulate
from wormhole_core.errors import CheckFailed, ConfigError, PluginError
from wormhole_core.run.compare import compare_results

INCAST = {
    "topology": {"plugin": "star", "hosts": 4},
    "workload": {"plugin": "incast", "size_bytes": "50kB"},
    "cca": {"plugin": "none"},
}


@pytest.fixture(scope="module")
def plugins():
    return load()


def test_a_dict_is_an_experiment(plugins):
    result = simulate(INCAST, plugins=plugins)
    assert result.summary["status"] == "complete"
    assert [flow.size_bytes for flow in result.flows] == [50_000] * 3
    assert {flow.dst for flow in result.flows} == {3}
    assert sum(link.tx_bytes for link in result.links) > 2 * 150_000  # data over two hops, and ACKs
    assert INCAST["cca"] == {"plugin": "none"}


def test_settings_win_and_run_options_are_keywords(plugins):
    result = simulate(
        INCAST, {"workload.fan_in": 2, "network.payload_bytes": 500}, plugins=plugins, seed=9, stop_ps="1s"
    )
    assert len(result.flows) == 2
    assert result.summary["seed"] == 9
    assert result.summary["experiment"]["network"] == {"payload_bytes": 500}


def test_a_file_a_preset_and_a_folder(plugins, tmp_path):
    (tmp_path / "exp.toml").write_text(
        '[topology]\nplugin = "star"\nhosts = 3\n[workload]\nplugin = "incast"\nsize_bytes = 20000\n'
    )
    result = simulate(tmp_path / "exp.toml", preset="reference:hpcc", plugins=plugins, out=tmp_path / "out")
    assert result.summary["experiment"]["cca"]["preset"] == "reference:hpcc"
    assert (tmp_path / "out" / "result.json").exists()


def test_records_can_be_left_out(plugins):
    result = simulate(INCAST, plugins=plugins, keep_records=False)
    assert result.flows == [] and result.summary["flows_done"] == 3


def test_results_without_cost_do_not_depend_on_the_run(plugins):
    first, second = (simulate(INCAST, plugins=plugins) for _ in range(2))
    assert first.flows == second.flows
    assert first.links == second.links
    assert {**first.summary, "cost": 0} == {**second.summary, "cost": 0}


def test_a_watcher_sees_the_work_grow(plugins):
    seen = []

    class Seen(Watcher):
        def advanced(self, progress):
            seen.append(progress)

    simulate(INCAST, plugins=plugins, watcher=Seen())
    assert seen[-1].share == 1.0
    assert seen[-1].flows_total == 3 and seen[-1].bytes_total == 150_000


def test_errors_keep_their_kind(plugins):
    with pytest.raises(ConfigError, match="fan_on"):
        simulate(INCAST, {"workload.fan_on": 2}, plugins=plugins)
    with pytest.raises(PluginError):
        simulate(INCAST, plugins=["no.such.module"])


def test_life_cycle_hooks_get_result_or_error(tmp_path):
    (tmp_path / "spy.py").write_text(
        "from wormhole_core import hookimpl\nseen = []\n"
        "@hookimpl\ndef wormhole_run_started(run):\n    seen.append(('started', run.seed))\n"
        "@hookimpl\ndef wormhole_run_finished(run, result, error):\n"
        "    seen.append(('finished', result and result.summary['status'], error))\n"
    )
    loaded = load([str(tmp_path / "spy.py")])
    spy = loaded.manager.get_plugin("spy")
    simulate(INCAST, plugins=loaded, seed=3)
    assert spy.seen == [("started", 3), ("finished", "complete", None)]

    class Stop(Watcher):
        def advanced(self, progress):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        simulate(INCAST, plugins=loaded, watcher=Stop())
    assert spy.seen[-1][:2] == ("finished", None)
    assert spy.seen[-1][2] is caught.value
    assert caught.value.result.summary["status"] == "interrupted"


def test_compare_a_run_with_itself(plugins):
    comparison = compare(INCAST, {"run.seed": 1}, plugins=plugins, floor=2, jitter_ps=100_000)
    assert comparison.errors["fct_error"] == {"mean": 0.0, "p99": 0.0, "max": 0.0}
    assert comparison.errors["makespan_error"] == 0.0
    assert comparison.noise_floor["runs"] == 2
    assert comparison.noise_floor["fct_error"]["max"] > 0
    assert comparison.as_dict()["reference"]["mode"] == "packet"


def test_compare_tells_different_runs_apart(plugins):
    comparison = compare(INCAST, {"network.payload_bytes": 250}, plugins=plugins)
    assert comparison.errors["mean_fct_error"] > 0.05


def test_runs_of_different_flows_cannot_be_compared(plugins):
    a, b = (simulate(INCAST, {"workload.fan_in": n}, plugins=plugins) for n in (2, 3))
    with pytest.raises(CheckFailed, match="2 and 3 flows"):
        compare_results(a, b)


def test_an_observer_that_fails_at_its_end_leaves_no_complete_result(tmp_path):
    (tmp_path / "recorder.py").write_text(
        "from wormhole_core import Component, Observer, hookimpl\n"
        "class Recorder(Observer):\n"
        "    def close(self):\n        raise OSError('disk gone')\n"
        "@hookimpl\ndef wormhole_observers():\n"
        "    return [Component(name='recorder', build=lambda config, run: Recorder(), summary='x')]\n"
    )
    with pytest.raises(OSError, match="disk gone") as caught:
        simulate(
            {**INCAST, "observers": {"recorder": {}}}, plugins=[str(tmp_path / "recorder.py")], out=tmp_path / "out"
        )
    assert any("recorder" in note for note in caught.value.__notes__)
    summary = json.loads((tmp_path / "out" / "result.json").read_text())
    assert summary["status"] == "partial" and "disk gone" in summary["reason"]


def test_observers_see_flows_and_collectives(tmp_path):
    (tmp_path / "counter.py").write_text(
        "from wormhole_core import Component, Observer, hookimpl\n"
        "seen = []\n"
        "class Counter(Observer):\n"
        "    def flow_started(self, now_ps, flow_index, transfer):\n        seen.append('started')\n"
        "    def flow_finished(self, record):\n        seen.append('finished')\n"
        "    def collective_finished(self, now_ps, collective, started_ps):\n        seen.append('collective')\n"
        "    def close(self):\n        seen.append('closed')\n"
        "@hookimpl\ndef wormhole_observers():\n"
        "    return [Component(name='counter', build=lambda config, run: Counter(), summary='x')]\n"
    )
    loaded = load([str(tmp_path / "counter.py")])
    ring = {**INCAST, "workload": {"plugin": "ring-all-reduce", "size_bytes": "40kB"}, "observers": {"counter": {}}}
    simulate(ring, plugins=loaded)
    seen = loaded.manager.get_plugin("counter").seen
    assert {name: seen.count(name) for name in set(seen)} == {
        "started": 24,
        "finished": 24,
        "collective": 1,
        "closed": 1,
    }
    assert seen[-1] == "closed"
