"""Components by kind and name, each with the plugin it came from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import attrs

from ..component import Component, near_match
from ..contracts.cca import Cca
from ..contracts.forward import FastForwardPolicy
from ..contracts.memo import MemoBackend
from ..contracts.observer import Observer
from ..contracts.partition import Partitioner
from ..contracts.routing import Routing
from ..contracts.topology import Graph
from ..contracts.workload import Workload
from ..errors import ConfigError, PluginError, WormholeError
from ..hooks import KINDS

BASES: dict[str, type] = {
    "cca": Cca,
    "topology": Graph,
    "routing": Routing,
    "workload": Workload,
    "partitioner": Partitioner,
    "memo-backend": MemoBackend,
    "fast-forward": FastForwardPolicy,
    "observer": Observer,
}
"""What `build` of each kind must return."""


@attrs.frozen(kw_only=True)
class PluginInfo:
    """A plugin and where it came from.

    name: entry-point name, file stem or module name; what `--disable-plugin` takes. source:
    "built-in", "entry-point", "file" or "module". distribution: its distribution, or the path of a
    file. version: of the distribution; for a file, a hash of its text. roots: folders and files whose
    code is the plugin's. hooks: names of the hooks it implements.
    """

    name: str
    source: str
    distribution: str
    version: str = ""
    roots: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """`wormhole-cca 0.1.0`, or the path of a file."""
        return self.distribution if self.source == "file" else f"{self.distribution} {self.version}".strip()

    def __str__(self) -> str:
        return f"plugin {self.name!r} of {self.origin}"


@attrs.frozen(kw_only=True)
class Entry:
    """A component and its origin."""

    kind: str
    component: Component[Any]
    info: PluginInfo

    @property
    def name(self) -> str:
        """What an experiment file says."""
        return self.component.name

    @property
    def plugin(self) -> str:
        """Name of the plugin that offers it."""
        return self.info.name

    @property
    def distribution(self) -> str:
        """Distribution (or path) of that plugin."""
        return self.info.distribution

    @property
    def version(self) -> str:
        """Version of that distribution."""
        return self.info.version

    @property
    def owner(self) -> str:
        """How messages name it: `cca 'dctcp' (wormhole-cca 0.1.0)`."""
        return f"{self.kind} {self.name!r} ({self.info.origin})"

    def build(self, *args: Any) -> Any:
        """`component.build(*args)`, checked to be what its kind needs; anything but our own errors becomes
        a PluginError with its cause."""
        try:
            built = self.component.build(*args)
        except WormholeError:
            raise
        except Exception as error:
            what = describe_error(error, self.info.roots)
            raise PluginError(f"while building {self.owner}: {what}{self._way_out}") from error
        if not isinstance(built, BASES[self.kind]):
            wanted = f"{BASES[self.kind].__module__.partition('.')[0]}.{BASES[self.kind].__name__}"
            raise PluginError(f"{self.owner}: build gave {describe_value(built)}, expected a {wanted}{self._way_out}")
        return built

    @property
    def _way_out(self) -> str:
        if self.info.source == "built-in":
            return ""
        return f" (plugin {self.info.name!r}; --disable-plugin {self.info.name} to run without it)"


class Registry:
    """One table per kind. Nothing here depends on the order plugins were loaded in."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}

    def add(self, entry: Entry) -> None:
        """Raises PluginError if the name is taken, naming both plugins."""
        table = self._tables[entry.kind]
        if entry.name in table:
            first, second = table[entry.name].info, entry.info
            if first == second:
                raise PluginError(f"{first} offers the {entry.kind} {entry.name!r} twice; rename one of them")
            raise PluginError(
                f"{first} and {second} both offer the {entry.kind} {entry.name!r}; "
                f"disable one of them (--disable-plugin {second.name})"
            )
        table[entry.name] = entry

    def discard(self, info: PluginInfo) -> None:
        """Forget everything a plugin offered."""
        for kind, table in self._tables.items():
            self._tables[kind] = {name: entry for name, entry in table.items() if entry.info != info}

    def _table(self, kind: str) -> dict[str, Entry]:
        if kind not in self._tables:
            raise ConfigError(f"unknown kind {kind!r}{near_match(kind, KINDS) or '.'} Known: {', '.join(KINDS)}")
        return self._tables[kind]

    def get(self, kind: str, name: str) -> Entry:
        """The component called `name`; raises ConfigError with near matches and what is known."""
        table = self._table(kind)
        if name not in table:
            known = ", ".join(sorted(table)) or "none"
            raise ConfigError(f"unknown {kind} {name!r}{near_match(str(name), table) or '.'} Known: {known}")
        return table[name]

    def names(self, kind: str) -> tuple[str, ...]:
        """Sorted names of a kind."""
        return tuple(sorted(self._table(kind)))

    def entries(self, kind: str | None = None) -> tuple[Entry, ...]:
        """Entries of one kind, or of all kinds in the order of `KINDS`, sorted by name."""
        kinds: Iterable[str] = KINDS if kind is None else (kind,)
        return tuple(self._table(k)[name] for k in kinds for name in self.names(k))


def check_components(info: PluginInfo, hook: str, offered: Any) -> list[Component[Any]]:
    """What a registration hook returned, checked; raises PluginError naming plugin, hook and fault."""
    cure = "return a list of Component"
    if offered is None or isinstance(offered, (str, bytes, dict, Component)):
        raise PluginError(f"{info}: {hook} returned {describe_value(offered)}; {cure}")
    try:
        components = list(offered)
    except TypeError:
        raise PluginError(f"{info}: {hook} returned {describe_value(offered)}; {cure}") from None
    for component in components:
        if not isinstance(component, Component):
            raise PluginError(f"{info}: {hook} offers {describe_value(component)}; {cure}")
        where = f"{info}: {hook}: {component.name!r}"
        if not callable(component.build):
            raise PluginError(f"{where}: build is {describe_value(component.build)}; give it a function")
        if not (isinstance(component.config, type) and attrs.has(component.config)):
            raise PluginError(f"{where}: config is {describe_value(component.config)}; give it a frozen attrs class")
        if not isinstance(component.summary, str) or not component.summary.strip():
            raise PluginError(f"{where}: summary is {component.summary!r}; say in one line what it is")
    return components


def describe_value(value: Any) -> str:
    """A value in a message: its text and type, short."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def describe_error(error: BaseException, roots: tuple[str, ...] = ()) -> str:
    """`ImportError: No module named 'x' at plugin.py:3`, one line; the place only if it is in `roots`."""
    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    place = innermost(error, roots)
    return f"{text} at {place[0]}:{place[1]}" if place else text


def innermost(error: BaseException, roots: tuple[str, ...]) -> tuple[str, int] | None:
    """File and line of the innermost traceback frame whose file lies in one of `roots`."""
    found, trace = None, error.__traceback__
    while trace is not None:
        filename = os.path.realpath(trace.tb_frame.f_code.co_filename)  # roots are real paths, too
        if covering_root(filename, roots):
            found = (filename, trace.tb_lineno)
        trace = trace.tb_next
    return found


def covering_root(filename: str, roots: tuple[str, ...]) -> str | None:
    """The longest of `roots` that is `filename` or a folder above it."""
    hits = (root for root in roots if filename == root or filename.startswith(root + os.sep))
    return max(hits, key=len, default=None)
