"""Makes the wall clock, global randomness and the environment raise while plugin code runs.

A call counts when the innermost frame outside the standard library is the plugin's: the program
itself may look at the clock to show progress.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import random
import secrets
import sys
import sysconfig
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..plugins.registry import covering_root

CLOCK, RANDOM, ENVIRONMENT = "clock", "random", "environment"
INSTEAD = {
    CLOCK: "simulated time (now_ps)",
    RANDOM: "the `rng` stream handed to build",
    ENVIRONMENT: "options of the component",
}
_CLOCK_NAMES = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
                "process_time_ns", "localtime", "gmtime", "sleep")  # fmt: skip
_RANDOM_NAMES = ("random", "randint", "randrange", "uniform", "choice", "choices", "sample", "shuffle", "gauss",
                 "normalvariate", "expovariate", "betavariate", "getrandbits", "randbytes", "seed", "triangular",
                 "lognormvariate", "paretovariate", "weibullvariate", "vonmisesvariate", "gammavariate")  # fmt: skip
_STANDARD = (sysconfig.get_path("stdlib"), "<frozen ")
_PACKAGES = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
_CORE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_OWN = (os.path.join(_CORE, "builtin"),)
_HARNESS = ("_pytest", "pytest", "pluggy", "hypothesis", "xdist", "execnet")


class ForbiddenUse(AssertionError):
    """Plugin code used the clock, global randomness or the environment while running."""


@contextlib.contextmanager
def forbidden(
    what: Iterable[str] = (CLOCK, RANDOM, ENVIRONMENT), roots: Iterable[str] | None = None, owner: str = "the code"
) -> Iterator[list[ForbiddenUse]]:
    """Patch for a while; yields the list of uses seen so far (a test that expects one clears it).

    roots: folders and files whose code is watched; None: all but the program's own and the test
    runner's. Raises ForbiddenUse at the call, and at the end if it was swallowed there.

    `from time import time` in a watched module is caught too; a C extension of its own is not.
    """
    watched = None if roots is None else tuple(roots)
    seen: list[ForbiddenUse] = []
    with contextlib.ExitStack() as stack:
        replaced: dict[int, Any] = {}

        def guard(holder: Any, name: str, topic: str) -> None:
            original = getattr(holder, name)

            def guarded(*args: Any, **kwargs: Any) -> Any:
                place = _caller(watched)
                if place is None:
                    return original(*args, **kwargs)
                thing = "os.environ" if topic == ENVIRONMENT else f"{holder.__name__}.{name}"
                error = ForbiddenUse(
                    f"{owner}: expected only {INSTEAD[topic]} while running; saw {thing} used at {place}"
                )
                seen.append(error)
                raise error

            setattr(holder, name, guarded)
            stack.callback(setattr, holder, name, original)
            replaced[id(original)] = (original, guarded)

        topics = tuple(what)
        if CLOCK in topics:
            for name in _CLOCK_NAMES:
                guard(time, name, CLOCK)
            _replace_datetime(stack, replaced, seen, watched, owner)
        if RANDOM in topics:
            for name in _RANDOM_NAMES:
                if hasattr(random, name):
                    guard(random, name, RANDOM)
            for holder, name in ((os, "urandom"), (secrets, "token_bytes"), (secrets, "randbelow"), (uuid, "uuid1"),
                                 (uuid, "uuid4")):  # fmt: skip
                guard(holder, name, RANDOM)
            numpy = sys.modules.get("numpy.random")
            for name in ("random", "rand", "randn", "randint", "uniform", "normal", "choice", "shuffle", "permutation"):
                if numpy is not None and hasattr(numpy, name):
                    guard(numpy, name, RANDOM)
        if ENVIRONMENT in topics:
            for name in ("__getitem__", "__iter__"):
                guard(type(os.environ), name, ENVIRONMENT)
        _patch_names(stack, replaced, watched)
        yield seen
    if seen:
        raise seen[0]


def _replace_datetime(
    stack: contextlib.ExitStack, replaced: dict[int, Any], seen: list[ForbiddenUse], watched: tuple[str, ...] | None,
    owner: str,
) -> None:  # fmt: skip
    """`datetime.datetime` and `date` are C types: swapped for subclasses whose clocks raise."""

    def clock(original: Callable[..., Any], name: str) -> Any:
        def guarded(_class: Any, *args: Any, **kwargs: Any) -> Any:
            place = _caller(watched)
            if place is None:
                return original(*args, **kwargs)
            error = ForbiddenUse(f"{owner}: expected only {INSTEAD[CLOCK]} while running; saw {name} used at {place}")
            seen.append(error)
            raise error

        return classmethod(guarded)

    for name, methods in (("datetime", ("now", "utcnow", "today")), ("date", ("today",))):
        real = getattr(datetime, name)
        guarded = {method: clock(getattr(real, method), f"datetime.{name}.{method}") for method in methods}
        fake = type(name, (real,), guarded)
        setattr(datetime, name, fake)
        stack.callback(setattr, datetime, name, real)
        replaced[id(real)] = (real, fake)


def _patch_names(stack: contextlib.ExitStack, replaced: dict[int, Any], watched: tuple[str, ...] | None) -> None:
    """Names that watched modules imported from the patched ones."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if watched is None or not file or not covering_root(os.path.realpath(file), watched):
            continue
        for name, value in list(vars(module).items()):
            known = replaced.get(id(value))
            if known is not None and known[0] is value:
                setattr(module, name, known[1])
                stack.callback(setattr, module, name, value)


def _caller(watched: tuple[str, ...] | None) -> str | None:
    """`file:line` of the innermost frame outside the standard library, if it is watched."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file == __file__ or (file.startswith(_STANDARD) and not file.startswith(_PACKAGES)):
            frame = frame.f_back  # type: ignore[assignment]
            continue
        real = os.path.realpath(file)
        if watched is not None:
            hit = covering_root(real, watched) is not None
        else:
            inside = covering_root(real, (_CORE,)) is not None and covering_root(real, _OWN) is None
            hit = not inside and not any(f"{os.sep}{name}{os.sep}" in real for name in _HARNESS)
        return f"{real}:{frame.f_lineno}" if hit else None
    return None
