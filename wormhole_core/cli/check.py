"""`wormhole-sim check NAME`: the conformance kit without pytest."""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ..component import near_match
from ..errors import EXIT_CHECK_FAILED, EXIT_OK, ConfigError
from ..hooks import KINDS
from ..run.experiment import parse_setting
from .tables import columns_table

RAISED = re.compile(r"expected no exception; saw (\w+)\b.* at (\S+:\d+)\Z", re.DOTALL)
STYLES = {"PASS": "green", "FAIL": "bold red", "skipped": "yellow"}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "check",
        help="check a plugin's component against its contract",
        description="Check a component against its contract, e.g. check my-cca --plugin my_cca.py.",
    )
    parser.add_argument("name", metavar="NAME", help="its name in experiment files")
    parser.add_argument("--kind", choices=tuple(KINDS), help="where several kinds have a component of that name")
    parser.add_argument(
        "--set", action="append", default=[], metavar="OPTION=VALUE", dest="settings", help="an option; repeatable"
    )
    parser.add_argument("--only", action="append", default=[], metavar="CHECK", help="only this check; repeatable")
    parser.add_argument("--json", action="store_true", help="the same as JSON, on standard output")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the checks; exit code 1 if one fails."""
    from ..testing import Subject, checks_for, run_checks

    kind = args.kind or find_kind(args.plugins, args.name)
    checks = checks_for(kind)
    if args.only:
        known = [check.name for check in checks]
        for name in args.only:
            if name not in known:
                raise ConfigError(f"--only {name}: no such check{near_match(name, known)} Checks: {', '.join(known)}")
        checks = [check for check in checks if check.name in args.only]
    options = dict(parse_setting(text) for text in args.settings)
    with tempfile.TemporaryDirectory(prefix="wormhole-check-") as folder:
        subject = Subject(
            entry=args.plugins.registry.get(kind, args.name), plugins=args.plugins, folder=Path(folder),
            options=options, files=tuple(args.plugin),
        )  # fmt: skip
        subject.config()  # options that are wrong or missing are told once, not by every check
        outcomes = run_checks(subject, checks)
    failed = sum(outcome.status == "FAIL" for outcome in outcomes)
    if args.json:
        json.dump(as_dict(subject, outcomes), sys.stdout, indent=2)
        print()
    else:
        show(subject, outcomes, failed)
    return EXIT_CHECK_FAILED if failed else EXIT_OK


def find_kind(plugins: Any, name: str) -> str:
    """The one kind that has a component of this name; raises ConfigError if none has, or several."""
    kinds = [kind for kind in KINDS if name in plugins.registry.names(kind)]
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        raise ConfigError(f"{name!r} is a {' and a '.join(kinds)}; add --kind {kinds[0]} or --kind {kinds[1]}")
    known = [entry.name for entry in plugins.registry.entries()]
    raise ConfigError(
        f"no component is called {name!r}{near_match(name, known) or ';'} `wormhole-sim plugins` lists all; "
        "add --plugin FILE for one that is not installed"
    )


def show(subject: Any, outcomes: list[Any], failed: int) -> None:
    """A table, then the messages of what failed."""
    console = Console(highlight=False)
    rows = [
        (
            outcome.check.name, Text(outcome.status, STYLES[outcome.status]), f"{outcome.elapsed_s:.2f} s",
            outcome.check.summary if outcome.status == "FAIL" else outcome.text,
        )
        for outcome in outcomes
    ]  # fmt: skip
    console.print(columns_table(subject.owner, ("check", "result", ">time", "what was seen"), rows))  # type: ignore[arg-type]
    for first, *same in alike(outcomes):
        console.print(Text.assemble((f"{first.check.name}: ", "bold red"), first.text), soft_wrap=True)
        if same:
            console.print(Text(f"  also in: {', '.join(outcome.check.name for outcome in same)}"), soft_wrap=True)
    for name, (value, reason) in subject.overrides().items():
        console.print(Text(f"limit {name} = {value:g}, set by the plugin: {reason}", style="yellow"), soft_wrap=True)
    for hint in hints(subject):
        console.print(Text(f"hint: {hint}", style="yellow"), soft_wrap=True)
    passed = sum(outcome.status == "PASS" for outcome in outcomes)
    console.print(Text(f"{passed} passed, {failed} failed, {len(outcomes) - passed - failed} skipped", style="bold"))


def alike(outcomes: list[Any]) -> list[list[Any]]:
    """The failures, those with the same exception from the same line together; numbers in it may differ."""
    groups: dict[str, list[Any]] = {}
    for outcome in outcomes:
        if outcome.status == "FAIL":
            raised = RAISED.search(outcome.text)
            groups.setdefault(" at ".join(raised.groups()) if raised else outcome.text, []).append(outcome)
    return list(groups.values())


def hints(subject: Any) -> list[str]:
    """What is no fault, and may surprise."""
    if subject.kind != "cca":
        return []
    try:
        from ..testing.checks.cca import build  # what simulates loads only here

        cca = build(subject)
        unknown = cca.settling_ps() is None and cca.period_ps() is None
    except Exception:  # a check has told of it
        return []
    if not unknown:
        return []
    return [
        "it declares neither settling_ps nor period_ps, so wormhole mode never skips a steady state of its flows "
        "(docs/tutorials/cca.md)"
    ]


def as_dict(subject: Any, outcomes: list[Any]) -> dict[str, Any]:
    """All of it as plain data."""
    return {
        "kind": subject.kind,
        "name": subject.entry.name,
        "plugin": subject.entry.plugin,
        "distribution": subject.entry.distribution,
        "version": subject.entry.version,
        "limits": {name: {"value": value, "reason": why} for name, (value, why) in subject.overrides().items()},
        "hints": hints(subject),
        "checks": [
            {"name": o.check.name, "status": o.status, "text": o.text, "elapsed_s": round(o.elapsed_s, 4)}
            for o in outcomes
        ],
    }
