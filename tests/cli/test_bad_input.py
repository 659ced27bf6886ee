"""Whatever is wrong with the input: one line that says where, what, and what to do; exit code 2."""

from __future__ import annotations

import json

import pytest

HEAD = '[topology]\nfile = "topology.json"\n[workload]\nflows = "flows.csv"\n[cca]\nplugin = "none"\n'


def refused(cli, *arguments: object, code: int = 2) -> str:
    answer = cli("run", *arguments, "--quiet")
    assert answer.code == code, answer
    assert answer.out == ""
    return answer.line


@pytest.mark.parametrize(
    ("extra", "line", "words"),
    [
        ("[network]\npcf = true\n", 8, ("'pcf'", "did you mean 'pfc'?")),
        ("[netwrk]\npfc = true\n", 7, ("'netwrk'", "did you mean 'network'?")),
        ("[network]\n\npfc = 3\n", 9, ("pfc", "3", "true or false")),
        ("[network]\npayload_bytes = 0\n", 8, ("payload_bytes", "greater than 0", "0")),
        ("[network]\npayload_bytes = -1000\n", 8, ("payload_bytes", "-1000")),
        ('[network]\nbuffer_bytes = "32Gbps"\n', 8, ("buffer_bytes", "'32Gbps'", "size")),
        ('[network]\nacks = "inband"\n', 8, ("acks", "in-band, lane", "'inband'")),
        ("[run]\nmode = 'wormholes'\n", 8, ("mode", "'wormholes'", "packet")),
        ("[run]\nmodel = 'fast'\n", 8, ("model", "event, process")),
        ("[run]\noutputs = ['flow']\n", 8, ("outputs", "'flow'", "flows, links, collectives")),
        ("[run]\nstop_ps = '3 parsecs'\n", 8, ("stop_ps", "3 parsecs", "time")),
        ("[run\n", 7, ("TOML",)),
        ("seed = 3 4\n", 7, ("TOML",)),
        ("eta = 0.9\n", 7, ("cca 'none'", "'eta'", "options: ")),
        ("[routing]\nplugn = 'ecmp'\n", 8, ("[routing]: unknown option 'plugn'", "did you mean 'plugin'?")),
        ("[acceleration.memo]\nplugn = 'memory'\n", 8, ("unknown option 'plugn'", "did you mean 'plugin'?")),
        ("[routing]\nplugin = 'ecpm'\n", 8, ("'ecpm'", "did you mean 'ecmp'?")),
        ("[acceleration]\nmemmo = 'memory'\n", 8, ("'memmo'", "did you mean 'memo'?")),
        ("[acceleration]\nmemo = 'memry'\n", 8, ("'memry'", "did you mean 'memory'?")),
        ("[acceleration.memo]\nplugin = 'memory'\ncapacity = 3\n", 9, ("'capacity'", "capacity_bytes")),
    ],
)
def test_faults_in_an_experiment_are_named_with_their_line(cli, files, extra, line, words):
    (files / "exp.toml").write_text(HEAD + extra)
    message = refused(cli, files / "exp.toml")
    assert message.startswith(f"{files / 'exp.toml'}:{line}: "), message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"\x00\x01\xff\xfe" * 50, "binary data"),
        (b"caf\xe9 = 1\n", "not UTF-8"),
        (b"a = 1\n", "'a'"),
        (b"topology = 3\n", "[topology]"),
        (b"[run]\nseed = 1\n", "topology"),
    ],
)
def test_files_that_are_no_experiments(cli, files, content, words):
    (files / "exp.toml").write_bytes(content)
    message = refused(cli, files / "exp.toml")
    assert "exp.toml" in message and words in message


@pytest.mark.parametrize(("section", "word"), [("topology", "plugn"), ("topology", "fiel"), ("workload", "flow")])
def test_a_misspelt_choice_of_component_is_an_unknown_option(cli, files, section, word):
    right = {"plugn": "plugin", "fiel": "file", "flow": "flows"}[word]
    others = {"topology": '[workload]\nflows = "flows.csv"\n', "workload": '[topology]\nfile = "topology.json"\n'}
    (files / "exp.toml").write_text(f'{others[section]}[{section}]\n{word} = "star"\n')
    message = refused(cli, files / "exp.toml")
    assert message.endswith(f"exp.toml:4: [{section}]: unknown option {word!r}; did you mean {right!r}?")


