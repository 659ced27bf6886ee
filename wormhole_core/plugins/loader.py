"""Finds plugins, imports and registers them one at a time, and fills the registry.

pluggy's own entry-point loader is not used: it drops one of two plugins with the same entry-point
name without a word, lets import errors through bare, and keeps whatever order the installer left.
Which plugins took part is part of an experiment, so each of these stops the run here instead.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pluggy

from .. import __version__, hooks
from ..component import near_match
from ..errors import ConfigError, InputError, PluginError, WormholeError
from .loaded import Plugins
from .registry import Entry, PluginInfo, check_components, describe_error
from .trace import Tracer

GROUP = "wormhole_sim"
DISABLE_VARIABLE = "WORMHOLE_DISABLE_PLUGINS"
LIFE_CYCLE = ("wormhole_run_started", "wormhole_run_finished")


@attrs.frozen(kw_only=True)
class Candidate:
    """A plugin before its import."""

    info: PluginInfo
    load: Callable[[], Any]

    @property
    def off_switch(self) -> str:
        """How to run without it."""
        if self.info.source in ("file", "module"):
            return f"leave out --plugin {self.info.name if self.info.source == 'module' else self.info.distribution}"
        return f"set {DISABLE_VARIABLE}={self.info.name}"


def load_plugins(
    *,
    builtin: Iterable[ModuleType | str] = (),
    files: Iterable[str | os.PathLike[str]] = (),
    disabled: Iterable[str] = (),
    tolerant: bool = False,
) -> Plugins:
    """Load plugins shipped inside the core, installed ones, and those named on the command line.

    builtin: modules (or their names) registered first. files: paths ending in `.py`, or module names.
    disabled: plugin names to skip, besides those in the environment variable WORMHOLE_DISABLE_PLUGINS.
    tolerant: list broken plugins in `Plugins.broken` instead of raising; for the commands one needs
    when a plugin is broken.

    Raises PluginError for a broken or ambiguous plugin, InputError for a file that is not there,
    ConfigError for a name in `disabled` that no plugin has.
    """
    tracer = Tracer()
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    tracer.watch(manager)
    plugins = Plugins(manager, tolerant)
    candidates = [
        *sorted((_from_module(module) for module in builtin), key=_sort_key),
        *sorted(map(_from_entry_point, metadata.entry_points(group=GROUP)), key=_sort_key),
        *(_from_argument(os.fspath(file)) for file in files),
    ]
    candidates = _without_disabled(plugins, candidates, list(disabled))
    loaded = []
    for candidate in _without_duplicates(plugins, candidates):
        info = _register(plugins, candidate, tracer)
        if info is not None:
            loaded.append(info)
    plugins.infos = tuple(loaded)
    for info in loaded:
        _fill_registry(plugins, info, tracer)
    return plugins


def _sort_key(candidate: Candidate) -> tuple[str, str, str]:
    return candidate.info.name, candidate.info.distribution, candidate.info.version


def _from_module(module: ModuleType | str) -> Candidate:
    """A plugin inside the core: `wormhole_core.builtin.plugin` is called `builtin`."""
    dotted = module if isinstance(module, str) else module.__name__
    name = dotted.removesuffix(".plugin").rpartition(".")[2]
    info = PluginInfo(name=name, source="built-in", distribution="wormhole-sim", version=__version__)
    return Candidate(info=info, load=lambda: importlib.import_module(dotted) if isinstance(module, str) else module)


def _from_entry_point(entry: metadata.EntryPoint) -> Candidate:
    # `metadata.entry_points` counts a distribution once, however often it is on the path.
    distribution, version = (entry.dist.name, entry.dist.version) if entry.dist else ("an unknown distribution", "")
    info = PluginInfo(
        name=entry.name, source="entry-point", distribution=distribution, version=version, roots=_roots(entry.module)
    )
    return Candidate(info=info, load=entry.load)


def _from_argument(text: str) -> Candidate:
    """`--plugin FILE.py` or `--plugin package.module`."""
    if not text.endswith(".py") and os.sep not in text:
        top = text.partition(".")[0]
        owners = metadata.packages_distributions().get(top, [])
        distribution, version = (owners[0], metadata.version(owners[0])) if owners else (text, "")
        info = PluginInfo(name=text, source="module", distribution=distribution, version=version, roots=_roots(text))
        return Candidate(info=info, load=lambda: importlib.import_module(text))
    path = Path(text)
    version = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}" if path.is_file() else ""
    roots = (str(path.resolve()),)
    info = PluginInfo(name=path.stem, source="file", distribution=text, version=version, roots=roots)
    return Candidate(info=info, load=lambda: _import_file(path, text))


def _import_file(path: Path, text: str) -> ModuleType:
    if not path.is_file():
        raise InputError("no such plugin file; give a .py file, or a module name without .py", path=text)
    name = f"wormhole_plugin_file.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise InputError("not a Python file; a plugin file ends in .py", path=text)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # classes made while the file runs look their module up here
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _roots(module: str) -> tuple[str, ...]:
    """Folders or file that hold the top-level package of a module, without importing it."""
    try:
        spec = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        return ()
    if spec is None:
        return ()
    if spec.submodule_search_locations is not None:
        return tuple(str(Path(place).resolve()) for place in spec.submodule_search_locations)
    return (str(Path(spec.origin).resolve()),) if spec.origin else ()


def _without_disabled(plugins: Plugins, candidates: list[Candidate], disabled: list[str]) -> list[Candidate]:
    names = [candidate.info.name for candidate in candidates]
    for name in disabled:
        if name not in names and not plugins.tolerant:
            known = ", ".join(sorted(set(names))) or "none"
            raise ConfigError(f"no plugin {name!r} to disable{near_match(name, names) or '.'} Installed: {known}")
    # The variable may hold names that are not installed here: it is often set once for many environments.
    skip = {*disabled, *(part.strip() for part in os.environ.get(DISABLE_VARIABLE, "").split(","))}
    plugins.disabled = tuple(sorted(skip & set(names)))
    return [candidate for candidate in candidates if candidate.info.name not in skip]


def _without_duplicates(plugins: Plugins, candidates: list[Candidate]) -> list[Candidate]:
    by_name: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_name.setdefault(candidate.info.name, []).append(candidate)
    for name, same in by_name.items():
        if len(same) > 1:
            both = " and ".join(str(candidate.info) for candidate in same)
            error = PluginError(
                f"{both} use the same plugin name; uninstall one, or set {DISABLE_VARIABLE}={name} to run without both"
            )
            for candidate in same:
                plugins.refuse(candidate.info, error)
    return [same[0] for same in by_name.values() if len(same) == 1]


def _register(plugins: Plugins, candidate: Candidate, tracer: Tracer) -> PluginInfo | None:
    """Import and register one plugin; None if it is broken and loading is tolerant."""
    info, manager = candidate.info, plugins.manager
    started = time.perf_counter()
    try:
        plugin = candidate.load()
        if info.source == "built-in":
            # `folder/plugin.py` speaks for its folder, any other module for itself alone.
            file = Path(plugin.__file__).resolve()
            info = attrs.evolve(info, roots=(str(file.parent if file.stem == "plugin" else file),))
        _register_checked(manager, info, plugin)
    except WormholeError as error:
        message = str(error) if isinstance(error, PluginError) else f"{info} failed to load: {error}"
        if isinstance(error, InputError):
            plugins.refuse(info, error)
        else:
            plugins.refuse(info, PluginError(f"{message} ({candidate.off_switch} to run without it)"), error)
        return None
    except (Exception, SystemExit) as error:
        what = describe_error(error, info.roots)
        message = f"{info} failed to load: {what} ({candidate.off_switch} to run without it)"
        plugins.refuse(info, PluginError(message), error)
        return None
    info = attrs.evolve(info, hooks=tuple(sorted(caller.name for caller in manager.get_hookcallers(plugin) or ())))
    tracer.say(f"{info} loaded in {(time.perf_counter() - started) * 1e3:.1f} ms: {', '.join(info.hooks)}")
    return info


def _register_checked(manager: pluggy.PluginManager, info: PluginInfo, plugin: Any) -> None:
    """Register with pluggy; raises PluginError (plugin not registered) for what pluggy lets pass."""
    earlier = manager.get_name(plugin)
    if earlier is not None:
        raise PluginError(f"{info} is already loaded as plugin {earlier!r}")
    try:
        manager.register(plugin, name=info.name)
    except pluggy.PluginValidationError as error:
        if manager.is_registered(plugin):  # older pluggy registers what it then refuses
            manager.unregister(plugin)
        raise PluginError(f"{info}: {' '.join(str(error).split())}") from error
    try:
        _check_hooks(manager, info, plugin)
    except PluginError:
        manager.unregister(plugin)
        raise


def _check_hooks(manager: pluggy.PluginManager, info: PluginInfo, plugin: Any) -> None:
    known = [name for name in vars(hooks) if name.startswith("wormhole_")]
    callers = manager.get_hookcallers(plugin) or []
    for caller in callers:
        for implementation in caller.get_hookimpls():
            if implementation.plugin is not plugin:
                continue
            if not caller.has_spec() and not implementation.optionalhook:
                raise PluginError(f"{info} implements the unknown hook {caller.name!r}{near_match(caller.name, known)}")
            if (implementation.wrapper or implementation.hookwrapper) and caller.name not in LIFE_CYCLE:
                raise PluginError(
                    f"{info}: {caller.name} is a wrapper; registration hooks are called one by one, "
                    "so only life-cycle hooks may be wrapped"
                )
    implemented = {caller.name for caller in callers}
    for name in known:
        if name not in implemented and callable(getattr(plugin, name, None)):
            raise PluginError(f"{info}: {name} is not marked; put @hookimpl above it")
    if not implemented:
        raise PluginError(f"{info} implements no hook; mark functions such as wormhole_ccas with @hookimpl")


def _fill_registry(plugins: Plugins, info: PluginInfo, tracer: Tracer) -> None:
    """Call each registration hook of one plugin, so that every component has a known origin."""
    plugin = plugins.manager.get_plugin(info.name)
    for kind, hook in hooks.KINDS.items():
        for implementation in getattr(plugins.manager.hook, hook).get_hookimpls():
            if implementation.plugin is not plugin:
                continue
            if info not in plugins.infos:  # refused at an earlier hook
                return
            try:
                components = check_components(info, hook, implementation.function())
                for component in components:
                    plugins.registry.add(Entry(kind=kind, component=component, info=info))
            except PluginError as error:
                plugins.refuse(info, error)
            except Exception as error:
                what = describe_error(error, info.roots)
                switch = f"set {DISABLE_VARIABLE}={info.name} to run without it"
                plugins.refuse(info, PluginError(f"{info}: {hook} failed: {what} ({switch})"), error)
            else:
                tracer.say(f"{info}: {hook} -> {', '.join(c.name for c in components) or 'nothing'}")
