"""The subcommands beside `run`: validate, plugins, describe, doctor, compare."""

from __future__ import annotations

import json

import pytest


def test_help_lists_all_commands(cli):
    answer = cli("--help")
    assert answer.code == 0
    for command in ("run", "compare", "validate", "plugins", "describe", "doctor"):
        assert f"\n    {command} " in answer.out
    assert cli().out == answer.out


@pytest.mark.parametrize("command", ["run", "compare", "validate", "plugins", "describe", "doctor"])
def test_every_command_has_help(cli, command):
    answer = cli(command, "--help")
    assert answer.code == 0 and f"wormhole-sim {command}" in answer.out and "--debug" in answer.out


def test_unknown_command(cli):
    answer = cli("rnu")
    assert answer.code == 2 and "did you mean 'run'?" in answer.line


def test_validate_says_what_was_understood(cli, files):
    answer = cli("validate", files / "flows.csv", files / "topology.json", files / "exp.toml")
    assert answer.code == 0 and answer.err == ""
    for words in ("4 hosts, 1 switch,", "3 flows", "250000 bytes", "all flows run between hosts", "workload flows"):
        assert words in answer.out


def test_validate_goes_on_after_a_bad_file(cli, files):
    (files / "bad.csv").write_bytes(b"\x00\x01")
    (files / "far.csv").write_text("flow_id,src,dst,bytes,start_ns\n0,0,77,1,0\n")
    answer = cli("validate", files / "bad.csv", files / "far.csv", files / "topology.json")
    assert answer.code == 2
    assert "4 hosts" in answer.out
    bad, far = answer.err.splitlines()
    assert "bad.csv" in bad and "binary" in bad
    assert far.startswith(f"{files / 'far.csv'}:2:") and "77" in far


def test_validate_json(cli, files):
    answer = cli("validate", "--json", files / "topology.json", files / "exp.toml")
    topology, experiment = json.loads(answer.out)
    assert topology["hosts"] == experiment["hosts"] == 4
    assert experiment["flows"] == 3 and experiment["bytes"] == 250_000


def test_plugins_lists_distributions_and_components(cli):
    answer = cli("plugins")
    assert answer.code == 0
    for words in ("wormhole-cca", "wormhole-topologies", "hpcc", "fat-tree", "simai"):
        assert words in answer.out
    listing = json.loads(cli("plugins", "--json", "--kind", "cca").out)
    assert {c["kind"] for c in listing["components"]} == {"cca"}
    assert {"none", "hpcc"} <= {c["name"] for c in listing["components"]}


def test_a_disabled_plugin_is_gone_and_said_so(cli):
    answer = cli("plugins", "--disable-plugin", "cca")
    assert answer.code == 0 and "disabled: cca" in answer.out and "hpcc" not in answer.out


def test_describe_a_component(cli):
    answer = cli("describe", "cca", "hpcc")
    assert answer.code == 0
    for words in ("wormhole-cca", "SIGCOMM 2019", "eta", "0.95", "ai_rate_bps", "derived", "preset reference:hpcc"):
        assert words in answer.out


def test_describe_a_section_with_units_and_defaults(cli):
    out = cli("describe", "section", "network").out
    assert "buffer_bytes" in out and "33.55 MB" in out and "go-back-n" in out
    assert "derived" not in cli("describe", "section", "run").out


def test_describe_has_a_text_for_every_option_of_the_network(cli):
    from wormhole_core.cli.describe import field_notes
    from wormhole_core.sim.config import NetworkConfig, network_fields

    assert not set(network_fields()) - set(field_notes(NetworkConfig))
    out = cli("describe", "section", "network").out
    assert "One of: derived" in out and "One of: in-band, lane." in out
    assert "(time, node, node)" in " ".join(out.split())


def test_describe_does_not_say_twice_whose_options_they_are(cli):
    assert "Options of" not in cli("describe", "cca", "hpcc").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cca", "hpc"), "did you mean 'hpcc'"),
        (("section", "netwrok"), "did you mean 'network'"),
        (("ccaa", "hpcc"), "'ccaa'"),
    ],
)
def test_describe_unknown_names(cli, arguments, words):
    answer = cli("describe", *arguments)
    assert answer.code == 2 and words in answer.line


def test_doctor_looks_at_libraries_and_plugins(cli, monkeypatch):
    answer = cli("doctor")
    assert "simpy" in answer.out and "wormhole-cca" in answer.out
    answer = cli("doctor", "--disable-plugin", "cca")
    assert "wormhole-cca is not installed" not in answer.out


def test_doctor_sees_a_second_owner_of_the_package(cli, monkeypatch):
    import importlib.metadata

    owners = {"wormhole_core": ["wormhole-sim", "Wormhole-Core"]}
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: owners)
    answer = cli("doctor")
    assert answer.code == 1 and "wormhole-core; uninstall it" in answer.out


class _Distribution:
    """An editable installation: a version and a direct_url.json, no list of files."""

    version = "0.1.0"

    def __init__(self, folder):
        self.folder = folder

    def read_text(self, name):
        return json.dumps({"url": self.folder.as_uri(), "dir_info": {"editable": True}}) if "direct" in name else None


def test_doctor_knows_an_editable_installation(cli, monkeypatch, tmp_path):
    """One whose package is reached by a .pth file: no distribution then lists it among its files."""
    import importlib.metadata
    from pathlib import Path

    import wormhole_core
    from wormhole_core.cli import doctor

    here = Path(wormhole_core.__file__).resolve().parents[1]
    monkeypatch.setattr(importlib.metadata, "packages_distributions", dict)
    monkeypatch.setattr(doctor, "library_version", lambda name: wormhole_core.__version__)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: _Distribution(here))
    assert "the only owner of wormhole_core" in cli("doctor").out
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: _Distribution(tmp_path))
    assert f"installed from {tmp_path}" in cli("doctor").out
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: {"wormhole_core": ["another"]})
    assert "also installed by another" in cli("doctor").out


def test_compare_prints_errors_and_cost(cli, files):
    answer = cli(
        "compare", files / "exp.toml", "--against", "network.payload_bytes=500", "--floor", 1, "--jitter", "100ns"
    )
    assert answer.code == 0
    for words in ("FCT, per flow mean", "makespan", "noise floor", "frame-hops"):
        assert words in answer.out
    same = cli("compare", files / "exp.toml", "--against", "run.seed=7", "--json", "--quiet").result
    assert same["fct_error"]["max"] == 0 and same["noise_floor"] is None
    assert same["reference"]["status"] == same["other"]["status"] == "complete"


def test_a_plugin_can_add_a_command(cli, tmp_path):
    (tmp_path / "hello.py").write_text(
        "from wormhole_core import hookimpl\n"
        "@hookimpl\ndef wormhole_commands(subparsers):\n"
        "    parser = subparsers.add_parser('hello', help='greets')\n"
        "    parser.set_defaults(run=lambda args: print('hello', len(args.plugins.infos) > 3))\n"
    )
    assert cli("hello", "--plugin", tmp_path / "hello.py").out == "hello True\n"