def test_a_host_without_a_link_is_told_with_its_file(cli, files):
    topology = json.loads((files / "topology.json").read_text())
    topology["links"].pop()
    (files / "topology.json").write_text(json.dumps(topology))
    message = refused(cli, files / "exp.toml")
    assert message.startswith(f"{files / 'topology.json'}: host 3 has no link")


def test_missing_experiment(cli, files):
    assert "no.toml" in refused(cli, files / "no.toml")
    assert "folder" in refused(cli, files) or "directory" in refused(cli, files)


def test_nothing_to_run(cli):
    assert "nothing to run" in refused(cli)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "network.pcf=1"], ("--set network.pcf=1", "did you mean 'pfc'?")),
        (["--cca", "hpcc", "--set", "cca.min_rate_bps=100"], ("100 is a rate without a unit", "100Gbps")),
        (["--set", "network=1"], ("network.OPTION",)),
        (["--set", "network.pfc"], ("SECTION.OPTION=VALUE",)),
        (["--set", "net.pfc=1"], ("'net'", "Sections")),
        (["--cca", "hpc"], ("'hpc'", "did you mean 'hpcc'?")),
        (["--preset", "reference:hpc"], ("reference:hpc", "did you mean 'reference:hpcc'?")),
        (["--preset", "reference:hpcc", "--cca", "none"], ("'hpcc'", "'none'")),
        (["--topology", "strar"], ("'strar'", "did you mean 'star'?")),
        (["--topology", "nowhere.json"], ("nowhere.json", "no such file")),
        (["--flows", "f.csv", "--simai", "w.txt"], ("--flows", "--simai")),
        (["--mode", "fluidd"], ("fluidd",)),
        (["--seeed", "3"], ("--seeed", "did you mean '--seed'?")),
        (["--plugin", "no_such_file.py"], ("no_such_file.py",)),
        (["--topology-format", "hpccc"], ("hpccc",)),
        (["--hpcc-config", "nowhere.txt"], ("nowhere.txt",)),
    ],
)
def test_faults_on_the_command_line(cli, files, arguments, words):
    answer = cli("run", files / "exp.toml", "--quiet", *arguments)
    assert answer.code == 2, answer
    for word in words:
        assert word in answer.line


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("0,0,9,1000,0,", ("9", "not in the topology")),
        ("0,0,4,1000,0,", ("4", "switch")),
        ("0,1,1,1000,0,", ("itself",)),
        ("0,0,3,0,0,", ("bytes", "0")),
        ("0,0,3,-5,0,", ("-5",)),
        ("0,0,3,many,0,", ("many",)),
        ("0,0,3,1000,-1,", ("-1",)),
        ("0,0,3,1000,0,7", ("7",)),
        ("0,0,3", ("3 cells", "expected 6")),
    ],
)
def test_faults_in_flows_are_named_with_their_line(cli, files, row, words):
    (files / "flows.csv").write_text(f"flow_id,src,dst,bytes,start_ns,deps\n{row}\n")
    message = refused(cli, files / "exp.toml")
    assert message.startswith(f"{files / 'flows.csv'}:2: "), message
    for word in words:
        assert word in message, message


def test_sizes_of_a_terabyte_are_fine(cli, files):
    (files / "flows.csv").write_text("flow_id,src,dst,bytes,start_ns\n0,0,3,1000000000000,0\n")
    answer = cli("run", files / "exp.toml", "--quiet", "--json", "--set", "run.stop_ps=10us")
    assert answer.code == 0
    assert answer.result["status"] == "partial"


