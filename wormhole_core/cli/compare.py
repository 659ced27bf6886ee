"""`wormhole-sim compare`: one experiment run twice, and how far the results are apart."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rich.console import Console

from ..run.compare import Comparison, compare_experiment
from ..run.experiment import MODES, parse_setting
from ..run.outputs import render_json
from ..units import format_time, parse_time_ps
from .options import add_run_options, experiment_from_args
from .progress import make_watcher
from .tables import columns_table

MEASURES = (
    ("FCT, per flow", "fct_error", ("mean", "p99", "max")),
    ("FCT, sorted", "sorted_fct_error", ("mean", "p99", "max")),
    ("mean FCT", "mean_fct_error", ()),
    ("makespan", "makespan_error", ()),
)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "compare",
        help="run an experiment in two ways and compare",
        description="Run an experiment in packet mode and in another way, and compare completion times and cost.",
    )
    add_run_options(parser)
    parser.add_argument(
        "--against", action="append", metavar="SECTION.OPTION=VALUE",
        help=f"what is different in the second run; repeatable (default run.mode={MODES[-1]})",
    )  # fmt: skip
    parser.add_argument(
        "--floor", type=int, default=0, metavar="N", help="repeat packet mode N times with jittered starts"
    )
    parser.add_argument("--jitter", default="0ps", metavar="TIME", help="largest shift of a start time in these runs")
    parser.add_argument("--json", action="store_true", help="the same as JSON, on standard output")
    parser.add_argument("--quiet", action="store_true", help="no progress, no tables")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run both, print."""
    other = dict(parse_setting(text) for text in args.against or [f"run.mode={MODES[-1]}"])
    comparison = compare_experiment(
        experiment_from_args(args, args.plugins),
        args.plugins,
        reference={"run.mode": "packet"},
        other=other,
        floor=args.floor,
        jitter_ps=_jitter_ps(args.jitter),
        watcher=make_watcher(args.quiet),
    )
    if args.json:
        sys.stdout.write(render_json(comparison.as_dict()))
    elif not args.quiet:
        print_comparison(comparison, Console(highlight=False))


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Errors beside their noise floor, then cost."""
    floor = comparison.noise_floor
    rows = []
    for title, key, parts in MEASURES:
        for part in parts or ("",):
            values = [source[key] if not part else source[key][part] for source in (comparison.errors, floor) if source]
            rows.append((f"{title} {part}".strip(), *(f"{value:.4%}" for value in values)))
    headers = ("relative difference", f">{comparison.names[1]}") + ((">noise floor",) if floor else ())
    console.print(columns_table(f"{comparison.errors['flows']:,} flows", headers, rows))
    console.print(columns_table("Cost", ("run", ">simulated", ">events", ">frame-hops", ">CPU s"), [
        _cost_row(name, result.summary)
        for name, result in zip(comparison.names, (comparison.reference, comparison.other), strict=True)
    ]))  # fmt: skip


def _cost_row(name: str, summary: dict[str, Any]) -> tuple[str, ...]:
    cost = summary["cost"]
    return (
        name, format_time(summary["simulated_ps"]), f"{cost['events_executed']:,}", f"{cost['frame_hops']:,}",
        f"{cost['cpu_s']:.2f}",
    )  # fmt: skip


def _jitter_ps(text: str) -> int:
    from ..errors import ConfigError

    try:
        value = parse_time_ps(text)
    except ValueError as error:
        raise ConfigError(f"--jitter: {error}") from None
    if value < 0:
        raise ConfigError(f"--jitter {text}: expected a time that is not negative")
    return value
