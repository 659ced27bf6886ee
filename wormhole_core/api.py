"""The way in for scripts: `from wormhole_core.api import simulate, compare`.

    result = simulate("examples/demo.toml", {"network.pfc": False}, seed=3)
    result.summary["flows"][0]["p99_ps"], result.flows[0].fct_ps

The command line does nothing that these functions cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .contracts.result import Result
from .plugins import Plugins, load_plugins
from .run.build import apply_preset
from .run.compare import Comparison, compare_experiment
from .run.experiment import Experiment, Origin, experiment_from
from .run.progress import Progress, Watcher
from .run.runner import run_experiment

__all__ = ["Comparison", "Progress", "Result", "Watcher", "compare", "load", "simulate"]

Source = str | Path | Mapping[str, Any] | Experiment
"""An experiment: a TOML file, the same as nested dicts (`{"topology": {"plugin": "star"}, ...}`)."""

BUILTIN_PLUGINS = ("wormhole_core.builtin.plugin", "wormhole_core.run.components")


def load(plugins: Iterable[str] = (), disable: Iterable[str] = (), tolerant: bool = False) -> Plugins:
    """Load built-in and installed plugins, and those named (files or `package.module`).

    disable: names of plugins to leave out. tolerant: list broken plugins instead of raising.
    Raises PluginError.
    """
    return load_plugins(builtin=BUILTIN_PLUGINS, files=plugins, disabled=disable, tolerant=tolerant)


def simulate(
    experiment: Source,
    settings: Mapping[str, Any] | None = None,
    *,
    preset: str | None = None,
    out: str | Path | None = None,
    force: bool = False,
    fct: str | Path | None = None,
    plugins: Plugins | Iterable[str] = (),
    watcher: Watcher | None = None,
    keep_records: bool = True,
    **run: Any,
) -> Result:
    """Simulate an experiment.

    settings: dotted option -> value, e.g. `{"network.pfc": False}`; they win over the experiment and
    the preset. preset: as `--preset`. out, force, fct: as the options of `wormhole-sim run`.
    plugins: files or modules to load as well, or what `load` returned (to load once for many runs).
    watcher: told how far the run is. keep_records: False saves memory where the tables on disk are
    enough. run: options of the `[run]` section, e.g. `seed=3, model="process", stop_ps="1ms"`.

    Raises WormholeError (of `wormhole_core.errors`); a StalledError carries `.result`.
    """
    loaded = _loaded(plugins)
    prepared = _prepare(experiment, loaded, preset, settings, run)
    return run_experiment(prepared, loaded, out=out, force=force, fct=fct, watcher=watcher, keep_records=keep_records)


def compare(
    experiment: Source,
    other: Mapping[str, Any] | None = None,
    *,
    reference: Mapping[str, Any] | None = None,
    floor: int = 0,
    jitter_ps: int | None = None,
    fluid: bool = False,
    settings: Mapping[str, Any] | None = None,
    preset: str | None = None,
    plugins: Plugins | Iterable[str] = (),
    watcher: Watcher | None = None,
    **run: Any,
) -> Comparison:
    """Run an experiment twice and say how far the flow completion times are apart.

    reference: the settings of the first run (default: packet mode). other: what is different in the
    second, e.g. `{"run.model": "process"}` (default: wormhole mode). floor: how often the first is
    repeated with start times jittered by up to jitter_ps (None: one base RTT). fluid: also run it in
    fluid mode. The rest as in `simulate`. Raises WormholeError.
    """
    loaded = _loaded(plugins)
    prepared = _prepare(experiment, loaded, preset, settings, run)
    return compare_experiment(
        prepared,
        loaded,
        reference={"run.mode": "packet"} if reference is None else reference,
        other={"run.mode": "wormhole"} if other is None else other,
        floor=floor,
        jitter_ps=jitter_ps,
        fluid=fluid,
        watcher=watcher,
    )


def _loaded(plugins: Plugins | Iterable[str]) -> Plugins:
    return plugins if isinstance(plugins, Plugins) else load(plugins)


def _prepare(
    source: Source, plugins: Plugins, preset: str | None, settings: Mapping[str, Any] | None, run: Mapping[str, Any]
) -> Experiment:
    experiment = experiment_from(source)
    if preset is not None:
        apply_preset(experiment, plugins, preset, Origin(text=f"preset {preset}"))
    for key, value in {**{f"run.{name}": value for name, value in run.items()}, **(settings or {})}.items():
        experiment.set(key, value, Origin(text=key))
    return experiment
