"""`wormhole-sim new-plugin`: each kind's package runs at once, passes the kit, and nothing is overwritten."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import attrs
import pytest

from wormhole_core import __version__
from wormhole_core.api import load
from wormhole_core.cli.new_plugin import KIND_TEXTS, package_files, run_command
from wormhole_core.hooks import KINDS


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pretend_installed(folder: Path) -> None:
    """What an installation adds to a package: the metadata that names its entry point."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    module = project["name"].replace("-", "_")
    info = folder / f"{module}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    entries = "".join(f"{name} = {place}\n" for name, place in project["entry-points"]["wormhole_sim"].items())
    (info / "entry_points.txt").write_text(f"[wormhole_sim]\n{entries}")


def test_every_kind_has_a_template():
    assert set(KIND_TEXTS) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_runs_before_it_is_installed(cli, here, kind):
    name = f"my-{kind}"
    answer = cli("new-plugin", kind, name)
    assert (answer.code, answer.err) == (0, "")
    assert max(map(len, answer.out.splitlines())) <= 80
    readme = (here / name / "README.md").read_text()
    assert max(len(line) for line in readme.splitlines() if line.startswith("    ")) <= 80
    (command,) = (line for line in answer.out.replace("\\\n", "").splitlines() if "sim run" in line)
    arguments = command.split("wormhole-sim ")[1].split()
    ran = cli(*arguments, "--json")
    assert (ran.code, ran.result["status"]) == (0, "complete"), ran.err
    (used,) = (c for c in ran.result["manifest"]["plugins"]["components"] if c["name"] == name)
    assert used["kind"] == kind
    assert used["distribution"] == f"{name}/{name.replace('-', '_')}.py"


@pytest.mark.parametrize("kind", KINDS)
def test_an_installed_new_plugin_is_found(cli, here, monkeypatch, kind):
    name = f"my-{kind}"
    assert cli("new-plugin", kind, name).code == 0
    pretend_installed(here / name)
    monkeypatch.syspath_prepend(here / name)
    ran = cli(*run_command(kind, name).split()[1:], "--json")
    assert ran.code == 0, ran.err
    (used,) = (c for c in ran.result["manifest"]["plugins"]["components"] if c["name"] == name)
    assert (used["distribution"], used["version"]) == (name, "0.1.0")
    described = cli("describe", kind, name)
    assert described.code == 0 and name in described.out
    sys.modules.pop(name.replace("-", "_"))  # the next test's module is another file of that name


QUICK = ("topology", "routing")
"""Kinds whose contract tests are run by `make test`; `make test-long` runs all."""


@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.long) for kind in KINDS]
)
def test_a_new_plugin_passes_its_own_contract_test(cli, here, kind):
    name = f"my-{kind}"
    cli("new-plugin", kind, name)
    pretend_installed(here / name)
    path = os.pathsep.join([str(here / name), *sys.path])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=here / name,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout and " failed" not in ran.stdout


def test_tests_of_a_package_that_is_not_installed_say_what_to_do(cli, here):
    cli("new-plugin", "cca", "my-cca")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=here / "my-cca",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode != 0
    assert "my-cca is not installed; run: python -m pip install -e ." in ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_the_package_is_complete_and_documented(here, cli, kind):
    files = package_files(kind, "my-thing")
    assert set(files) == {"pyproject.toml", "my_thing.py", "README.md", "conftest.py", "tests/test_contract.py"}
    assert not any("example" in text.lower().replace("an example", "") for text in files.values())
    project = tomllib.loads(files["pyproject.toml"])["project"]
    major, minor = __version__.split(".")[:2]
    assert f"wormhole-sim>={major}.{minor},<{major}.{int(minor) + 1}" in project["dependencies"]
    assert project["entry-points"] == {"wormhole_sim": {"my-thing": "my_thing"}}
    (here / "my_thing.py").write_text(files["my_thing.py"])
    component = load(["my_thing.py"]).registry.get(kind, "my-thing").component
    for field in attrs.fields(component.config):
        assert field.default is not attrs.NOTHING, f"{field.name} must have a default: it runs at once"


def test_generated_code_is_clean(here, cli):
    pytest.importorskip("ruff", reason="ruff is not installed here")
    for kind in KINDS:
        assert cli("new-plugin", kind, f"my-{kind}").code == 0
    lint = [sys.executable, "-m", "ruff"]
    own = ["--isolated", "--line-length", "120", "--target-version", "py311"]
    for command in (["check", *own, "--select", "E,F,W,UP,B", "."], ["format", "--check", *own, "."]):
        ran = subprocess.run([*lint, *command], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("My-cca", "use small letters, digits and single dashes"),
        ("my_cca", "use small letters, digits and single dashes"),
        ("../up", "use small letters, digits and single dashes"),
        ("8bit", "a letter first"),
        ("class", "cannot name a plugin"),
        ("queue", "already a Python module 'queue'"),
        ("attrs", "already a Python module 'attrs'"),
        ("hpcc", "already a cca 'hpcc' (wormhole-cca"),
        ("topologies", "already a plugin called 'topologies'"),
    ],
)
def test_a_bad_name_is_refused_and_leaves_nothing(cli, here, name, told):
    answer = cli("new-plugin", "cca", name)
    assert answer.code == 2
    assert told in answer.line
    assert list(here.iterdir()) == []


def test_an_existing_folder_is_left_alone(cli, here):
    (here / "my-cca").mkdir()
    (here / "my-cca" / "thesis.txt").write_text("a year's work")
    answer = cli("new-plugin", "cca", "my-cca")
    assert answer.code == 2
    assert answer.line == "my-cca exists already; choose another name, or another current directory"
    assert [path.name for path in (here / "my-cca").iterdir()] == ["thesis.txt"]


def test_an_unwritable_place_is_named(cli, here, monkeypatch):
    def refuse(*_arguments, **_options):
        raise PermissionError(13, "Permission denied", "my-cca")

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert cli("new-plugin", "cca", "my-cca").line == "my-cca: cannot write: Permission denied"
