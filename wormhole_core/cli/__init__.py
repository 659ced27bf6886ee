"""The command line: argparse and rich, a thin layer over `run`. The only place that prints."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from ..errors import EXIT_INTERRUPTED


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code and lets no exception out.

    As the command (argv None) it ends on a request to terminate as it ends on Ctrl-C: what is done is kept."""
    try:
        if argv is None:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        from .app import main as run  # loading takes long enough to be interrupted

        return run(argv)
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


__all__ = ["main"]
