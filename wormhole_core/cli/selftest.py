"""`wormhole-sim selftest`: is this installation as true as the reference? Exit code 1 if not."""

from __future__ import annotations

import argparse
import sys

from ..errors import EXIT_CHECK_FAILED, EXIT_OK

WIDTHS = (26, 17, 42)


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

    _say("scenario", "label", "bound", "measured")
    count = failed = equal = 0
    for verdict in selftest(args.plugins, args.long):
        count += 1
        failed += not verdict.passed
        equal += bool(verdict.row.fct_ns) and verdict.equal_flows == len(verdict.row.fct_ns)
        status = "PASS" if verdict.passed else f"FAIL: {'; '.join(verdict.faults)}"
        _say(verdict.row.scenario, verdict.row.label, str(verdict.row.bound), f"{verdict.measured}  {status}")
    print(f"{count - failed} of {count} rows within their bounds, {equal} equal to the ns flow by flow")
    return EXIT_CHECK_FAILED if failed else EXIT_OK


def _say(scenario: str, label: str, bound: str, rest: str) -> None:
    cells = (text.ljust(width) for text, width in zip((scenario, label, bound), WIDTHS, strict=True))
    print(*cells, rest)
    sys.stdout.flush()
