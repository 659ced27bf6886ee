"""From an experiment to the objects of a run: topology, workload, congestion control, routing.

Component names are looked up here and their options checked; component code is called here only, so
a failure there is reported with the plugin's name and distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from ..component import near_match
from ..contracts.cca import Cca, FlowInfo
from ..contracts.observer import Observer, RunInfo
from ..contracts.routing import Routing
from ..contracts.topology import Graph, check_graph
from ..contracts.workload import Workload
from ..errors import ConfigError, PluginError, WormholeError
from ..rng import Stream, stream
from ..sim.config import NetworkConfig
from .acceleration import Acceleration, read_acceleration
from .experiment import Experiment, Origin, RunConfig

SHORTHANDS = {"topology": {"file": "file"}, "workload": {"flows": "flows", "simai": "simai"}}
"""`[topology] file = "x"` is short for `plugin = "file"` with `path = "x"`, and so on."""
DEFAULT_CCA = "hpcc"
DEFAULT_ROUTING = "ecmp"


@attrs.frozen(kw_only=True)
class Choice:
    """A component that was named in the experiment, with its checked configuration."""

    kind: str
    name: str
    entry: Any
    config: Any

    def build(self, *arguments: Any) -> Any:
        """Call the component's `build`; its failures name the plugin."""
        return self.entry.build(self.config, *arguments)


@attrs.frozen(kw_only=True)
class Parts:
    """Everything a run needs, built and checked, before the first event."""

    experiment: Experiment
    run: RunConfig
    network: NetworkConfig
    graph: Graph
    hosts: tuple[int, ...]
    workload: Workload
    make_cca: Callable[[FlowInfo, Stream], Cca]
    routing: Routing
    per_flow_routing: bool
    observers: tuple[Choice, ...]
    acceleration: Acceleration
    dynamics: tuple[Choice, ...]
    """The components whose code and options shape how flows evolve: congestion control, routing."""
    used: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    def make_observers(self, info: RunInfo) -> list[Observer]:
        """The observers the experiment asks for."""
        return [choice.build(info) for choice in self.observers]


def build(experiment: Experiment, plugins: Any) -> Parts:
    """Look up, check and build everything an experiment names.

    plugins: what `load_plugins` returned. Raises ConfigError or InputError with the place of the
    fault, PluginError where a component fails.
    """
    apply_file_preset(experiment, plugins)
    run = run_config(experiment)
    network = experiment.config("network", NetworkConfig)
    topology = choose(experiment, plugins, "topology", "topology")
    workload = choose(experiment, plugins, "workload", "workload")
    cca = choose(experiment, plugins, "cca", "cca", default=DEFAULT_CCA)
    routing = choose(experiment, plugins, "routing", "routing", default=DEFAULT_ROUTING)
    observers = tuple(
        choose_nested(experiment, plugins, "observers", name, "observer", default=name)
        for name in experiment.sections["observers"]
    )
    acceleration = read_acceleration(experiment, plugins, run.mode == "wormhole", choose_nested)
    graph = topology.build(stream(run.seed, "topology"))
    # A file is named by its path, as `validate` does.
    check_graph(graph, topology.config.path if topology.name == "file" else f"topology {topology.name!r}")
    _check_failures(experiment, network, graph)
    hosts = tuple(graph.graph["hosts"])
    built_workload = workload.build(hosts, stream(run.seed, "workload"), *_extras(workload, graph))
    choices = (topology, workload, cca, routing, *observers, *acceleration.choices)
    return Parts(
        experiment=experiment, run=run, network=network, graph=graph, hosts=hosts, workload=built_workload,
        make_cca=cca.build, routing=routing.build(stream(run.seed, "routing")),
        per_flow_routing=bool(routing.entry.component.traits.get("per_flow", False)), observers=observers,
        acceleration=acceleration, dynamics=(cca, routing),
        used=tuple((choice.kind, choice.name) for choice in choices),
        notes=(*experiment.notes, *graph.graph.get("notes", ()), *getattr(built_workload, "notes", ())),
    )  # fmt: skip


