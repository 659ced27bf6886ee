"""The experiment: sections of options, each value remembering where it was written.

Reads experiment files (TOML), takes changes from the command line or a script, and says
`file:line` about anything that is wrong. It knows the sections and their own keys, not the options
of components: those are checked when the experiment is built (`build.py`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from ..component import convert_field, make_config, near_match, near_option, non_negative, one_of, optional
from ..errors import ConfigError, InputError, WormholeError
from ..sim.config import NetworkConfig
from .formats.text import read_text

SECTIONS = ("topology", "workload", "cca", "routing", "network", "acceleration", "observers", "run")
NESTED = ("acceleration", "observers")
"""Sections whose values may be tables: `[observers.trace]`, `--set acceleration.memo.path=x`."""
CHOOSERS = ("plugin", "file", "flows", "simai")
"""Options that say which component a section is about; the rest of the section are its options."""
PLAUSIBLE_RATE_BPS = 10**6
"""Rates below this must be written with their unit."""
MODES = ("packet", "wormhole", "fluid")
DEFAULT_MODE = "wormhole"
MODELS = ("event", "process")
OUTPUTS = ("flows", "links", "collectives")


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@attrs.frozen(kw_only=True)
class RunConfig:
    """The `[run]` section."""

    seed: int = 1
    mode: str = one_of(*MODES, default=DEFAULT_MODE)
    """How the run is advanced: `packet` simulates every packet; `wormhole` skips what is steady and
    replays what is known; `fluid` shares links fairly and has no packets."""
    model: str = one_of(*MODELS, default="event")
    """`event`: the fast packet model; `process`: the readable one (same results, slower)."""
    stop_ps: int | None = optional()
    """Simulated time at which to stop, finished or not."""
    no_progress_ps: int | None = optional()
    """Give up when no byte moves for this long in simulated time with work left. Derived: 1 s, more
    where the slowest link takes as long for a hundred frames."""
    start_jitter_ps: int = non_negative(default=0)
    """Start times are moved by up to this much (drawn from the seed)."""
    lenient: bool = False
    """Files with fewer rows than they declare are run as far as they go."""
    outputs: tuple[str, ...] = attrs.field(default=OUTPUTS, converter=_names)
    """Tables written besides result.json."""

    @outputs.validator
    def _known_outputs(self, _attribute: Any, value: tuple[str, ...]) -> None:
        for name in value:
            if name not in OUTPUTS:
                raise ValueError(f"outputs must be among {', '.join(OUTPUTS)}, got {name!r}")


SECTION_CONFIGS = {"network": NetworkConfig, "run": RunConfig}
"""Sections whose options are the core's own."""


@attrs.frozen
class Origin:
    """Where a value was written: a line of a file, or a piece of a command line."""

    path: str | None = None
    line: int | None = None
    text: str = ""

    def error(self, what: str) -> WormholeError:
        """An error that begins with this place."""
        if self.path is not None:
            return InputError(what, self.path, self.line)
        return ConfigError(f"{self.text}: {what}" if self.text else what)

    @property
    def folder(self) -> Path:
        """Relative paths written here start in this folder."""
        return Path(self.path).parent if self.path is not None else Path()


@attrs.define
class Experiment:
    """What is to be run. `sections[section][key]` is a value, `origins` says where each came from.

    notes: what an imported configuration said that has no effect here. absent: section -> where, and
    which file was named for it that is not there."""

    sections: dict[str, dict[str, Any]] = attrs.field(factory=lambda: {name: {} for name in SECTIONS})
    origins: dict[tuple[str, ...], Origin] = attrs.field(factory=dict)
    source: str | None = None
    notes: list[str] = attrs.field(factory=list)
    absent: dict[str, tuple[Origin, str]] = attrs.field(factory=dict)

    def set(self, key: str, value: Any, origin: Origin) -> None:
        """Set one value by its dotted name, e.g. `network.pfc`; raises if there is no such section.

        Choosing another component (`cca.plugin`) forgets the options of the one before."""
        section, _, name = key.partition(".")
        if section not in SECTIONS:
            raise origin.error(
                f"there is no section {section!r}{near_match(section, SECTIONS)} Sections: {', '.join(SECTIONS)}"
            )
        if not name:
            raise origin.error(f"{key!r} names a section, not an option; write {section}.OPTION")
        table, path = self.sections[section], tuple(name.split("."))
        if len(path) > (2 if section in NESTED else 1):
            raise origin.error(f"{key!r} is nested too deeply; expected {section}.OPTION")
        if name in CHOOSERS and any(table[other] != value for other in CHOOSERS if other in table):
            table.clear()
        for part in path[:-1]:
            inner = table.get(part)
            if isinstance(inner, str):  # `memo = "sqlite"` is short for `memo = {plugin = "sqlite"}`
                inner = {"plugin": inner}
            table[part] = inner = dict(inner or {})
            table = inner
        table[path[-1]] = value
        self.origins[(section, *path)] = origin

    def replace(self, section: str, values: Mapping[str, Any], origin: Origin) -> None:
        """Forget a section and write it anew."""
        self.sections[section] = {}
        self.origins = {key: where for key, where in self.origins.items() if key[0] != section}
        for name, value in values.items():
            self.set(f"{section}.{name}", value, origin)

    def origin(self, section: str, *path: str) -> Origin:
        """Where a value was written (the section's or file's own place if it was not)."""
        for end in range(len(path), -1, -1):
            if (section, *path[:end]) in self.origins:
                return self.origins[(section, *path[:end])]
        return Origin(path=self.source) if self.source is not None else Origin()

    def under(self, section: str, values: Mapping[str, Any], origin: Origin) -> None:
        """Set values only where the section has none yet (a preset named inside a file)."""
        for name, value in values.items():
            if name not in self.sections[section]:
                self.set(f"{section}.{name}", value, origin)

    def config(self, section: str, config: type) -> Any:
        """The section as an object of its configuration class; bad values are named with their place."""
        owner = f"section [{section}]"
        self.check_values((section,), owner, config, self.sections[section])
        return make_config(owner, config, self.sections[section])

    def check_values(self, path: tuple[str, ...], owner: str, config: type, values: Mapping[str, Any]) -> None:
        """Raise an error with its place for the first option that is unknown or bad by itself.

        What only shows between options is left to `make_config`."""
        fields = {a.name: a for a in attrs.fields(config)}
        for name, value in values.items():
            where = self.origin(*path, name)
            if name not in fields:
                hint = near_option(name, config) or ";"
                raise where.error(
                    f"{owner} has no option {name!r}{hint} options: {', '.join(sorted(fields)) or 'none'}"
                )
            try:
                _refuse_bare_rate(name, value)
                converted = convert_field(fields[name], value)
                if fields[name].converter is not None:
                    converted = fields[name].converter(converted)
                if fields[name].validator is not None:
                    fields[name].validator(None, fields[name], converted)
            except (ValueError, TypeError) as error:
                message = str(error)
                raise where.error(
                    f"{owner}: {message if message.startswith(name) else f'{name}: {message}'}"
                ) from error
            except AttributeError:
                continue  # a check that looks at other options: make_config runs it

    def as_dict(self) -> dict[str, Any]:
        """Plain nested dicts of the sections in use, for the manifest."""
        return {name: dict(values) for name, values in self.sections.items() if values}


