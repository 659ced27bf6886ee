"""`wormhole-sim compare`: one experiment run twice, and how far the results are apart."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from ..component import near_match
from ..errors import EXIT_CHECK_FAILED, EXIT_OK, CheckFailed, ConfigError
from ..run.compare import MEASURES, Comparison, compare_experiment, measure
from ..run.experiment import parse_setting
from ..run.outputs import render_json
from ..run.trust import sentence
from ..run.wording import counted
from ..units import format_size, format_time, parse_time_ps
from .options import add_run_options, experiment_from_args, no_other_output
from .progress import make_watcher
from .tables import columns_table

DEFAULT_OTHER = "run.mode=wormhole"
TITLES = {
    "fct_error": "FCT, per flow", "sorted_fct_error": "FCT, sorted", "mean_fct_error": "mean FCT",
    "makespan_error": "makespan",
}  # fmt: skip


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "compare",
        help="packet mode beside wormhole mode: errors and cost",
        description="Run an experiment in packet mode and in another way, and compare completion times and cost. "
        "Beside wormhole mode a run in fluid mode shows where packets matter.",
    )
    add_run_options(parser)
    parser.add_argument(
        "--against", action="append", metavar="SECTION.OPTION=VALUE",
        help=f"what is different in the second run; repeatable (default {DEFAULT_OTHER})",
    )  # fmt: skip
    parser.add_argument(
        "--floor",
        type=int,
        default=0,
        metavar="N",
        help="repeat packet mode N times with jittered starts; takes as long as N runs in packet mode",
    )
    parser.add_argument(
        "--jitter", metavar="TIME", help="largest shift of a start time in these runs (default: one base RTT)"
    )
    parser.add_argument(
        "--max-error", action="append", default=[], metavar="NAME=VALUE",
        help=f"exit with 1 if an error is larger, e.g. makespan_error=0.5%%; repeatable; names: {', '.join(MEASURES)}",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the same as JSON, on standard output")
    parser.add_argument("--quiet", action="store_true", help="no progress, no tables")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run both, print; raises CheckFailed if an error is beyond its bound."""
    other = dict(parse_setting(text) for text in args.against or [DEFAULT_OTHER])
    bounds = dict(map(_bound, args.max_error))
    if args.floor < 0:
        raise ConfigError(f"--floor {args.floor}: expected how often packet mode is repeated, at least 0")
    experiment = experiment_from_args(args, args.plugins)
    with no_other_output(args.json):
        comparison = compare_experiment(
            experiment,
            args.plugins,
            reference={"run.mode": "packet"},
            other=other,
            floor=args.floor,
            jitter_ps=None if args.jitter is None else _jitter_ps(args.jitter),
            fluid=other.get("run.mode") == "wormhole",
            watcher=make_watcher(args.quiet),
        )
    beyond = comparison.beyond(bounds)
    args.outcome = EXIT_CHECK_FAILED if beyond else EXIT_OK  # it stands although nobody reads what follows
    if args.json:
        sys.stdout.write(render_json(comparison.as_dict()))
    elif not args.quiet:
        print_comparison(comparison, Console(highlight=False))
    if beyond:
        raise CheckFailed(f"--max-error: {'; '.join(beyond)}")


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Errors beside their noise floor, then cost, then what the second run rests on."""
    columns = [(comparison.names[1], comparison.errors)]
    if comparison.fluid_errors is not None:
        columns.append(("fluid", comparison.fluid_errors))
    if comparison.noise_floor is not None:
        columns.append(("noise floor", comparison.noise_floor))
    rows = []
    for key in MEASURES:
        name, _, part = key.partition(".")
        rows.append((f"{TITLES[name]} {part}".strip(), *(f"{measure(errors, key):.4%}" for _, errors in columns)))
    headers = ("relative difference", *(f">{name}" for name, _ in columns))
    console.print(
        columns_table(f"{counted(comparison.errors['flows'], 'flow')}, against {comparison.names[0]}", headers, rows)
    )
    if comparison.noise_floor is not None:
        runs = comparison.noise_floor["runs"]
        console.print(Text(f"Noise floor: mean of {counted(runs, 'run')} with jittered starts.", style="dim"))
    console.print()
    results = [*zip(comparison.names, (comparison.reference, comparison.other), strict=True)]
    if comparison.fluid is not None:
        results.append(("fluid", comparison.fluid))
    first = comparison.reference.summary["cost"]
    console.print(columns_table("Cost", ("run", ">simulated", ">events", ">frame-hops", ">CPU", ">faster"), [
        _cost_row(name, result.summary, first) for name, result in results
    ]))  # fmt: skip
    summary = comparison.other.summary
    if "acceleration" in summary["cost"]:
        console.print()
        console.print(Text(_acceleration_line(comparison), style="default"))
        console.print(Text(sentence(summary, measured=True), style="default"))


def _cost_row(name: str, summary: dict[str, Any], first: dict[str, Any]) -> tuple[str, ...]:
    cost = summary["cost"]
    faster = f"{first['cpu_s'] / cost['cpu_s']:,.1f} x" if cost["cpu_s"] and cost is not first else ""
    return (
        name, format_time(summary["simulated_ps"]), f"{cost['events_executed']:,}", f"{cost['frame_hops']:,}",
        f"{cost['cpu_s']:.3f} s", faster,
    )  # fmt: skip


def _acceleration_line(comparison: Comparison) -> str:
    done = comparison.other.summary["cost"]["acceleration"]
    return (
        f"{counted(comparison.events_avoided, 'event')} avoided; "
        + ", ".join(
            counted(done[f"{name}s" if name != "miss" else "misses"], name)
            for name in ("episode", "hit", "miss", "follower", "skip", "tail")
        )
        + f"; memo {format_size(done['memo_bytes'])}."
    )


def _bound(text: str) -> tuple[str, float]:
    """`makespan_error=0.5%` -> ("makespan_error", 0.005)."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if name not in MEASURES:
        raise ConfigError(
            f"--max-error {text}: no error {name!r}{near_match(name, MEASURES) or ';'} names: {', '.join(MEASURES)}"
        )
    try:
        number = float(value.strip().removesuffix("%")) / (100 if value.strip().endswith("%") else 1)
    except ValueError:
        number = -1.0
    if not equals or not 0 <= number < float("inf"):
        raise ConfigError(f"--max-error {text}: expected NAME=VALUE with a share such as 0.005 or 0.5%")
    return name, number


def _jitter_ps(text: str) -> int:
    try:
        value = parse_time_ps(text)
    except ValueError as error:
        raise ConfigError(f"--jitter: {error}") from None
    if value < 0:
        raise ConfigError(f"--jitter {text}: expected a time that is not negative")
    return value
