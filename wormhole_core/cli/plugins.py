"""`wormhole-sim plugins`: what is loaded, from where, and what is broken."""

from __future__ import annotations

import argparse
import json
import sys

from rich.console import Console
from rich.text import Text

from ..errors import EXIT_OK, EXIT_PLUGIN
from ..hooks import KINDS
from .tables import columns_table


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("plugins", help="list plugins and what they offer", description="List plugins.")
    parser.add_argument("--kind", choices=tuple(KINDS), help="only this kind of component")
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List; exit code 4 if a plugin is broken."""
    plugins = args.plugins
    entries = plugins.registry.entries(args.kind)
    if args.json:
        found = [(info, None) for info in plugins.infos] + [(broken, broken.error) for broken in plugins.broken]
        listing = {
            "plugins": [
                {"name": p.name, "distribution": p.distribution, "version": p.version, "error": error}
                for p, error in found
            ],
            "components": [
                {"kind": e.kind, "name": e.name, "summary": e.component.summary, "plugin": e.plugin} for e in entries
            ],
            "disabled": list(plugins.disabled),
        }
        json.dump(listing, sys.stdout, indent=2)
        print()
        return EXIT_PLUGIN if plugins.broken else EXIT_OK
    console = Console(highlight=False)
    if args.kind is None:
        rows = [
            (i.name, i.origin, i.source, ", ".join(h.removeprefix("wormhole_") for h in i.hooks)) for i in plugins.infos
        ]
        console.print(columns_table("Plugins", ("name", "distribution", "found as", "hooks"), rows))
    rows = [(e.kind, e.name, e.component.summary, e.plugin) for e in entries]
    console.print(columns_table("Components", ("kind", "name", "what it is", "plugin"), rows))
    console.print(Text("wormhole-sim describe KIND NAME shows options and defaults", style="dim"))
    for broken in plugins.broken:
        console.print(Text(f"broken: {broken.error}", style="bold red"), soft_wrap=True)
    for name in plugins.disabled:
        console.print(Text(f"disabled: {name}", style="yellow"))
    return EXIT_PLUGIN if plugins.broken else EXIT_OK
