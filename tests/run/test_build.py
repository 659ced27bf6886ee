"""From sections to objects: names, presets, paths, and plugins that fail while building."""

from __future__ import annotations

from pathlib import Path

import pytest

from wormhole_core.api import load
from wormhole_core.errors import ConfigError, InputError, PluginError
from wormhole_core.run.build import apply_preset, build, find_preset
from wormhole_core.run.experiment import Experiment, Origin, experiment_from

PLUGIN = """
import attrs
from wormhole_core import Cca, Component, Observer, hookimpl

@attrs.frozen(kw_only=True)
class Options:
    gain: float = 0.5
    log_path: str = ""

class Silent(Observer):
    def __init__(self, config):
        self.config = config

def fails(config, rng):
    raise KeyError("no such thing")

@hookimpl
def wormhole_ccas():
    mine = {"cca": {"gain": 0.25}, "network": {"pfc": False, "payload_bytes": 500}}
    same = {"reference:hpcc": {"cca": {}}, "mine": mine}
    return [Component(name="mine", build=lambda config, flow, rng: None, summary="x", config=Options, presets=same)]

@hookimpl
def wormhole_topologies():
    return [Component(name="fails", build=fails, summary="x")]

@hookimpl
def wormhole_observers():
    return [Component(name="silent", build=lambda config, run: Silent(config), summary="x", config=Options)]
"""
BASE = {"topology": {"plugin": "star", "hosts": 3}, "workload": {"plugin": "incast"}}


@pytest.fixture(scope="module")
def plugins(tmp_path_factory):
    path = tmp_path_factory.mktemp("plugin") / "mine_plugin.py"
    path.write_text(PLUGIN)
    return load([str(path)])


def test_defaults_and_what_was_used(plugins):
    parts = build(experiment_from(BASE), plugins)
    assert parts.used == (
        ("topology", "star"), ("workload", "incast"), ("cca", "hpcc"), ("routing", "ecmp"),
        ("partitioner", "ports"), ("memo-backend", "memory"), ("fast-forward", "settled"),
    )  # fmt: skip
    packet = build(experiment_from({**BASE, "run": {"mode": "packet"}}), plugins)
    assert packet.used == parts.used[:4]
    assert len(parts.hosts) == 3 and parts.per_flow_routing
    assert parts.run.seed == 1 and parts.network.pfc


def test_two_ways_to_name_a_component(plugins):
    for section, values in (("topology", {"plugin": "star", "file": "x"}), ("workload", {"flows": "x", "simai": "y"})):
        with pytest.raises(ConfigError, match="both"):
            build(experiment_from({**BASE, section: values}), plugins)
    with pytest.raises(ConfigError, match="both file and path"):
        build(experiment_from({**BASE, "topology": {"file": "x", "path": "y"}}), plugins)


def test_nothing_named(plugins):
    with pytest.raises(ConfigError, match=r"names no workload.*--flows"):
        build(experiment_from({"topology": BASE["topology"]}), plugins)


def test_paths_start_beside_the_experiment(plugins, tmp_path: Path):
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "exp.toml").write_text(
        '[topology]\nplugin = "star"\n[workload]\nplugin = "incast"\n[observers.silent]\nlog_path = "log/x"\n'
    )
    parts = build(experiment_from(folder / "exp.toml"), plugins)
    (observer,) = parts.observers
    assert observer.config.log_path == str(folder / "log" / "x")
    changed = experiment_from(folder / "exp.toml")
    changed.set("observers.silent.log_path", "here", Origin(text="--set"))
    assert build(changed, plugins).observers[0].config.log_path == "here"


