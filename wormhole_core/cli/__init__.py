"""The command line: argparse and rich, a thin layer over `run`. The only place that prints."""

from .app import main

__all__ = ["main"]
