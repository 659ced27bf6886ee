"""Four distributions, one version, one list of what to install."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import wormhole_core
from conftest import check_installed

ROOT = Path(__file__).resolve().parent.parent
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def test_one_version_everywhere():
    versions = {project(folder)["project"]["version"] for folder in (ROOT, *PLUGINS)}
    assert versions == {wormhole_core.__version__}


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_a_plugin_distribution(folder):
    data = project(folder)
    package = f"wormhole_{folder.name}"
    assert data["project"]["name"] == f"wormhole-{folder.name}"
    assert data["tool"]["flit"]["module"]["name"] == package
    assert data["project"]["entry-points"] == {"wormhole_sim": {folder.name: f"{package}.plugin"}}
    assert (folder / package / "plugin.py").is_file() and (folder / "README.md").is_file()


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_a_plugin_accepts_this_minor_series_of_the_core(folder):
    major, minor = (int(part) for part in wormhole_core.__version__.split(".")[:2])
    bound = f"wormhole-sim>={major}.{minor},<{major}.{minor + 1}"
    assert [d for d in project(folder)["project"]["dependencies"] if d.startswith("wormhole")] == [bound]


def test_the_core_never_depends_on_plugins_by_name():
    # Another project may take such a name on an index, and would then be installed.
    data = project(ROOT)["project"]
    assert [d for d in data["dependencies"] if d.startswith("wormhole")] == []
    assert data["optional-dependencies"] == {"plots": ["matplotlib>=3.8"]}


def requirements() -> list[str]:
    return (ROOT / "requirements-dev.txt").read_text().splitlines()


def test_everything_is_installed_by_one_list():
    editable = [line.removeprefix("-e ") for line in requirements() if line.startswith("-e ")]
    assert editable == [".", *(f"./plugins/{folder.name}" for folder in PLUGINS)]


def test_the_environment_is_pinned():
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    wanted = [re.split(r"[>=<]", d)[0] for d in project(ROOT)["project"]["dependencies"]]
    wanted += [re.split(r"[>=<]", line)[0] for line in requirements() if not line.startswith("-")]
    assert [name for name in wanted if name not in pins] == []
    assert not any("wormhole" in name for name in pins)


def test_pre_commit_uses_the_same_ruff():
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    assert re.findall(r"ruff-pre-commit\n\s+rev: v(\S+)", text) == [pins["ruff"]]


def test_the_makefile_has_the_commands_and_calls_modules():
    text = (ROOT / "Makefile").read_text()
    phony = next(line for line in text.splitlines() if line.startswith(".PHONY:")).split()[1:]
    assert set(phony) == {"install", "demo", "test", "test-long", "lint", "bench", "bench-wormhole", "docs", "clean"}
    assert all(f"\n{target}:" in text for target in phony)
    assert ".venv/bin/" not in text.replace(".venv/bin/python", "")


def test_an_old_python_is_told(tmp_path):
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    for name in ("requirements-dev.txt", "constraints.txt", "pyproject.toml"):
        (tmp_path / name).touch()
    old = tmp_path / "old-python"
    old.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c \"import sys; sys.version_info = (3, 9); sys.argv[0] = '-c'\n$2\"\n"
    )
    old.chmod(0o755)
    run = subprocess.run(["make", f"PYTHON={old}", "test"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert "Wormhole needs Python 3.11 or newer, found 3.9; try make PYTHON=python3.11 test" in run.stderr


def test_the_guard_stops_a_run_without_plugins_or_of_other_code(tmp_path):
    assert check_installed(ROOT) is None
    folder = tmp_path / "plugins" / "fluxes"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project.entry-points.wormhole_sim]\nfluxes = "wormhole_fluxes.plugin"\n')
    assert check_installed(tmp_path) == "built-in plugins not installed: fluxes; run make test"
    (folder / "pyproject.toml").write_text('[project.entry-points.wormhole_sim]\ncca = "wormhole_cca.plugin"\n')
    told = check_installed(tmp_path)
    assert told is not None and told.startswith("wormhole_core comes from ") and told.endswith("run make clean test")