def _check_failures(experiment: Experiment, network: NetworkConfig, graph: Graph) -> None:
    for _, a, b in network.link_failures:
        if not graph.has_edge(a, b):
            raise experiment.origin("network", "link_failures").error(
                f"link_failures names a link {a}-{b} that the topology does not have; name two nodes it joins"
            )


def run_config(experiment: Experiment) -> RunConfig:
    """The `[run]` section. The readable packet model cannot be accelerated: it runs in packet mode."""
    run: RunConfig = experiment.config("run", RunConfig)
    if run.mode == "wormhole" and run.model == "process":
        if "mode" in experiment.sections["run"]:
            raise experiment.origin("run", "model").error(
                "run.model 'process' cannot be accelerated; leave out run.mode (packet mode is then used), "
                "or use run.model 'event'"
            )
        run = attrs.evolve(run, mode="packet")
    return run


def choose(experiment: Experiment, plugins: Any, section: str, kind: str, default: str | None = None) -> Choice:
    """The component a section names, with its options checked."""
    values = _expand_shorthand(experiment, section)
    name = values.pop("plugin", default)
    values.pop("preset", None)
    if name is None:
        _refuse_misspelt(experiment, (section,), values, ("plugin", *SHORTHANDS.get(section, ())))
        if section in experiment.absent:
            where, why = experiment.absent[section]
            option = {"workload": "--flows"}.get(section, f"--{section}")
            raise where.error(f"{why}; put it there, or name another with {option}")
        ways = " or ".join(["plugin", *SHORTHANDS.get(section, ())])
        raise experiment.origin(section).error(
            f"the experiment names no {section}; give [{section}] {ways}, or --{section}"
            + (", --flows or --simai" if section == "workload" else "")
        )
    return _choice(experiment, plugins, (section,), kind, name, values, ("plugin", *SHORTHANDS.get(section, ())))


def choose_nested(
    experiment: Experiment, plugins: Any, section: str, key: str, kind: str, default: str | None = None
) -> Choice:
    """The component named by one option of a section: `memo = "sqlite"` or a table with `plugin`."""
    value = experiment.sections[section].get(key, default)
    if isinstance(value, str):
        value = {"plugin": value}
    if not isinstance(value, Mapping):
        raise experiment.origin(section, key).error(
            f"{section}.{key} must be the name of a {kind} or a table of options, got {value!r}"
        )
    values = dict(value)
    name = values.pop("plugin", default)
    if name is None:
        _refuse_misspelt(experiment, (section, key), values, ("plugin",))
        raise experiment.origin(section, key).error(f"[{section}.{key}] needs plugin = NAME of a {kind}")
    return _choice(experiment, plugins, (section, key), kind, name, values)


def find_preset(plugins: Any, label: str, origin: Origin, cca: str | None = None) -> tuple[str, Mapping[str, Any]]:
    """(name of the cca, {"cca": {...}, "network": {...}}) of a preset; raises naming those that exist."""
    found, known = {}, {}
    for name in plugins.registry.names("cca"):
        presets = plugins.registry.get("cca", name).component.presets
        known.update(dict.fromkeys(presets, name))
        if label in presets:
            found[name] = presets[label]
    if cca is not None and label in known:
        if cca not in found:
            raise origin.error(
                f"preset {label!r} belongs to cca {known[label]!r}, not to {cca!r}; leave one of them out"
            )
        return cca, found[cca]
    if not found:
        raise origin.error(
            f"unknown preset {label!r}{near_match(label, known) or ';'} known: {', '.join(sorted(known)) or 'none'}"
        )
    if len(found) > 1:
        raise origin.error(f"preset {label!r} is offered by several ccas: {', '.join(sorted(found))}; add --cca NAME")
    return next(iter(found.items()))


