"""Wheels of our four distributions, the three examples and a generated plugin, in a fresh environment.

Needs a package index for the libraries; nothing of ours comes from it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/plugins/*/pyproject.toml"))
BUILD = "import sys; from flit_core.buildapi import build_wheel; print(build_wheel(sys.argv[1]))"

pytestmark = pytest.mark.long


class Environment:
    """A virtual environment and a folder to work in; commands see nothing of this checkout."""

    def __init__(self, place: Path) -> None:
        self.work, self.wheels, self.place = place / "work", place / "wheels", place / "venv"
        self.work.mkdir()
        self.wheels.mkdir()
        venv.create(self.place, with_pip=True)
        scripts = self.place / ("Scripts" if os.name == "nt" else "bin")
        self.python, self.command = scripts / "python", scripts / "wormhole-sim"
        hidden = ("PYTHONPATH", "PYTHONHOME", "WORMHOLE_DISABLE_PLUGINS")
        self.env = {name: value for name, value in os.environ.items() if name not in hidden}

    def call(self, *arguments: object, cwd: Path | None = None, ok: bool = True) -> subprocess.CompletedProcess[str]:
        ran = subprocess.run(
            [str(argument) for argument in arguments],
            cwd=cwd or self.work, env=self.env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert not ok or ran.returncode == 0, ran.stdout + ran.stderr
        return ran

    def pip(self, *arguments: object) -> None:
        self.call(self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)

    def build(self, folder: Path) -> Path:
        """A wheel, from a copy that holds what a source distribution would."""
        copy = self.work.parent / "sources" / folder.name
        keep_out = shutil.ignore_patterns(
            ".*", "__pycache__", "dist", "build", "tests", "benchmarks", "examples", "docs"
        )
        shutil.copytree(folder, copy, ignore=keep_out)
        name = self.call(self.python, "-c", BUILD, self.wheels, cwd=copy).stdout.strip()
        return self.wheels / name

    def sim(self, text: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        return self.call(self.command, *text.split(), ok=ok)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp("fresh"))
    libraries = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    environment.pip("-c", ROOT / "constraints.txt", "flit_core>=3.11,<5", "pytest>=8", *libraries)
    wheels = [environment.build(folder) for folder in (*FOLDERS, *EXAMPLES)]
    environment.pip("--no-index", *wheels)
    return environment


def test_everything_is_found_and_the_core_is_not_this_checkout(fresh):
    listing = json.loads(fresh.sim("plugins --json").stdout)
    distributions = {plugin["distribution"]: plugin["version"] for plugin in listing["plugins"]}
    for folder in EXAMPLES:
        assert distributions[f"wormhole-example-{folder.name}"] == "0.3.1"
    assert {"wormhole-sim", "wormhole-cca", "wormhole-topologies", "wormhole-workloads"} <= set(distributions)
    place = fresh.call(fresh.python, "-c", "import wormhole_core; print(wormhole_core.__file__)").stdout
    assert Path(place.strip()).is_relative_to(fresh.place)


def test_the_examples_run_together(fresh):
    options = (
        "--topology slim-fly --set topology.order=3 --set topology.hosts_per_router=1 "
        "--workload parameter-server --set workload.size_bytes=20000 --cca powertcp"
    )
    summary = json.loads(fresh.sim(f"run {options} --json --quiet").stdout)
    assert summary["status"] == "complete" and summary["flows_done"] == 2 * 2 * 17
    used = {c["name"]: (c["distribution"], c["version"]) for c in summary["manifest"]["plugins"]["components"]}
    for name in ("powertcp", "slim-fly", "parameter-server"):
        assert used[name] == (f"wormhole-example-{name}", "0.3.1")
    refused = fresh.sim(f"run {options} --disable-plugin example-powertcp", ok=False)
    assert refused.returncode == 2 and "unknown cca 'powertcp'" in refused.stderr


def test_a_new_plugin_is_a_wheel_that_runs(fresh):
    fresh.sim("new-plugin cca my-cca")
    fresh.pip("--no-index", fresh.build(fresh.work / "my-cca"))
    summary = json.loads(fresh.sim("run --topology star --workload incast --cca my-cca --json --quiet").stdout)
    (used,) = (c for c in summary["manifest"]["plugins"]["components"] if c["name"] == "my-cca")
    assert (used["distribution"], used["version"], summary["status"]) == ("my-cca", "0.1.0", "complete")
    fresh.call(fresh.python, "-m", "pip", "uninstall", "--quiet", "--yes", "my-cca")


def test_an_editable_install_works_at_once(fresh):
    fresh.sim("new-plugin workload my-workload")
    fresh.pip("--no-index", "--no-build-isolation", "-e", fresh.work / "my-workload")
    assert json.loads(fresh.sim("run --topology star --workload my-workload --json --quiet").stdout)["flows_done"] == 8
    module = fresh.work / "my-workload" / "my_workload.py"
    module.write_text(module.read_text().replace("laps: int = positive(default=1)", "laps: int = positive(default=2)"))
    assert json.loads(fresh.sim("run --topology star --workload my-workload --json --quiet").stdout)["flows_done"] == 16
    fresh.call(fresh.python, "-m", "pip", "uninstall", "--quiet", "--yes", "my-workload")


def test_a_broken_wheel_is_named_and_can_be_left_out(fresh):
    fresh.sim("new-plugin cca bad-cca")
    module = fresh.work / "bad-cca" / "bad_cca.py"
    working = module.read_text()
    module.write_text(working.replace("import attrs", "import torch_of_next_year\nimport attrs"))
    fresh.pip("--no-index", "--no-build-isolation", "-e", fresh.work / "bad-cca")
    try:
        run = "run --topology star --workload incast --quiet"
        broken = fresh.sim(run, ok=False)
        assert broken.returncode == 4
        for word in ("plugin 'bad-cca' of bad-cca 0.1.0", "torch_of_next_year", "WORMHOLE_DISABLE_PLUGINS=bad-cca"):
            assert word in broken.stderr
        fresh.sim(f"{run} --disable-plugin bad-cca")
        module.write_text(working.replace('"""Called for each', 'raise KeyError("rtt")\n        """Called for each'))
        broken = fresh.sim(f"{run} --cca bad-cca", ok=False)
        assert broken.returncode == 4
        for word in (
            "plugin 'bad-cca' of bad-cca 0.1.0 failed: KeyError: 'rtt'",
            "at simulated time ",
            "--disable-plugin",
        ):
            assert word in broken.stderr
    finally:
        fresh.call(fresh.python, "-m", "pip", "uninstall", "--quiet", "--yes", "bad-cca")


def test_a_plugin_for_another_series_of_the_core_is_refused_by_pip(fresh):
    fresh.sim("new-plugin cca late-cca")
    project = fresh.work / "late-cca" / "pyproject.toml"
    project.write_text(project.read_text().replace("wormhole-sim>=0.1,<0.2", "wormhole-sim>=0.2,<0.3"))
    ran = fresh.call(
        fresh.python, "-m", "pip", "install", "--no-index", "--no-build-isolation", fresh.work / "late-cca", ok=False
    )
    assert ran.returncode != 0 and "wormhole-sim" in ran.stderr
