"""`wormhole-sim run`: simulate one experiment."""

from __future__ import annotations

import argparse
import sys

from ..errors import EXIT_INTERRUPTED, EXIT_OK, StalledError
from ..run.outputs import render_json
from ..run.runner import run_experiment
from .options import add_output_options, add_run_options, experiment_from_args, no_other_output
from .progress import make_watcher
from .tables import print_result


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("run", help="simulate an experiment", description="Simulate an experiment.")
    add_run_options(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Simulate, show and write; an interrupted or stalled run is shown as far as it got."""
    experiment = experiment_from_args(args, args.plugins)
    code = EXIT_OK
    try:
        with no_other_output(args.json):
            result = run_experiment(
                experiment,
                args.plugins,
                out=args.out,
                force=args.force,
                fct=args.fct,
                watcher=make_watcher(args.quiet),
                keep_records=False,
            )
    except (StalledError, KeyboardInterrupt) as error:
        if not hasattr(error, "result"):
            raise
        result = error.result
        code = error.exit_code if isinstance(error, StalledError) else EXIT_INTERRUPTED
        print(str(error) or "interrupted; what was done by then is kept", file=sys.stderr)
    args.outcome = code  # it stands although nobody reads what follows
    if args.json:
        sys.stdout.write(render_json(result.summary))
    elif not args.quiet:
        print_result(result.summary, args.out)
    return code