def apply_preset(experiment: Experiment, plugins: Any, label: str, origin: Origin, cca: str | None = None) -> None:
    """Set congestion control and network fields to a preset, over what is there."""
    name, preset = find_preset(plugins, label, origin, cca)
    experiment.replace("cca", {"plugin": name, "preset": label, **preset.get("cca", {})}, origin)
    for field, value in preset.get("network", {}).items():
        experiment.set(f"network.{field}", value, origin)


def apply_file_preset(experiment: Experiment, plugins: Any) -> None:
    """`preset = ...` in `[cca]`: fills in what the experiment itself does not set."""
    label = experiment.sections["cca"].get("preset")
    if label is None:
        return
    origin = experiment.origin("cca", "preset")
    name, preset = find_preset(plugins, str(label), origin, experiment.sections["cca"].get("plugin"))
    experiment.under("cca", {"plugin": name, **preset.get("cca", {})}, origin)
    experiment.under("network", preset.get("network", {}), origin)


def _expand_shorthand(experiment: Experiment, section: str) -> dict[str, Any]:
    values = dict(experiment.sections[section])
    given = [key for key in ("plugin", *SHORTHANDS.get(section, ())) if key in values]
    if len(given) > 1:
        raise experiment.origin(section, given[-1]).error(
            f"[{section}] has both {given[0]} and {given[1]}; keep one of them"
        )
    for key in given:
        if key != "plugin":
            if "path" in values:
                raise experiment.origin(section, "path").error(f"[{section}] has both {key} and path; keep one of them")
            values["plugin"], values["path"] = SHORTHANDS[section][key], values.pop(key)
            experiment.origins[(section, "path")] = experiment.origin(section, key)
    return values


def _refuse_misspelt(
    experiment: Experiment,
    path: tuple[str, ...],
    values: Mapping[str, Any],
    ways: tuple[str, ...],
    options: Iterable[str] = (),
) -> None:
    """Raise for `plugn = "star"`: an option no component has, but nearly one that names a component."""
    for key in values:
        near = near_match(key, [*ways, *options])
        if key not in options and any(f"{way!r}" in near for way in ways):
            raise experiment.origin(*path, key).error(f"[{'.'.join(path)}]: unknown option {key!r}{near}")


def _choice(
    experiment: Experiment,
    plugins: Any,
    path: tuple[str, ...],
    kind: str,
    name: Any,
    values: dict[str, Any],
    ways: tuple[str, ...] = ("plugin",),
) -> Choice:
    where = experiment.origin(*path, "plugin")
    if not isinstance(name, str):
        raise where.error(f"the name of a {kind} must be a text, got {name!r}")
    try:
        entry = plugins.registry.get(kind, name)
    except PluginError:
        raise
    except WormholeError as error:
        raise where.error(str(error)) from error
    config = entry.component.config
    _refuse_misspelt(experiment, path, values, ways, [a.name for a in attrs.fields(config)])
    experiment.check_values(path, entry.owner, config, values)
    if experiment.sections["run"].get("lenient") and "lenient" in {a.name for a in attrs.fields(config)}:
        values.setdefault("lenient", True)
    values = {key: _resolve(key, value, experiment.origin(*path, key)) for key, value in values.items()}
    return Choice(kind=kind, name=name, entry=entry, config=plugins.make_config(kind, name, values))


def _resolve(key: str, value: Any, origin: Origin) -> Any:
    """Options called path, paths or ..._path are files: relative ones start beside the experiment."""
    if not isinstance(value, str) or not (key in ("path", "paths") or key.endswith("_path")):
        return value
    return str(origin.folder / Path(value).expanduser())


def _extras(workload: Choice, graph: Graph) -> tuple[Graph, ...]:
    """Trait `needs_graph` (workloads of files, which name nodes): `build` takes the topology as well."""
    return (graph,) if workload.entry.component.traits.get("needs_graph") else ()


def unknown_file(path: str, kind: str, names: list[str]) -> ConfigError:
    """Neither a plugin nor a file: say so, with the nearest plugin."""
    hint = near_match(path, names) or ";"
    return ConfigError(f"{kind} {path!r} is neither a file nor a plugin{hint} plugins: {', '.join(names)}")