def test_hosts_that_cannot_be_reached_are_named(cli, files):
    nodes = [{"id": i, "type": "host"} for i in range(4)] + [{"id": i, "type": "switch"} for i in (4, 5)]
    links = [{"a": i, "b": 4 + i // 2, "gbps": 100, "delay_ns": 1000} for i in range(4)]
    (files / "topology.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    message = refused(cli, files / "exp.toml")
    assert "reach" in message and "0" in message and "3" in message


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x00\x00\x01\xff" * 30, b"[]", b"{", b"hello world\n"])
@pytest.mark.parametrize("name", ["topology.json", "flows.csv"])
def test_files_of_the_wrong_kind(cli, files, name, content):
    (files / name).write_bytes(content)
    assert name in refused(cli, files / "exp.toml")


def test_declared_counts_are_checked_and_lenient_runs_what_is_there(cli, files):
    (files / "topology.txt").write_text(
        "5 1 4\n4\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 4 100Gbps 1us 0\n3 4 100Gbps 1us 0\n"
    )
    (files / "flow.txt").write_text("3\n0 3 3 100 1000 2.0\n1 3 3 100 1000 2.0\n")
    arguments = ("--topology", files / "topology.txt", "--flows", files / "flow.txt", "--cca", "none")
    message = refused(cli, *arguments)
    assert message.startswith(f"{files / 'flow.txt'}:") and "--lenient" in message
    answer = cli("run", *arguments, "--quiet", "--json", "--lenient")
    assert answer.code == 0
    assert answer.result["flows_done"] == 2


def test_output_that_cannot_be_written_is_refused_before_the_run(cli, files):
    (files / "file").write_text("")
    for option in ("--out", "--fct"):
        message = refused(cli, files / "exp.toml", option, files / "file" / "x")
        assert str(files / "file" / "x") in message and "cannot write" in message


def test_a_failing_plugin_is_named_with_place_and_off_switch(cli, files):
    (files / "broken_cca.py").write_text(
        "from wormhole_core import Cca, Component, hookimpl\n"
        "class Broken(Cca):\n"
        "    __slots__ = ()\n"
        "    def __init__(self):\n        self.window_bytes, self.rate_bps = None, 10**11\n"
        "    def on_ack(self, fb):\n        raise ZeroDivisionError('oh')\n"
        "    def snapshot(self, now_ps, snd_una):\n        return ()\n"
        "    def restore(self, state, now_ps, snd_una):\n        pass\n"
        "@hookimpl\n"
        "def wormhole_ccas():\n"
        "    return [Component(name='broken', build=lambda config, flow, rng: Broken(), summary='fails')]\n"
    )
    answer = cli(
        "run",
        files / "exp.toml",
        "--plugin",
        files / "broken_cca.py",
        "--cca",
        "broken",
        "--quiet",
        "--out",
        files / "o",
    )
    assert answer.code == 4
    assert "Traceback" not in answer.err
    for words in ("broken_cca", "ZeroDivisionError: oh", "simulated time", "seed 7", "--disable-plugin"):
        assert words in answer.err, answer.err
    assert json.loads((files / "o" / "result.json").read_text())["status"] == "partial"


def test_recovery_commands_work_with_a_broken_plugin(cli, files):
    (files / "bad.py").write_text("import no_such_module\n")
    answer = cli("run", files / "exp.toml", "--plugin", files / "bad.py")
    assert answer.code == 4 and "no_such_module" in answer.line
    answer = cli("plugins", "--plugin", files / "bad.py")
    assert answer.code == 4 and "broken:" in answer.out and "no_such_module" in answer.out
    answer = cli("doctor", "--plugin", files / "bad.py")
    assert answer.code == 1 and "no_such_module" in answer.out
    assert cli("--help", "--plugin", files / "bad.py").code == 0
    assert cli("--version").out.startswith("wormhole-sim 0.")


def test_a_defect_of_ours_is_one_line_and_debug_shows_more(cli, files, monkeypatch):
    def defect(*_arguments, **_options):
        raise RuntimeError("not the user's fault")

    monkeypatch.setattr("wormhole_core.cli.run.experiment_from_args", defect)
    answer = cli("run", files / "exp.toml")
    assert answer.code == 70
    assert "defect" in answer.line and "--debug" in answer.line
    assert "Traceback" in cli("run", files / "exp.toml", "--debug").err
