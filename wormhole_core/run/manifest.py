"""What a result says about how it was made: versions, plugins, and the experiment itself."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Any

from .. import PLUGIN_API, __version__
from .build import Parts

LIBRARIES = ("simpy", "networkx", "pluggy", "attrs")


def make_manifest(parts: Parts, plugins: Any) -> dict[str, Any]:
    """Core version, plugin API, libraries, every loaded plugin and which of them were used."""
    return {
        "wormhole_sim": __version__,
        "plugin_api": PLUGIN_API,
        "python": platform.python_version(),
        "libraries": {name: library_version(name) for name in LIBRARIES},
        "plugins": plugins.manifest(parts.used),
    }


def library_version(distribution: str) -> str:
    """Installed version of a distribution, or "not installed"."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
