"""`wormhole-sim doctor`: is this installation whole?"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from rich.console import Console
from rich.text import Text

import wormhole_core

from .. import __version__
from ..errors import EXIT_CHECK_FAILED, EXIT_OK
from ..run.manifest import LIBRARIES, library_version

IMPORT_PACKAGE, DISTRIBUTION = "wormhole_core", "wormhole-sim"
EXPECTED_PLUGINS = {"cca": "wormhole-cca", "topologies": "wormhole-topologies", "workloads": "wormhole-workloads"}
OLDEST_PYTHON = (3, 11)

Finding = tuple[bool, str]
"""(is it well, one line)."""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("doctor", help="check this installation", description="Check this installation.")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print all findings; exit code 1 if one is bad."""
    console = Console(highlight=False)
    findings = examine(args.plugins)
    for well, line in findings:
        console.print(Text.assemble(("ok    ", "green") if well else ("FAULT ", "bold red"), line), soft_wrap=True)
    return EXIT_OK if all(well for well, _ in findings) else EXIT_CHECK_FAILED


def examine(plugins: object) -> list[Finding]:
    """Everything that is known to go wrong with installations."""
    return [*_python(), *_owners(), *_libraries(), *_plugins(plugins)]


def _python() -> list[Finding]:
    well = sys.version_info >= OLDEST_PYTHON
    return [(well, f"Python {platform.python_version()}" + ("" if well else "; 3.11 or newer is needed"))]


def _owners() -> list[Finding]:
    """Unrelated projects use similar names; a second owner of our package mixes its files with ours."""
    owners = _owner_names()
    here = Path(wormhole_core.__file__).resolve().parent
    others = [name for name in owners if name != DISTRIBUTION]
    if others:
        return [
            (
                False,
                f"{IMPORT_PACKAGE} is also installed by {', '.join(others)}; uninstall it: pip uninstall {others[0]}",
            )
        ]
    if not owners:
        return [(False, f"{DISTRIBUTION} is not installed (running from {here}); run: pip install -e .")]
    version = library_version(DISTRIBUTION)
    source = _editable_source()
    if source is not None and source != here.parent:
        return [(False, f"{DISTRIBUTION} is installed from {source}, but {here.parent} is what runs; install it again")]
    if version != __version__:
        return [(False, f"{DISTRIBUTION} {version} is installed but {here} is {__version__}; install again")]
    return [(True, f"{DISTRIBUTION} {version}, the only owner of {IMPORT_PACKAGE}, in {here}")]


def _owner_names() -> list[str]:
    """Distributions that bring our package. An editable installation lists no files of the package, so
    it is asked for by its own name."""
    names = {name.lower() for name in importlib.metadata.packages_distributions().get(IMPORT_PACKAGE, [])}
    if library_version(DISTRIBUTION) != "not installed":
        names.add(DISTRIBUTION)
    return sorted(names)


def _editable_source() -> Path | None:
    """The folder an editable installation points at (PEP 610); None for any other."""
    try:
        record = json.loads(importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None
    if not record.get("dir_info", {}).get("editable"):
        return None
    return Path(url2pathname(urlsplit(record.get("url", "")).path)).resolve()


def _libraries() -> list[Finding]:
    findings = []
    for name in (*LIBRARIES, "rich"):
        version = library_version(name)
        findings.append((version != "not installed", f"{name} {version}"))
    return findings


def _plugins(plugins: object) -> list[Finding]:
    findings: list[Finding] = []
    names = {info.name for info in plugins.infos}  # type: ignore[attr-defined]
    refused = {broken.name for broken in plugins.broken}  # type: ignore[attr-defined]
    for info in plugins.infos:  # type: ignore[attr-defined]
        findings.append((True, f"{info}"))
    for broken in plugins.broken:  # type: ignore[attr-defined]
        findings.append((False, broken.error))
    for name, distribution in EXPECTED_PLUGINS.items():
        if name not in names and name not in refused and name not in plugins.disabled:  # type: ignore[attr-defined]
            findings.append((False, f"{distribution} is not installed; run: pip install {distribution}"))
    return findings
