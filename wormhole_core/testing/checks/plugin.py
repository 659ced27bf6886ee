"""What every plugin must do, whatever its kind: load alone, describe itself, refuse nonsense, repeat itself."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from ...component import NAME_PATTERN, Component
from ...errors import ConfigError
from ...hooks import KINDS
from ..forbid import CLOCK, ENVIRONMENT, RANDOM, forbidden
from ..runs import kit_experiment, mode_exists, trace_of
from ..subject import Skip, Subject
from ._register import check

UNITS = ("_ps", "_bps", "_bytes", "_bits", "_packets", "_hops")
FACE = frozenset({"wormhole_core", "wormhole_core.units", "wormhole_core.errors"})
QUANTITIES = frozenset({
    "time", "delay", "timeout", "interval", "period", "gap", "latency", "rtt", "duration", "rate", "bandwidth",
    "capacity", "speed", "size", "buffer", "length", "window",
    "ns", "us", "ms", "s", "sec", "seconds", "gbps", "mbps", "kbps", "kb", "mb", "gb", "kib", "mib", "gib",
})  # fmt: skip
"""Last words of a number's name that need a unit behind them, or are another unit than the suffixes known here."""
_ALONE = """
import importlib, importlib.abc, json, sys, time
refused, target, file = json.loads(sys.argv[1])
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ImportError(f"imports {name}, which belongs to another plugin")
import wormhole_core
sys.meta_path.insert(0, Refuse())
started = time.perf_counter()
if file:
    import importlib.util
    spec = importlib.util.spec_from_file_location("alone", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["alone"] = module
    spec.loader.exec_module(module)
else:
    importlib.import_module(target)
print((time.perf_counter() - started) * 1e3)
"""


@check("any")
def loads_alone(subject: Subject) -> str:
    """Its plugin loads in a fresh interpreter, without any other plugin."""
    info = subject.entry.info
    others = frozenset(
        Path(root).stem
        for other in subject.plugins.infos
        if other.name != info.name and other.source != "built-in"
        for root in other.roots
    ) - {Path(root).stem for root in info.roots}
    milliseconds, trouble = _load_alone(_module_of(subject), info.roots if info.source == "file" else (), others)
    subject.expect(not trouble, "its plugin to load alone in a fresh interpreter", trouble)
    return f"loads in {milliseconds:.0f} ms"


