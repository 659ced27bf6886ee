"""Fixtures for tests of the whole program."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def pretend_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Path], None]:
    """Make a package's folder look installed for the length of a test: on the path, with its entry points."""
    before = set(sys.modules)

    def install(folder: Path) -> None:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        site = tmp_path / "site" / project["name"]
        info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir(parents=True)
        name_and_version = f"Name: {project['name']}\nVersion: {project['version']}\n"
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\n{name_and_version}", encoding="utf-8")
        entries = "".join(f"{name} = {place}\n" for name, place in project["entry-points"]["wormhole_sim"].items())
        (info / "entry_points.txt").write_text(f"[wormhole_sim]\n{entries}", encoding="utf-8")
        monkeypatch.syspath_prepend(site)
        monkeypatch.syspath_prepend(folder)

    yield install
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if "examples" in Path(file).parts or file.startswith(str(tmp_path)):
            del sys.modules[name]