def test_lenient_reaches_the_files(plugins, tmp_path: Path):
    (tmp_path / "topology.txt").write_text("3 1 3\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    experiment = {**BASE, "topology": {"file": str(tmp_path / "topology.txt")}}
    with pytest.raises(InputError):
        build(experiment_from(experiment), plugins)
    assert len(build(experiment_from({**experiment, "run": {"lenient": True}}), plugins).hosts) == 2


def test_a_failing_build_names_the_plugin(plugins):
    with pytest.raises(PluginError, match=r"topology 'fails' .*mine_plugin.*KeyError"):
        build(experiment_from({**BASE, "topology": {"plugin": "fails"}}), plugins)


def test_presets_are_found_by_label(plugins):
    assert find_preset(plugins, "mine", Origin())[0] == "mine"
    with pytest.raises(ConfigError, match=r"several ccas: hpcc, mine; add --cca"):
        find_preset(plugins, "reference:hpcc", Origin())
    assert find_preset(plugins, "reference:hpcc", Origin(), "hpcc")[0] == "hpcc"
    with pytest.raises(ConfigError, match="belongs to cca 'mine', not to 'dctcp'"):
        find_preset(plugins, "mine", Origin(), "dctcp")
    with pytest.raises(ConfigError, match="did you mean 'mine'"):
        find_preset(plugins, "minee", Origin())


def test_a_preset_sets_both_sections(plugins):
    experiment = experiment_from({**BASE, "cca": {"plugin": "hpcc", "eta": 0.9}, "network": {"pfc": True}})
    apply_preset(experiment, plugins, "mine", Origin())
    assert experiment.sections["cca"] == {"plugin": "mine", "preset": "mine", "gain": 0.25}
    assert experiment.sections["network"] == {"pfc": False, "payload_bytes": 500}


def test_a_preset_in_a_file_fills_what_the_file_leaves_open(plugins):
    experiment = experiment_from({**BASE, "cca": {"preset": "mine"}, "network": {"pfc": True}})
    parts = build(experiment, plugins)
    assert parts.network.pfc and parts.network.payload_bytes == 500
    assert ("cca", "mine") in parts.used


def test_acceleration_names_components(plugins, tmp_path: Path):
    for memo in ("memory", {"plugin": "sqlite", "path": str(tmp_path / "memo.db")}):
        parts = build(experiment_from({**BASE, "acceleration": {"memo": memo, "partitioner": "ports"}}), plugins)
        assert ("partitioner", "ports") in parts.used
    with pytest.raises(ConfigError, match="needs plugin"):
        build(experiment_from({**BASE, "acceleration": {"memo": {}}}), plugins)
    with pytest.raises(ConfigError, match="a table of options, got 3"):
        build(experiment_from({**BASE, "acceleration": {"memo": 3}}), plugins)


def test_names_must_be_texts(plugins):
    with pytest.raises(ConfigError, match="must be a text, got 3"):
        build(experiment_from({**BASE, "cca": {"plugin": 3}}), plugins)


def test_experiments_may_be_built_again(plugins):
    experiment: Experiment = experiment_from(BASE)
    assert build(experiment, plugins).used == build(experiment, plugins).used


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("link_failures", 1e12, "link_failures must have entries like"),
        ("link_failures", {"a": 1}, "link_failures must have entries like"),
        ("link_failures", [["1ms", 0]], "link_failures must have entries like"),
        ("link_failures", [["1ms", 0, "x"]], "link_failures must have entries like"),
        ("link_failures", [["-1ms", 0, 3]], "times must be at least 0"),
        ("link_failures", [["1ms", 0, 1]], "names a link 0-1 that the topology does not have"),
        ("ecn_map", [], "ecn_map must be a table"),
        ("ecn_map", {"100Gbps": [1, 2]}, "ecn_map must have entries like"),
        ("ecn_map", {"fast": [1, 2, 0.5]}, "'fast' is not a rate"),
        ("ecn_map", {"100Gbps": ["2kB", "1kB", 0.5]}, "kmin <= kmax"),
        ("pfc_alpha_shift", 10**12, "between -30 and 30"),
        ("rto_ps", "1ps", "at least 1us"),
    ],
)
def test_values_with_a_shape_are_checked_before_the_run(plugins, option, value, expected):
    with pytest.raises(ConfigError, match=expected):
        build(experiment_from(BASE | {"network": {option: value}}), plugins)


def test_values_with_a_shape_take_units(plugins):
    network = {"link_failures": [["1ms", 0, 3]], "ecn_map": {"100Gbps": ["400kB", 1_600_000, 0.2]}}
    parts = build(experiment_from(BASE | {"network": network}), plugins)
    assert parts.network.link_failures == ((10**9, 0, 3),)
    assert parts.network.ecn_map == {10**11: (400_000, 1_600_000, 0.2)}


@pytest.mark.parametrize("topology", [{"plugin": "star", "hosts": 10**12}, {"plugin": "ring", "hosts": 10**30}])
def test_a_topology_larger_than_any_memory_is_refused(plugins, topology):
    with pytest.raises(ConfigError, match="too large"):
        build(experiment_from(BASE | {"topology": topology}), plugins)
