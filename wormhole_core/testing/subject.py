"""The thing a check looks at, the limits it is held to, and how a check is run and reported.

A check is a plain function of one `Subject`. It raises AssertionError with a message that names the
component, what was expected and what was seen; raises `Skip` where it does not apply; and may return
a line to report, such as a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import attrs

from ..component import near_match
from ..errors import ConfigError
from ..plugins import Entry, Plugins
from ..plugins.registry import describe_error
from ..rng import Stream, stream

LIMITS: dict[str, tuple[float, str]] = {
    "link_use": (0.8, "share of a link a flow alone must use in steady state"),
    "fairness": (0.9, "Jain index of two flows that began together, by the end"),
    "settle_rtts": (300, "base RTTs the two checks above wait before they measure"),
    "measure_rtts": (150, "base RTTs they measure"),
    "timers_per_rtt": (100, "timer calls per base RTT in silence"),
    "memory_growth_bytes": (16_384, "growth of memory from ACK 2,000 to 10,000"),
    "on_ack_us": (20, "budget of one on_ack on average; reported, never enforced"),
    "large_hosts": (1024, "hosts of the large topology"),
    "pairs": (4000, "pairs of hosts whose routes are walked; beyond that, a sample"),
    "transfers": (200_000, "transfers after which a workload is held not to end"),
    "items_per_host": (4, "items built per host before the first one of a large job is handed out"),
    "samples": (20_000, "samples at constant rates within which a policy must propose a skip"),
    "growing_samples": (3000, "samples of a growing queue within which a policy must propose nothing"),
    "fct_error": (0.05, "largest relative difference of a completion time, accelerated against packet mode"),
}
"""Name -> (default, meaning). A component overrides one openly: `traits={"limits": {name: (value, reason)}}`."""


class Skip(Exception):
    """The check does not apply to this component; the message says why."""


@attrs.frozen(kw_only=True)
class Check:
    """A check and where it stands. kind: a kind of `hooks.KINDS`, or "any"."""

    kind: str
    name: str
    function: Callable[[Subject], str | None]
    summary: str


@attrs.frozen(kw_only=True)
class Outcome:
    """status: "PASS", "FAIL" or "skipped". text: message, reason or report. elapsed_s: wall clock."""

    check: Check
    status: str
    text: str
    elapsed_s: float


@attrs.define(kw_only=True)
class Subject:
    """A component with one set of options.

    entry, plugins: as loaded. options: as a user writes them. folder: an empty folder to work in.
    limits: name -> (value, reason), over those of the component's traits. files: `--plugin` files.
    """

    entry: Entry
    plugins: Plugins
    folder: Path
    options: Mapping[str, Any] = attrs.field(factory=dict)
    limits: Mapping[str, tuple[float, str]] = attrs.field(factory=dict)
    files: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        for name, given in self.overrides().items():
            if name not in LIMITS:
                raise ConfigError(f"{self.owner}: unknown limit {name!r}{near_match(name, LIMITS) or '.'}")
            if not (isinstance(given, tuple) and len(given) == 2 and str(given[1]).strip()):
                raise ConfigError(f"{self.owner}: limit {name!r} needs (value, reason), got {given!r}")

    @property
    def kind(self) -> str:
        """Kind of the component."""
        return self.entry.kind

    @property
    def component(self) -> Any:
        """The `Component`."""
        return self.entry.component

    @property
    def owner(self) -> str:
        """How messages name it, options included."""
        options = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return self.entry.owner + (f" with {options}" if options else "")

    def overrides(self) -> dict[str, tuple[float, str]]:
        """The limits that are not the kit's own, each with its reason."""
        return {**self.component.traits.get("limits", {}), **self.limits}

    def limit(self, name: str) -> float:
        """The value of a limit."""
        return self.overrides().get(name, LIMITS[name])[0]

    def config(self, **more: Any) -> Any:
        """The configuration, with more options over the subject's; raises ConfigError."""
        values = {**self.options, **more}
        if self.kind == "memo-backend" and "path" in self.fields() and "path" not in values:
            values["path"] = str(self.folder / "store")
        return self.plugins.make_config(self.kind, self.entry.name, values)

    def fields(self) -> dict[str, Any]:
        """Option name -> attrs attribute."""
        return {a.name: a for a in attrs.fields(self.component.config)}

    def build(self, *arguments: Any, **more: Any) -> Any:
        """`component.build(config, *arguments)`."""
        return self.entry.build(self.config(**more), *arguments)

    def rng(self, *name: object) -> Stream:
        """A stream of the subject's own, always from its beginning."""
        return stream(1, "kit", self.entry.name, *name)

    def fail(self, expected: str, seen: object) -> NoReturn:
        """Raise the AssertionError of a failed check."""
        raise AssertionError(f"{self.owner}: expected {expected}; saw {seen}")

    def expect(self, good: object, expected: str, seen: object) -> None:
        """Fail unless `good`."""
        if not good:
            self.fail(expected, seen)


def run_check(check: Check, subject: Subject) -> Outcome:
    """Run one check; whatever it raises becomes an outcome."""
    started = time.perf_counter()
    try:
        status, text = "PASS", check.function(subject) or ""
    except Skip as reason:
        status, text = "skipped", str(reason)
    except AssertionError as error:
        status, text = "FAIL", str(error) or f"{subject.owner}: {describe_error(error)}"
    except Exception as error:
        status = "FAIL"
        text = f"{subject.owner}: expected no exception; saw {describe_error(error, subject.entry.info.roots)}"
    return Outcome(check=check, status=status, text=text, elapsed_s=time.perf_counter() - started)


def run_checks(subject: Subject, checks: Iterable[Check]) -> list[Outcome]:
    """Run several, each in a folder of its own."""
    outcomes = []
    for check in checks:
        folder = subject.folder / check.name
        folder.mkdir()
        outcomes.append(run_check(check, attrs.evolve(subject, folder=folder)))
    return outcomes
