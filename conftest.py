"""Stops a test run that would test nothing or other code: plugins missing, or from another checkout."""

from __future__ import annotations

import importlib.util
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent


def check_installed(root: Path) -> str | None:
    """What is wrong with the environment for testing the checkout at `root`, or None."""
    declared: dict[str, str] = {}
    for project in sorted(root.glob("plugins/*/pyproject.toml")):
        declared |= tomllib.loads(project.read_text(encoding="utf-8"))["project"]["entry-points"]["wormhole_sim"]
    installed = {entry.name for entry in entry_points(group="wormhole_sim")}
    missing = sorted(declared.keys() - installed)
    if missing:
        return f"built-in plugins not installed: {', '.join(missing)}; run make test"
    for package in ("wormhole_core", *(value.partition(".")[0] for value in declared.values())):
        spec = importlib.util.find_spec(package)
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        if origin is None or not origin.is_relative_to(root):
            return f"{package} comes from {origin}, not from {root}; run make clean test"
    return None


# Not where something is amiss: the import would fail before the message below is given.
pytest_plugins = [] if check_installed(ROOT) else ["wormhole_core.testing.pytest_plugin"]


def pytest_configure(config: pytest.Config) -> None:
    """Compare what is installed with what this checkout holds."""
    trouble = check_installed(ROOT)
    if trouble:
        raise pytest.UsageError(trouble)
