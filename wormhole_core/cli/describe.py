"""`wormhole-sim describe KIND NAME`: the options of a component, read from its configuration class."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import textwrap
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import attrs
from rich.console import Console
from rich.text import Text

from ..component import CHOICES, near_match
from ..errors import ConfigError
from ..hooks import KINDS
from ..run.acceleration import AccelerationConfig
from ..run.experiment import SECTION_CONFIGS, RunConfig
from ..units import format_rate, format_size, format_time
from .tables import columns_table

FORMATS = {"_ps": format_time, "_bps": format_rate, "_bytes": format_size}
UNITS = {"_ps": "time", "_bps": "rate", "_bytes": "bytes", "_bits": "bits", "_packets": "packets", "_hops": "hops"}

SECTIONS = {**SECTION_CONFIGS, "acceleration": AccelerationConfig}
"""Sections with options of the core's own."""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "describe",
        help="show the options of a component",
        description="Show the options of a component (describe cca hpcc) or of a section (describe section network).",
    )
    parser.add_argument("kind", choices=(*KINDS, "section"), metavar="KIND", help=f"{', '.join(KINDS)}, or section")
    parser.add_argument(
        "name", metavar="NAME", help=f"its name in experiment files; for a section: {', '.join(SECTIONS)}"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Print summary, options, presets and reference."""
    console = Console(highlight=False)
    if args.kind == "section":
        if args.name not in SECTIONS:
            raise ConfigError(
                f"unknown section {args.name!r}{near_match(args.name, SECTIONS) or ';'} sections: {', '.join(SECTIONS)}"
            )
        console.print(Text(f"[{args.name}]", style="bold"))
        _print_options(console, SECTIONS[args.name], f"[{args.name}]")
        return
    entry = args.plugins.registry.get(args.kind, args.name)
    component = entry.component
    console.print(Text.assemble((f"{entry.owner}: ", "bold"), component.summary))
    if component.reference:
        console.print(Text(f"After: {component.reference}"))
    if about := about_options(component.config, args.name):
        console.print(Text(about, style="dim"))
    _print_options(console, component.config, f"{args.kind} {args.name}")
    for label, preset in component.presets.items():
        console.print(Text(f"preset {label}", style="bold"))
        for section, values in preset.items():
            text = ", ".join(f"{name} = {value!r}" for name, value in values.items())
            console.print(Text(textwrap.indent(f"{section}: {text}", "  ")))


def about_options(config: type, name: str) -> str:
    """The class's docstring, less a first sentence that only says whose options these are."""
    text = inspect.cleandoc(config.__doc__ or "")
    if text.startswith("Method generated"):
        return ""
    return re.sub(rf"\AOptions of `?{re.escape(name)}`?\.\s*", "", text)


def _print_options(console: Console, config: type, what: str) -> None:
    fields = attrs.fields(config)
    if not fields:
        console.print(f"{what} has no options")
        return
    notes = field_notes(config)
    rows = [(a.name, unit_of(a), default_of(a, config is not RunConfig), _note(a, notes)) for a in fields]
    console.print(columns_table("Options", ("option", "unit", "default", "what it is"), rows))


def _note(field: Any, notes: Mapping[str, str]) -> str:
    choices = field.metadata.get(CHOICES, ())
    return "\n".join(filter(None, (notes.get(field.name, ""), choices and f"One of: {', '.join(choices)}.")))


def unit_of(field: Any) -> str:
    """From the field's suffix, else its type."""
    for suffix, unit in UNITS.items():
        if field.name.endswith(suffix):
            return unit
    kind = str(field.type or "").replace(" | None", "")
    return {"bool": "switch", "int": "count", "float": "number", "str": "text"}.get(kind, kind)


def default_of(field: Any, derives: bool = True) -> str:
    """As a user would write it. derives: None means that the value follows from others."""
    value = field.default
    if value is attrs.NOTHING:
        return "(required)"
    if value is None:
        return "derived" if derives and any(field.name.endswith(suffix) for suffix in UNITS) else "none"
    if isinstance(value, bool):
        return str(value).lower()
    for suffix, form in FORMATS.items():
        if field.name.endswith(suffix) and isinstance(value, int):
            return form(value)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def field_notes(config: type) -> dict[str, str]:
    """The text below each field in the class body, where its source can be read; inherited ones too."""
    notes: dict[str, str] = {}
    for base in reversed(config.__mro__[:-1]):
        notes.update(_own_field_notes(base))
    return notes


def _own_field_notes(config: type) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(config)))
    except (OSError, TypeError, SyntaxError):
        return {}
    notes: dict[str, str] = {}
    body = tree.body[0].body if tree.body and isinstance(tree.body[0], ast.ClassDef) else []
    for item, following in pairwise(body):
        if (
            isinstance(item, ast.AnnAssign)
            and isinstance(item.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            notes[item.target.id] = " ".join(following.value.value.split())
    return notes
