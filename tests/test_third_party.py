"""Other people's distributions: run, listed, switched off, and broken in every way we could think of.

Here they only look installed (`pretend_installed`); `test_fresh_environment.py` installs their wheels.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from wormhole_core.cli import main
from wormhole_core.errors import EXIT_BAD_INPUT, EXIT_OK, EXIT_PLUGIN

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "plugins"
PACKAGES = sorted(path.parent for path in EXAMPLES.glob("*/pyproject.toml"))
RUNS = {
    "powertcp": ("cca", "--topology star --workload incast --cca powertcp"),
    "slim-fly": (
        "topology",
        "--topology slim-fly --workload permutation --set topology.order=3 --set workload.size_bytes=20000",
    ),
    "parameter-server": ("workload", "--topology star --workload parameter-server --set workload.servers=2"),
}


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def cli(capsys):
    def run(text: str) -> tuple[int, str, str]:
        code = main(text.split())
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return run


def test_every_example_is_tried():
    assert {folder.name for folder in PACKAGES} == set(RUNS)


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_it_runs_and_the_manifest_names_it(cli, pretend_installed, folder):
    pretend_installed(folder)
    kind, options = RUNS[folder.name]
    code, out, err = cli(f"run {options} --json --quiet")
    assert code == EXIT_OK, err
    summary = json.loads(out)
    assert summary["status"] == "complete" and summary["flows_done"] > 0
    plugins = summary["manifest"]["plugins"]
    distribution = f"wormhole-example-{folder.name}"
    plugin = f"example-{folder.name}"
    assert {"name": plugin, "distribution": distribution, "version": "0.3.1"} in plugins["plugins"]
    (used,) = (c for c in plugins["components"] if c["name"] == folder.name)
    assert used == {
        "kind": kind, "name": folder.name, "plugin": plugin, "distribution": distribution, "version": "0.3.1"
    }  # fmt: skip


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_it_is_listed_described_and_switched_off(cli, pretend_installed, monkeypatch, folder):
    pretend_installed(folder)
    kind, options = RUNS[folder.name]
    listing = json.loads(cli("plugins --json")[1])
    assert folder.name in {component["name"] for component in listing["components"]}
    assert cli(f"describe {kind} {folder.name}")[0] == EXIT_OK
    for switch in ("option", "variable"):
        argument = f" --disable-plugin example-{folder.name}" if switch == "option" else ""
        if switch == "variable":
            monkeypatch.setenv("WORMHOLE_DISABLE_PLUGINS", f"example-{folder.name}")
        code, _, err = cli(f"run {options}{argument}")
        assert code == EXIT_BAD_INPUT
        assert repr(folder.name) in err and err.count("\n") == 1


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_it_uses_the_public_face_only(folder):
    allowed = {"wormhole_core", "wormhole_core.units", "wormhole_core.errors"}
    package = project(folder)["entry-points"]["wormhole_sim"][f"example-{folder.name}"].partition(".")[0]
    wrong = []
    for path in sorted((folder / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            wrong += [
                f"{path.name}:{node.lineno}: {name}"
                for name in names
                if name not in allowed and name.partition(".")[0] not in {"attrs", *sys.stdlib_module_names}
            ]
    assert wrong == []


@pytest.mark.parametrize("part", ["tests of its own", pytest.param("contract kit", marks=pytest.mark.long)])
@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_its_tests_pass(pretend_installed, folder, part):
    pretend_installed(folder)
    contract = "tests/test_contract.py"
    chosen = [contract] if part == "contract kit" else ["tests", "--ignore", contract, "--noconftest"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0 and " passed" in ran.stdout, ran.stdout + ran.stderr


# --- broken on purpose ---


@pytest.fixture
def fancy(tmp_path, pretend_installed):
    """Installs distribution `fancy-cca 3.1`, plugin `fancy`, with the given source."""

    def install(text: str, distribution: str = "fancy-cca", version: str = "3.1", plugin: str = "fancy") -> None:
        folder = tmp_path / distribution
        folder.mkdir()
        module = distribution.replace("-", "_")
        (folder / f"{module}.py").write_text(
            f"from wormhole_core import Cca, Component, Observer, Routing, Workload, hookimpl\n{text}"
        )
        (folder / "pyproject.toml").write_text(
            f'[project]\nname = "{distribution}"\nversion = "{version}"\n'
            f'[project.entry-points.wormhole_sim]\n{plugin} = "{module}"\n'
        )
        pretend_installed(folder)

    return install


INCAST = "run --topology star --workload incast --quiet"
OFFER = "@hookimpl\ndef wormhole_{hook}():\n    return [Component(name='fancy', build={build}, summary='s')]\n"
SENDER = (
    "class Mine(Cca):\n    __slots__ = ('acks',)\n"
    "    def __init__(self, config, flow, rng):\n"
    "        self.window_bytes, self.rate_bps, self.acks = flow.bdp_bytes, None, 0\n"
    "    def on_ack(self, fb):\n        self.acks += 1\n        {fault}\n"
    "    def snapshot(self, now_ps, snd_una):\n        return ()\n"
    "    def restore(self, state, now_ps, snd_una):\n        pass\n"
)


def told(answer: tuple[int, str, str], *words: str, code: int = EXIT_PLUGIN) -> str:
    """The message of a failure, which must hold the words."""
    assert answer[0] == code, answer[2]
    for word in words:
        assert word in answer[2], f"{word!r} is missing in: {answer[2]}"
    return answer[2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "import torch_of_next_year\n",
            ["ModuleNotFoundError: No module named 'torch_of_next_year'", "fancy_cca.py:2"],
        ),
        ("1 / 0\n", ["ZeroDivisionError", "fancy_cca.py:2"]),
        ("raise SystemExit('goodbye')\n", ["SystemExit: goodbye"]),
        ("", ["implements no hook"]),
    ],
    ids=["import error", "exception", "exit", "no hook"],
)
def test_a_plugin_that_does_not_load(cli, fancy, monkeypatch, text, words):
    fancy(text)
    said = told(cli(INCAST), "plugin 'fancy' of fancy-cca 3.1", "WORMHOLE_DISABLE_PLUGINS=fancy", *words)
    assert said.count("\n") == 1
    # The way out that it names works, and so do the commands one needs before one knows it.
    monkeypatch.setenv("WORMHOLE_DISABLE_PLUGINS", "fancy")
    assert cli(INCAST)[0] == EXIT_OK
    monkeypatch.delenv("WORMHOLE_DISABLE_PLUGINS")
    assert cli(f"{INCAST} --disable-plugin fancy")[0] == EXIT_OK
    assert cli("--help")[0] == EXIT_OK
    code, out, _ = cli("plugins --json")
    (broken,) = (entry for entry in json.loads(out)["plugins"] if entry["error"])
    assert code == EXIT_PLUGIN and broken["distribution"] == "fancy-cca" and words[0] in broken["error"]


def test_two_plugins_of_one_name(cli, fancy):
    fancy("")
    fancy("", distribution="plain-cca", version="0.2")
    told(cli(INCAST), "fancy-cca 3.1", "plain-cca 0.2", "use the same plugin name", "WORMHOLE_DISABLE_PLUGINS=fancy")
    assert cli(f"{INCAST} --disable-plugin fancy")[0] == EXIT_OK


def test_two_components_of_one_name(cli, fancy):
    fancy("@hookimpl\ndef wormhole_ccas():\n    return [Component(name='hpcc', build=print, summary='s')]\n")
    told(
        cli(INCAST), "plugin 'fancy' of fancy-cca 3.1", "plugin 'cca' of wormhole-cca", "both offer the cca 'hpcc'",
        "--disable-plugin fancy",
    )  # fmt: skip
    assert cli(f"{INCAST} --disable-plugin fancy")[0] == EXIT_OK


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@hookimpl\ndef wormhole_ccas():\n    return 'hpcc'\n", ["wormhole_ccas returned 'hpcc' (str)"]),
        ("@hookimpl\ndef wormhole_ccas():\n    return [Cca]\n", ["wormhole_ccas offers the class Cca"]),
        (OFFER.format(hook="ccas", build="7"), ["build is 7 (int); give it a function"]),
        ("@hookimpl\ndef wormhole_cca():\n    return []\n", ["unknown hook 'wormhole_cca'", "did you mean"]),
    ],
    ids=["text", "class", "build", "hook"],
)
def test_wrong_types_at_registration(cli, fancy, text, words):
    fancy(text)
    told(cli(INCAST), "plugin 'fancy' of fancy-cca 3.1", *words)
    assert cli(f"{INCAST} --disable-plugin fancy")[0] == EXIT_OK


USES = {
    "ccas": ("cca", f"{INCAST} --cca fancy"),
    "topologies": ("topology", "run --topology fancy --workload incast --quiet"),
    "workloads": ("workload", "run --topology star --workload fancy --quiet"),
    "routings": ("routing", "run --topology leaf-spine --workload permutation --routing fancy --quiet"),
    "observers": ("observer", f"{INCAST} --set observers.fancy=fancy"),
}


@pytest.mark.parametrize("hook", USES)
def test_a_build_that_gives_something_else(cli, fancy, hook):
    fancy(OFFER.format(hook=hook, build="lambda *arguments: 7"))
    kind, command = USES[hook]
    told(cli(command), f"{kind} 'fancy' (fancy-cca 3.1): build gave 7 (int)", "--disable-plugin fancy")


@pytest.mark.parametrize("hook", USES)
def test_a_build_that_raises(cli, fancy, hook):
    fancy(f"def build(*arguments):\n    raise LookupError('no table')\n{OFFER.format(hook=hook, build='build')}")
    kind, command = USES[hook]
    told(
        cli(command), f"while building {kind} 'fancy' (fancy-cca 3.1): LookupError: no table at ", "fancy_cca.py:3",
        "--disable-plugin fancy",
    )  # fmt: skip


@pytest.mark.parametrize("how", ["packet --model event", "packet --model process", "wormhole"])
def test_an_exception_in_on_ack(cli, fancy, how):
    fault = "if self.acks == 100:\n            raise KeyError('rtt')"
    fancy(SENDER.format(fault=fault) + OFFER.format(hook="ccas", build="Mine"))
    said = told(
        cli(f"{INCAST} --cca fancy --seed 5 --mode {how}"), "plugin 'fancy' of fancy-cca 3.1 failed: KeyError: 'rtt'",
        "--disable-plugin fancy to run without it", "fancy_cca.py:9", "seed 5", "--debug",
    )  # fmt: skip
    (time_ps,) = (int(part.split()[0]) for part in said.split("at simulated time ")[1:])
    assert time_ps > 100 * 80_000  # a hundred frames of 1,000 bytes at 100 Gbps


@pytest.mark.parametrize(
    ("hook", "text"),
    [
        ("workloads", "class Mine(Workload):\n    def __init__(self, *a):\n        pass\n"
                      "    def advance(self, now_ps, done):\n        raise KeyError('rtt')\n"),
        ("routings", "class Mine(Routing):\n    def __init__(self, *a):\n        pass\n"
                     "    def choose(self, key, switch, links, now_ps, seq):\n        raise KeyError('rtt')\n"),
        ("observers", "class Mine(Observer):\n    def __init__(self, *a):\n        pass\n"
                      "    def flow_finished(self, record):\n        raise KeyError('rtt')\n"),
    ],
    ids=["workload", "routing", "observer"],
)  # fmt: skip
def test_exceptions_of_other_kinds_while_running(cli, fancy, hook, text):
    fancy(text + OFFER.format(hook=hook, build="Mine"))
    told(
        cli(USES[hook][1]), "plugin 'fancy' of fancy-cca 3.1 failed: KeyError: 'rtt'", "--disable-plugin fancy",
        "at simulated time ",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("@hookimpl\ndef wormhole_run_started(run):\n    raise KeyError('rtt')\n", "at simulated time 0 ps"),
        (
            "@hookimpl\ndef wormhole_run_finished(run):\n    raise KeyError('rtt')\n",
            "after the last event, at simulated time ",
        ),
    ],
    ids=["started", "finished"],
)
def test_an_exception_in_a_life_cycle_hook(cli, fancy, text, moment):
    fancy(text)
    told(cli(INCAST), "plugin 'fancy' of fancy-cca 3.1 failed: KeyError: 'rtt'", "--disable-plugin fancy", moment)


def test_a_command_that_fails(cli, fancy):
    fancy("@hookimpl\ndef wormhole_commands(subparsers):\n    raise KeyError('rtt')\n")
    told(cli(INCAST), "plugin 'fancy' of fancy-cca 3.1", "wormhole_commands failed: KeyError: 'rtt'", "fancy")
    assert cli(f"{INCAST} --disable-plugin fancy")[0] == EXIT_OK
