"""Experiment files and settings: values, where they were written, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from wormhole_core.errors import ConfigError, InputError
from wormhole_core.run.experiment import Experiment, Origin, RunConfig, experiment_from, parse_setting, read_experiment
from wormhole_core.sim.config import NetworkConfig

TEXT = """\
# a comment with = and [brackets]
[topology]
plugin = "star"   # hosts = 3
hosts = 4

[acceleration.memo]
plugin = "sqlite"
path = "memo.db"

[network]
"pfc" = false
ecn_kmin_bytes = "400kB"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "exp.toml"
    path.write_text(TEXT)
    return path


def test_values_remember_their_lines(path):
    experiment = read_experiment(path)
    assert experiment.sections["topology"] == {"plugin": "star", "hosts": 4}
    assert experiment.origin("topology", "hosts").line == 4
    assert experiment.origin("acceleration", "memo", "path").line == 8
    assert experiment.origin("network", "pfc").line == 11
    assert experiment.origin("cca", "anything") == Origin(path=str(path))


def test_a_section_becomes_its_configuration(path):
    network = read_experiment(path).config("network", NetworkConfig)
    assert (network.pfc, network.ecn_kmin_bytes, network.payload_bytes) == (False, 400_000, 1000)


def test_settings_win_and_are_named_in_messages(path):
    experiment = read_experiment(path)
    experiment.set("network.pfc", "perhaps", Origin(text="--set network.pfc=perhaps"))
    with pytest.raises(ConfigError, match=r"^--set network.pfc=perhaps: .*'perhaps'"):
        experiment.config("network", NetworkConfig)


def test_a_setting_can_reach_into_a_table(path):
    experiment = read_experiment(path)
    experiment.set("acceleration.memo.path", "other.db", Origin())
    assert experiment.sections["acceleration"]["memo"] == {"plugin": "sqlite", "path": "other.db"}
    short = Experiment()
    short.set("acceleration.memo", "sqlite", Origin())
    short.set("acceleration.memo.path", "x.db", Origin())
    assert short.sections["acceleration"]["memo"] == {"plugin": "sqlite", "path": "x.db"}


def test_copies_do_not_share_their_values(path):
    first = read_experiment(path)
    second = experiment_from(first)
    second.set("network.pfc", True, Origin())
    second.set("acceleration.memo.path", "y.db", Origin())
    assert first.sections["network"]["pfc"] is False
    assert first.sections["acceleration"]["memo"]["path"] == "memo.db"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("network.pfc=false", ("network.pfc", False)),
        ("run.seed=3", ("run.seed", 3)),
        ("cca.eta = 0.95", ("cca.eta", 0.95)),
        ("network.rto_ps=12us", ("network.rto_ps", "12us")),
        ('run.outputs=["flows"]', ("run.outputs", ["flows"])),
        ("topology.path=a=b.txt", ("topology.path", "a=b.txt")),
        ("topology.path=2024-01-01", ("topology.path", "2024-01-01")),
        ("cca.gain=1/16", ("cca.gain", "1/16")),
    ],
)
def test_settings_are_read_as_toml_else_as_text(text, expected):
    assert parse_setting(text) == expected


@pytest.mark.parametrize("text", ["network.pfc", "=3", ""])
def test_settings_without_a_value(text):
    with pytest.raises(ConfigError, match=r"SECTION\.OPTION=VALUE"):
        parse_setting(text)


@pytest.mark.parametrize(
    ("key", "message"),
    [("netwrok.pfc", "did you mean 'network'"), ("network", "network.OPTION"), ("network.pfc.x", "too deeply")],
)
def test_settings_that_lead_nowhere(key, message):
    with pytest.raises(ConfigError, match=message):
        Experiment().set(key, 1, Origin())


def test_run_section():
    run = experiment_from({"run": {"stop_ps": "2ms", "outputs": "flows", "seed": 5}}).config("run", RunConfig)
    assert (run.stop_ps, run.outputs, run.seed, run.mode) == (2_000_000_000, ("flows",), 5, "wormhole")


def test_dicts_are_checked_like_files():
    with pytest.raises(ConfigError, match="did you mean 'workload'"):
        experiment_from({"worklod": {}})
    with pytest.raises(ConfigError, match=r"write \[topology\]"):
        experiment_from({"topology": "star"})


def test_toml_faults_have_their_line(tmp_path):
    (tmp_path / "x.toml").write_text("[network]\npfc = yes\n")
    with pytest.raises(InputError) as caught:
        read_experiment(tmp_path / "x.toml")
    assert caught.value.line == 2


def test_another_component_forgets_the_options_of_the_first():
    experiment = experiment_from(
        {"cca": {"plugin": "hpcc", "eta": 0.9}, "workload": {"flows": "f.csv", "paths": "p.csv"}}
    )
    experiment.set("cca.plugin", "hpcc", Origin())
    assert experiment.sections["cca"] == {"plugin": "hpcc", "eta": 0.9}
    experiment.set("cca.plugin", "none", Origin())
    assert experiment.sections["cca"] == {"plugin": "none"}
    experiment.set("workload.simai", "w.txt", Origin())
    assert experiment.sections["workload"] == {"simai": "w.txt"}
