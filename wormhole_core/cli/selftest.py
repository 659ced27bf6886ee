"""`wormhole-sim selftest`: is this installation as true as the reference? Exit code 1 if not."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from ..errors import EXIT_CHECK_FAILED, EXIT_OK
from ..run.wording import counted

if TYPE_CHECKING:
    from ..run.selftest import Verdict

WIDTHS = (25, 17)
LINE_CELLS = 80


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "selftest",
        help="compare with the reference simulator",
        description="Run scenarios whose flow completion times are known from an independent C++ simulator and "
        "compare. Exit code 1 if a row is beyond its bound.",
    )
    parser.add_argument("--long", action="store_true", help="every row (some minutes) instead of a short list")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print rows as they come."""
    from ..run.selftest import selftest  # what simulates loads only here

    _say("scenario", "label", "result")
    count = failed = equal = 0
    for verdict in selftest(args.plugins, args.long):
        count += 1
        failed += not verdict.passed
        equal += bool(verdict.row.fct_ns) and verdict.equal_flows == len(verdict.row.fct_ns)
        for line in row_lines(verdict):
            print(line, flush=True)
    print(f"{count - failed} of {counted(count, 'row')} within bounds, {equal} equal to the ns flow by flow")
    return EXIT_CHECK_FAILED if failed else EXIT_OK


def row_lines(verdict: Verdict) -> list[str]:
    """One line where all is equal to the ns, else what was measured, the bound and the faults below it."""
    row = verdict.row
    head = _head(row.scenario, row.label) + ("PASS" if verdict.passed else "FAIL")
    if verdict.passed and row.bound.exact:
        return (
            [f"{head} {verdict.measured}"]
            if len(head) + len(verdict.measured) < LINE_CELLS
            else [head, *_below(verdict.measured)]
        )
    below = _below(f"{verdict.measured}; bound: {row.bound}")
    return [head, *below, *(line for fault in verdict.faults for line in _below(fault))]


def _below(text: str) -> list[str]:
    return textwrap.wrap(text, LINE_CELLS, initial_indent="  ", subsequent_indent="    ")


def _head(*cells: str) -> str:
    return "".join(text.ljust(width) for text, width in zip(cells, WIDTHS, strict=True))


def _say(scenario: str, label: str, rest: str) -> None:
    print(_head(scenario, label) + rest, flush=True)