def read_experiment(path: str | Path) -> Experiment:
    """Read an experiment file; raises InputError with file and line."""
    text = read_text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column \d+\)", str(error))
        what = re.sub(r"\s*\(at .*\)", "", str(error))
        raise InputError(
            f"not valid TOML: {what[:1].lower()}{what[1:]}; text values need quotes, sections look like [network]",
            path,
            int(place[1]) if place else text.count("\n") + 1,
        ) from None
    return _fill(Experiment(source=str(path)), data, _key_lines(text), str(path))


def experiment_from(source: str | Path | Mapping[str, Any] | Experiment) -> Experiment:
    """An experiment from a file, from nested dicts, or a copy of an existing one."""
    if isinstance(source, Experiment):
        sections = {name: dict(values) for name, values in source.sections.items()}
        return attrs.evolve(
            source, sections=sections, origins=dict(source.origins), notes=[*source.notes], absent=dict(source.absent)
        )
    if isinstance(source, Mapping):
        return _fill(Experiment(), source, {}, None)
    return read_experiment(source)


def _refuse_bare_rate(name: str, value: Any) -> None:
    """`rate_bps = 100` is surely meant as something else than a hundred bits per second."""
    bare = str(value).replace("_", "")
    if name.endswith("_bps") and re.fullmatch(r"\d+(\.\d*)?", bare) and 0 < float(bare) < PLAUSIBLE_RATE_BPS:
        raise ValueError(f"{value!r} is a rate without a unit; write e.g. {value}Gbps, or {value}bps if that is meant")


def parse_setting(text: str) -> tuple[str, Any]:
    """`network.pfc=false` -> ("network.pfc", False); values read as TOML, else as text."""
    key, equals, written = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {text}: expected SECTION.OPTION=VALUE, e.g. --set network.pfc=false")
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        value = written.strip()
    if not isinstance(value, (bool, int, float, str, list, dict)):
        value = written.strip()  # dates and times: nothing here takes one
    return key.strip(), value


def _fill(
    experiment: Experiment, data: Mapping[str, Any], lines: Mapping[tuple[str, ...], int], path: str | None
) -> Experiment:
    for section, values in data.items():
        origin = Origin(path, lines.get((section,)))
        if section not in SECTIONS:
            what = "section" if isinstance(values, Mapping) else "option outside a section"
            raise origin.error(
                f"unknown {what} {section!r}{near_match(section, SECTIONS)} Sections: {', '.join(SECTIONS)}"
            )
        if not isinstance(values, Mapping):
            raise origin.error(f"{section!r} must be a section: write [{section}] and its options below it")
        experiment.origins[(section,)] = origin
        for name, value in values.items():
            where = Origin(path, lines.get((section, name), origin.line))
            experiment.sections[section][name] = value
            experiment.origins[(section, name)] = where
            if isinstance(value, Mapping):
                for inner in value:
                    experiment.origins[(section, name, inner)] = Origin(
                        path, lines.get((section, name, inner), where.line)
                    )
    return experiment


def _key_lines(text: str) -> dict[tuple[str, ...], int]:
    """Line of each section and key, for messages. Values spread over lines count at their first."""
    lines: dict[tuple[str, ...], int] = {}
    prefix: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            prefix = tuple(part.strip().strip("\"'") for part in header[1].split("."))
            key = prefix
        elif pair := re.match(r"\s*([\w.\"'-]+)\s*=", line):
            key = (*prefix, *(part.strip("\"'") for part in pair[1].split(".")))
        else:
            continue
        for end in range(1, len(key) + 1):
            lines.setdefault(key[:end], number)
    return lines
