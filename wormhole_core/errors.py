"""Errors a user may see, and the exit code each one ends the command with.

Every message is one line that names the thing, its value, what was expected and the way out. The
command line prints the message alone; a traceback shown to a user is a defect. This module knows
nothing of the rest of the package.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_CHECK_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_STALLED = 3
EXIT_PLUGIN = 4
EXIT_INTERRUPTED = 130


class WormholeError(Exception):
    """Base of all errors with a message meant for the user; `exit_code` is the process exit code."""

    exit_code = EXIT_BAD_INPUT


class ConfigError(WormholeError):
    """An option is unknown, ill-typed, out of range or contradicts another one."""


class InputError(WormholeError):
    """A file cannot be read as what it claims to be.

    Parameters
    ----------
    what: the fault, the value found, what was expected and what to do, in one sentence.
    path: the file as the user named it.
    line: 1-based line number, None where a line makes no sense (binary or empty files).
    """

    def __init__(self, what: str, path: object | None = None, line: int | None = None) -> None:
        self.what, self.path, self.line = what, path, line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(f"{where}{what}")


class OutputError(WormholeError):
    """A result cannot be written where the user asked for it."""


class PluginError(WormholeError):
    """A plugin is broken, duplicated or breaks its contract; the message names its distribution.

    kind: of the component that is at fault, where who finds it does not know the plugin: the run adds it.
    """

    exit_code = EXIT_PLUGIN

    def __init__(self, what: str, kind: str | None = None) -> None:
        super().__init__(what)
        self.kind = kind


class StalledError(WormholeError):
    """The run stopped with work left: the message lists what is pending and what it waits for."""

    exit_code = EXIT_STALLED


class CheckFailed(WormholeError):
    """A comparison or self-test found a difference beyond its bound."""

    exit_code = EXIT_CHECK_FAILED