@functools.cache
def _load_alone(module: str, files: tuple[str, ...], others: frozenset[str]) -> tuple[float, str]:
    arguments = json.dumps([sorted(others), module, files[0] if files else ""])
    path = [sys.executable, "-c", _ALONE, arguments]
    done = subprocess.run(path, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        return 0.0, (done.stderr.strip().splitlines() or ["no message"])[-1]
    return float(done.stdout.split()[-1]), ""


def _module_of(subject: Subject) -> str:
    plugin = subject.plugins.manager.get_plugin(subject.entry.info.name)
    return getattr(plugin, "__name__", None) or type(plugin).__module__


@check("any")
def public_face_only(subject: Subject) -> None:
    """Its modules import nothing of ours but the public face, units and errors, and no other plugin."""
    info = subject.entry.info
    if info.source == "built-in" and not info.roots[0].endswith("builtin"):
        raise Skip("part of the program itself, not a plugin by the rules for plugins")
    foreign = {
        Path(root).stem: other
        for other in subject.plugins.infos
        if other.name != info.name and other.source != "built-in"
        for root in other.roots
    }
    for place, name in _imports(info.roots):
        top = name.partition(".")[0]
        if top == "wormhole_core" and not name.startswith("wormhole_core.builtin"):
            subject.expect(name in FACE, f"imports of {', '.join(sorted(FACE))} only", f"{name} at {place}")
        elif top in foreign and top not in {Path(root).stem for root in info.roots}:
            subject.fail("no import of another plugin", f"{name} ({foreign[top]}) at {place}")


@functools.cache
def _imports(roots: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """(file:line, dotted name) of every absolute import in a plugin's own files; tests left out."""
    return tuple(_read_imports(roots))


def _read_imports(roots: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for root in roots:
        place = Path(root)
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            if "tests" in path.relative_to(place).parts:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from ((f"{path}:{node.lineno}", alias.name) for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    package = node.module == "wormhole_core"
                    for alias in node.names:
                        submodule = package and _is_submodule(alias.name)
                        yield f"{path}:{node.lineno}", f"{node.module}.{alias.name}" if submodule else node.module


def _is_submodule(name: str) -> bool:
    folder = Path(__file__).resolve().parents[2]
    return (folder / f"{name}.py").is_file() or (folder / name).is_dir()


@check("any")
def hook_results(subject: Subject) -> None:
    """Its hook returns the same components twice, each with a proper name and a summary."""
    info, kind = subject.entry.info, subject.kind
    plugin = subject.plugins.manager.get_plugin(info.name)
    function = getattr(plugin, KINDS[kind])
    first, second = list(function()), list(function())
    for component in first:
        subject.expect(isinstance(component, Component), "components from its hook", repr(component))
        name, summary = component.name, component.summary
        subject.expect(NAME_PATTERN.match(name), "a name of a-z, 0-9 and single dashes", repr(name))
        subject.expect(summary.strip() and "\n" not in summary, "a summary of one line", repr(summary))
    names = [component.name for component in first]
    subject.expect(subject.entry.name in names, f"its own name among {names}", "another list than at load")
    again = [component.name for component in second if component not in first]
    subject.expect(first == second, "the same components from a second call of its hook", f"other ones: {again}")


@check("any")
def config_class(subject: Subject) -> None:
    """Its options are a frozen attrs class; each has a default or a text, each quantity a unit in its name."""
    config = subject.component.config
    subject.expect(attrs.has(config), "an attrs class for its options", config.__name__)
    frozen = getattr(config.__setattr__, "__name__", "") == "_frozen_setattrs"
    subject.expect(frozen, f"a frozen class {config.__name__} (attrs.frozen)", "one whose values can be changed")
    notes = _field_notes(config)
    for name, field in subject.fields().items():
        told = bool(notes.get(name) or field.metadata.get("help"))
        if field.default is attrs.NOTHING and notes:
            subject.expect(told, f"a text below the required option {name!r}", "none")
        if not _is_number(field) or name.endswith(UNITS):
            continue
        if "unit" in field.metadata:
            continue
        last = name.rpartition("_")[2]
        wanted = f"a unit at the end of {name!r} ({' '.join(UNITS)}), or metadata={{'unit': ...}} that says which"
        subject.expect(last not in QUANTITIES, wanted, "neither")
        if "float" in str(field.type) and notes:
            subject.expect(
                told, f"a text below {name!r} that says what the number is, or metadata={{'unit': ...}}", "none"
            )


def _field_notes(config: type) -> dict[str, str]:
    try:
        inspect.getsource(config)
    except (OSError, TypeError):
        return {}
    from ...cli.describe import field_notes

    return {"": "source can be read", **field_notes(config)}


def _is_number(field: Any) -> bool:
    kind = str(field.type)
    if "bool" in kind or "str" in kind or isinstance(field.default, (bool, str)):
        return False
    return any(word in kind for word in ("int", "float")) or isinstance(field.default, (int, float))


@check("any")
def bad_options(subject: Subject) -> None:
    """Unknown and ill-typed options raise ConfigError that names the option."""
    _refuses(subject, "no-such-option", 1)
    for name, field in subject.fields().items():
        if _is_number(field):
            _refuses(subject, name, "nonsense")
            _refuses(subject, name, [1, 2])
            if name.endswith(UNITS):
                _refuses(subject, name, -1)
        elif "bool" in str(field.type):
            _refuses(subject, name, "perhaps")


def _refuses(subject: Subject, name: str, value: object) -> None:
    wanted = f"ConfigError that names the option for {name} = {value!r}"
    try:
        config = subject.plugins.make_config(subject.kind, subject.entry.name, {**subject.options, name: value})
    except ConfigError as error:
        subject.expect(name in str(error), wanted, str(error))
    except Exception as error:
        subject.fail(wanted, f"{type(error).__name__}: {error}")
    else:
        subject.fail(wanted, f"it taken as {getattr(config, name, config)!r}")


@check("any")
def repeats_itself(subject: Subject) -> str | None:
    """Same seed, same result; no clock, global randomness or environment while running."""
    if subject.kind in ("partitioner", "memo-backend", "fast-forward") and not mode_exists("wormhole"):
        raise Skip("nothing uses it before there is an accelerated mode")
    # A store may wait for a lock and a recorder may date its file; what is simulated must not know the time.
    model = subject.kind not in ("memo-backend", "observer")
    what = (CLOCK, RANDOM, ENVIRONMENT) if model else (RANDOM,)
    traces = []
    for number in range(2):
        with forbidden(what, subject.entry.info.roots, subject.owner):
            traces.append(trace_of(kit_experiment(subject, number)))
    (count, first), (_, second) = traces
    subject.expect(first == second, "the same result from two runs with the same seed", "two results")
    return f"{count} flows twice"


@check("any")
def in_manifest(subject: Subject) -> None:
    """The manifest of a run that uses it names the plugin, its distribution and version."""
    info = subject.entry.info
    manifest = kit_experiment(subject).run(stop_ps=1_000_000).summary["manifest"]["plugins"]
    wanted = {"kind": subject.kind, "name": subject.entry.name, "plugin": info.name,
              "distribution": info.distribution, "version": info.version}  # fmt: skip
    subject.expect(wanted in manifest["components"], f"{wanted} in the manifest of a run", manifest["components"])
    named = info.distribution and (info.version or info.source == "module")  # a module need not be installed
    subject.expect(named, "a distribution and a version", wanted)
    subject.expect(
        any(p["name"] == info.name for p in manifest["plugins"]), f"plugin {info.name} in the manifest", "it missing"
    )
