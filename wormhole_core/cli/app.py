"""The command `wormhole-sim`: loads plugins, finds the subcommand, turns errors into exit codes.

A subcommand is a module here with `add_parser(subparsers)`, which sets `run=function`; the function
takes the parsed arguments (`args.plugins` holds what was loaded) and returns an exit code or None.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from .. import __version__
from ..api import BUILTIN_PLUGINS
from ..component import near_match
from ..errors import EXIT_BAD_INPUT, EXIT_INTERRUPTED, EXIT_OK, EXIT_PLUGIN, WormholeError
from ..plugins import Plugins, load_plugins
from . import check, compare, describe, doctor, memo, new_plugin, plugins, run, selftest, validate

COMMANDS = (run, compare, validate, memo, plugins, describe, check, new_plugin, selftest, doctor)
"""Modules of the built-in subcommands, in the order `--help` lists them."""
RECOVERY = frozenset({"plugins", "doctor", "-h", "--help", "--version"})
"""What must work although a plugin is broken."""

EXIT_DEFECT = 70
"""A defect of ours (EX_SOFTWARE of sysexits.h): never the user's fault."""


class Parser(argparse.ArgumentParser):
    """Refuses in one line, with the nearest option, instead of a page of usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """End with exit code 2 and one line."""
        if unknown := re.match(r"unrecognized arguments: (-\S+)", message):
            message += near_match(unknown[1].split("=")[0], self._option_string_actions)
        if choice := re.match(r"argument \S+: invalid choice: '(.*?)' \(choose from (.*)\)", message):
            names = re.findall(r"[\w-]+", choice[2])
            message = f"unknown command {choice[1]!r}{near_match(choice[1], names) or ';'} commands: {', '.join(names)}"
        self.exit(EXIT_BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code and lets no exception out."""
    _have_outputs()
    arguments = list(sys.argv[1:] if argv is None else argv)
    early = _early_options(arguments)
    loaded, args, running = None, argparse.Namespace(), False
    try:
        recovering = not arguments or not RECOVERY.isdisjoint(arguments)
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for what was asked for
            loaded = load_plugins(
                builtin=BUILTIN_PLUGINS, files=early.plugin, disabled=early.disable_plugin, tolerant=recovering
            )
            parser = make_parser(loaded)
        args, unknown = parser.parse_known_args(arguments)
        if unknown:  # argparse would complain in the name of the whole command, which knows no options
            getattr(args, "parser", parser).error(f"unrecognized arguments: {' '.join(unknown)}")
        if not hasattr(args, "run"):
            parser.print_help()
            return EXIT_OK
        args.plugins = loaded
        running = True
        code = args.run(args)
        sys.stdout.flush()
        return EXIT_OK if code is None else code
    except SystemExit as stop:  # argparse: --help, --version and refusals
        if isinstance(stop.__context__, BrokenPipeError):  # rich makes this of it
            _forget_stdout()
            return getattr(args, "outcome", EXIT_OK)
        if running and loaded is not None and loaded.attribute(stop) is not None:  # a plugin must not end us
            return _report(stop, loaded, early.debug)
        return stop.code if isinstance(stop.code, int) else EXIT_OK
    except KeyboardInterrupt:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return getattr(args, "outcome", EXIT_OK)
    except BaseException as error:
        return _report(error, loaded, early.debug)


def make_parser(loaded: Plugins) -> Parser:
    """The whole command line, plugins' subcommands included."""
    parser = Parser(
        prog="wormhole-sim",
        description="Packet-level simulation of large-model training traffic.",
        epilog="Start with: wormhole-sim run examples/demo.toml",
    )
    parser.add_argument("--version", action="version", version=f"wormhole-sim {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for module in COMMANDS:
        module.add_parser(subparsers)
    loaded.hook.add_commands(subparsers)
    for command in subparsers.choices.values():
        _add_early_options(command)
        command.set_defaults(parser=command)
    return parser


def _add_early_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("plugins and debugging")
    group.add_argument(
        "--plugin", action="append", default=[], metavar="FILE", help="also load a plugin from a file or package.module"
    )
    group.add_argument(
        "--disable-plugin", action="append", default=[], metavar="NAME", help="leave an installed plugin out"
    )
    group.add_argument("--debug", action="store_true", help="show tracebacks")


def _early_options(arguments: list[str]) -> argparse.Namespace:
    """Options that matter before plugins are loaded; faults are left to the real parser."""
    parser = Parser(add_help=False)
    _add_early_options(parser)
    with contextlib.redirect_stderr(None), contextlib.suppress(SystemExit):
        return parser.parse_known_args(arguments)[0]
    return argparse.Namespace(plugin=[], disable_plugin=[], debug=False)


def _report(error: BaseException, loaded: Plugins | None, debug: bool) -> int:
    """Print an error the way its kind deserves; returns the exit code."""
    if debug:
        traceback.print_exception(error)
    notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
    if isinstance(error, WormholeError):
        _say(str(error))
        return error.exit_code
    what = f"{type(error).__name__}: {error}"
    hint = "" if debug else "; add --debug to see the traceback"
    plugin = loaded.attribute(error) if loaded is not None else None
    if plugin is not None and plugin.source != "built-in":
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        _say(f"{plugin} failed: {what}{hint}, --disable-plugin {plugin.name} to run without it{notes}")
        return EXIT_PLUGIN
    if isinstance(error, OSError):  # a full disk, a closed output: nobody's defect
        _forget_stdout()
        where = error.filename or "standard output or a result file"
        _say(f"{where}: the system refused to read or write it: {error.strerror or error}; make room or name another")
        return EXIT_BAD_INPUT
    if isinstance(error, MemoryError):
        _say("the memory of this machine is not enough for this experiment; make the network or the workload smaller")
        return EXIT_BAD_INPUT
    _say(f"this is a defect in wormhole-sim, please report it: {what}{hint}{notes}")
    return EXIT_DEFECT


def _say(message: str) -> None:
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr, flush=True)


def _have_outputs() -> None:
    """A closed output is an output nobody reads; one that cannot show a character shows its number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() not in ("utf-8", "utf8"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    """The reader of our output has gone (`| head`): keep the interpreter from complaining at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
