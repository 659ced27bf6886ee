"""`wormhole-sim memo`: look into a file of remembered episodes, check it, make it smaller."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ..errors import CheckFailed, ConfigError, OutputError
from ..run.memo_store import entries, open_store, patterns, store_facts, to_prune
from ..run.pictures import adjacency, can_draw, draw, title
from ..run.wording import counted
from ..units import format_size, format_time, parse_size_bytes
from .tables import columns_table

PATTERNS = 6


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand and its own."""
    parser = subparsers.add_parser(
        "memo",
        help="look into a file of remembered episodes",
        description="Look into a file of remembered episodes (made by --memo FILE), check it, make it smaller.",
    )
    parser.set_defaults(run=lambda _args: parser.print_help())
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    for name, function, text in (
        ("stats", stats, "how many entries, how large, which are used most"),
        ("verify", verify, "decode every entry; exit code 1 if one is damaged"),
        ("prune", prune, "delete entries"),
        ("export", export, "every entry as a line of JSON"),
        ("show", show, "the most frequent contention patterns, with their Flow Conflict Graphs"),
    ):
        action = actions.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")
        action.add_argument("file", metavar="FILE", help="the store")
        # The options that plugins need stand behind the last word, as with every other command.
        action.add_argument("--plugin", action="append", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        action.add_argument("--disable-plugin", action="append", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        action.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        action.set_defaults(run=function, parser=action)
        if name == "stats":
            action.add_argument("--json", action="store_true", help="the same as JSON")
        elif name == "prune":
            action.add_argument("--max-bytes", metavar="SIZE", help="delete the least used until the rest fits")
            action.add_argument("--unused", action="store_true", help="delete what was never replayed")
            action.add_argument("--damaged", action="store_true", help="delete what cannot be decoded")
        elif name == "export":
            action.add_argument("--out", metavar="FILE", help="write there instead of standard output")
        elif name == "show":
            action.add_argument("--top", type=int, default=PATTERNS, metavar="N", help="how many (default %(default)s)")
            action.add_argument("--out", metavar="PICTURE", help="draw them into this file (.png, .svg, .pdf)")


def stats(args: argparse.Namespace) -> None:
    """Numbers, and the entries used most."""
    with _store(args) as store:
        facts = store_facts(store)
    if args.json:
        print(json.dumps(facts, indent=2))
        return
    console = Console(highlight=False)
    held, uses = counted(facts["entries"], "entry"), counted(facts["uses"], "time")
    console.print(Text(f"{held}, {format_size(facts['bytes'])}, replayed {uses}"))
    console.print(
        f"{counted(facts['episodes'], 'episode')} of {counted(facts['flows'], 'flow')}, "
        f"{facts['approximate']:,} of them with skips or shortened ends; "
        f"{facts['unused']:,} never used; {facts['random_markers']:,} random; "
        f"{facts['damaged']:,} damaged"
    )
    if facts["most_used"]:
        console.print()
        console.print(columns_table("Most used", ("entry", ">uses", ">size", ">flows", ">lasts"), [
            (e["key"], f"{e['uses']:,}", format_size(e["bytes"]), f"{e['flows']:,}", format_time(e["duration_ps"]))
            for e in facts["most_used"]
        ]))  # fmt: skip


def verify(args: argparse.Namespace) -> None:
    """Raises CheckFailed if an entry is damaged."""
    count, bad = 0, []
    with _store(args) as store:
        for entry in entries(store):
            count += 1
            if entry.recording is None:
                bad.append(entry)
    for entry in bad:
        print(f"{entry.key.hex()}: {entry.fault}")
    if bad:
        raise CheckFailed(
            f"{args.file}: {len(bad)} of {counted(count, 'entry')} damaged; runs pass over these, "
            f"`wormhole-sim memo prune --damaged {args.file}` deletes them"
        )
    print(f"{args.file}: {counted(count, 'entry')}, all sound")


def prune(args: argparse.Namespace) -> None:
    """Delete, say how much."""
    if args.max_bytes is None and not args.unused and not args.damaged:
        raise ConfigError("nothing to prune by: give --max-bytes SIZE, --unused or --damaged")
    with _store(args) as store:
        gone = to_prune(store, max_bytes=_size(args.max_bytes), unused=args.unused, damaged=args.damaged)
        deleted = store.delete([entry.key for entry in gone])
        store.compact()
        left = store.size_bytes()
    print(
        f"{counted(deleted, 'entry')} deleted, {format_size(sum(e.size_bytes for e in gone))}; {format_size(left)} left"
    )


def export(args: argparse.Namespace) -> None:
    """JSON lines."""
    with _store(args) as store:
        lines = (json.dumps(entry.as_dict(), separators=(",", ":")) + "\n" for entry in entries(store))
        if args.out is None:
            sys.stdout.writelines(lines)
            return
        try:
            with open(args.out, "w", encoding="utf-8") as file:
                file.writelines(lines)
        except OSError as error:
            raise OutputError(f"{args.out}: cannot write there: {error.strerror or error}") from None


def show(args: argparse.Namespace) -> None:
    """Patterns as a table, then as a picture or as text."""
    if args.top < 1:
        raise ConfigError(f"--top {args.top}: expected a number of patterns, at least 1")
    if args.out is not None and not can_draw():
        raise ConfigError("--out needs matplotlib: pip install 'wormhole-sim[plots]'; without --out graphs are text")
    with _store(args) as store:
        found = patterns(store)
    console = Console(highlight=False)
    if not found:
        console.print("No episodes are remembered here.")
        return
    shown = found[: args.top]
    console.print(
        f"{counted(len(found), 'contention pattern')}; vertices are flows with their mean rate, edges links shared."
    )
    if args.out is not None:
        draw(shown, args.out)
    for number, pattern in enumerate(shown, 1):
        console.print()
        console.print(Text(f"{number}. {title(pattern)}", style="bold"))
        console.print(Text(f"   {counted(pattern.recordings, 'recording')}, e.g. {pattern.example.name}", style="dim"))
        if args.out is None:
            for line in adjacency(pattern.graph):
                console.print(Text(f"   {line}"), soft_wrap=True)
    if args.out is not None:
        console.print(Text(f"\nTheir graphs are in {Path(args.out)}", style="dim"), soft_wrap=True)


def _store(args: argparse.Namespace) -> contextlib.closing[Any]:
    return contextlib.closing(open_store(args.file, args.plugins))


def _size(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        value = parse_size_bytes(text)
    except ValueError as error:
        raise ConfigError(f"--max-bytes: {error}") from None
    if value < 0:
        raise ConfigError(f"--max-bytes {text}: expected a size that is not negative")
    return value
