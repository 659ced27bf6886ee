"""What the program holds once plugins are loaded: components, life-cycle calls, manifest, attribution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import pluggy

from .. import PLUGIN_API, __version__, component
from ..errors import PluginError, WormholeError
from .registry import PluginInfo, Registry, covering_root, describe_error, innermost

if TYPE_CHECKING:
    from ..contracts.observer import RunInfo
    from ..contracts.result import Result


@attrs.frozen(kw_only=True)
class BrokenPlugin:
    """A plugin that could not be used (tolerant loading only); `error` is the message a run would end with."""

    name: str
    distribution: str
    version: str
    error: str


class LifeCycle:
    """The hooks called while the program runs, typed. Exceptions keep their type and get a note."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    def run_started(self, run: RunInfo) -> None:
        """A run is built and about to start."""
        self._call("wormhole_run_started", "before the first event, at simulated time 0 ps", run=run)

    def run_finished(self, run: RunInfo, result: Result | None, error: BaseException | None) -> None:
        """A run ended; exactly one of result and error is set."""
        if (result is None) == (error is None):
            raise ValueError("exactly one of result and error must be given")
        reached = result if result is not None else getattr(error, "result", None)
        time_ps = getattr(reached, "summary", {}).get("simulated_ps", "unknown")
        moment = f"after the last event, at simulated time {time_ps} ps"
        self._call("wormhole_run_finished", moment, run=run, result=result, error=error)

    def _call(self, name: str, moment: str, **arguments: Any) -> None:
        try:
            getattr(self._plugins.manager.hook, name)(**arguments)
        except Exception as error:
            self._plugins.attribute(error)
            error.add_note(moment)
            raise

    def add_commands(self, subparsers: Any) -> None:
        """Let each plugin add its subcommands; a failing one raises PluginError, or is listed as broken
        if plugins were loaded tolerantly."""
        manager = self._plugins.manager
        for info in self._plugins.infos:
            others = [plugin for name, plugin in manager.list_name_plugin() if name != info.name]
            try:
                manager.subset_hook_caller("wormhole_commands", others)(subparsers=subparsers)
            except Exception as error:
                known = isinstance(error, WormholeError)
                text = str(error) if known else describe_error(error, info.roots)
                self._plugins.refuse(info, PluginError(f"{info}: wormhole_commands failed: {text}"), error)


class Plugins:
    """Everything loaded. `infos` in load order, `registry` the components, `broken` what was left out."""

    def __init__(self, manager: pluggy.PluginManager, tolerant: bool) -> None:
        self.manager = manager
        self.tolerant = tolerant
        self.registry = Registry()
        self.infos: tuple[PluginInfo, ...] = ()
        self.broken: tuple[BrokenPlugin, ...] = ()
        self.disabled: tuple[str, ...] = ()
        self.hook = LifeCycle(self)

    def refuse(self, info: PluginInfo, error: WormholeError, cause: BaseException | None = None) -> None:
        """Raise `error`; if loading is tolerant, list the plugin as broken and drop all it offered."""
        if not self.tolerant:
            raise error from cause
        if self.manager.has_plugin(info.name):
            self.manager.unregister(name=info.name)
        self.registry.discard(info)
        self.infos = tuple(other for other in self.infos if other != info)
        entry = BrokenPlugin(name=info.name, distribution=info.distribution, version=info.version, error=str(error))
        self.broken = (*self.broken, entry)

    def make_config(self, kind: str, name: str, values: Mapping[str, Any]) -> Any:
        """The configuration of a component from what a user wrote; raises ConfigError."""
        entry = self.registry.get(kind, name)
        owner = f"{kind} {name!r}"
        return component.make_config(owner, entry.component.config, values, origin=entry.info.origin)

    def manifest(self, used: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Which code made a result: core, plugins, and the origin of each `(kind, name)` used."""
        entries = [self.registry.get(kind, name) for kind, name in sorted(set(used))]
        return {
            "core_version": __version__,
            "plugin_api": PLUGIN_API,
            "plugins": [
                {"name": i.name, "distribution": i.distribution, "version": i.version}
                for i in sorted(self.infos, key=lambda i: i.name)
            ],
            "components": [
                {
                    "kind": e.kind,
                    "name": e.name,
                    "plugin": e.plugin,
                    "distribution": e.distribution,
                    "version": e.version,
                }
                for e in entries
            ],
        }

    def attribute(self, error: BaseException) -> PluginInfo | None:
        """Note on `error` which plugin it was raised in; returns that plugin, or None.

        It is the one whose code holds the innermost frame, among all frames in plugins' code."""
        roots = tuple(root for info in self.infos for root in info.roots)
        place = innermost(error, roots)
        if place is None:
            return None
        root = covering_root(place[0], roots)
        info = next(info for info in self.infos if root in info.roots)
        note = f"raised inside {info}, at {place[0]}:{place[1]}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        return info
