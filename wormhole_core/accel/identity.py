"""The digest of everything that shapes how flows evolve and is the same for a whole run.

It goes into the key of every remembered episode, so that a store never answers for other code or
other options: the core's own model, the code and options of congestion control, routing, policy and
partitioner, and the network's constants. What differs between episodes (ports, rates, flows) is in
`key.py`; the seed is not here, since it matters only where random numbers are drawn (`book.py`).
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

CORE = Path(__file__).resolve().parents[1]
CORE_SOURCES = tuple(CORE / name for name in ("sim", "accel", "contracts", "rng.py", "units.py"))
"""What of the core shapes dynamics. The rest reads, shows and writes."""
NOT_DYNAMICS = frozenset({"link_failures"})
"""Network options that only say where packets go and when; the keys have the paths themselves."""

_known: dict[str, tuple[Any, bytes]] = {}


def dynamics_digest(parts: Iterable[object], sources: Iterable[Any]) -> bytes:
    """32 bytes over plain values and the text of source code.

    parts: values, attrs objects, mappings and sequences of them; their order counts. sources:
    functions, classes, modules or paths; of the first three the whole top-level package (or the
    single file) is read. Sources that were not edited since are not read again.
    """
    digest = hashlib.blake2b(digest_size=32)
    for part in parts:
        digest.update(b"part" + canonical(part).encode())
    for path in sorted({str(path) for source in sources for path in places_of(source)}):
        digest.update(b"code" + _source_digest(path))
    return digest.digest()


def network_parts(network: Any) -> tuple[object, ...]:
    """The constants of a `sim.network.Network` that shape dynamics: options and what was derived."""
    options = attrs.asdict(network.config, filter=lambda a, _v: a.name not in NOT_DYNAMICS)
    return (
        options, network.global_rtt_ps, network.alpha_rate_bps, network.telemetry, network.frame_bytes,
        network.ack_bytes, network.settings, network.per_flow,
    )  # fmt: skip


def canonical(value: Any) -> str:
    """A text that differs wherever two values differ: 1, 1.0, True and "1" are four values."""
    if isinstance(value, type):
        return f"<class {value.__module__}.{value.__qualname__}>"
    if attrs.has(type(value)):
        fields = ",".join(f"{a.name}={canonical(getattr(value, a.name))}" for a in attrs.fields(type(value)))
        return f"{type(value).__qualname__}({fields})"
    if isinstance(value, Mapping):
        return "{" + ",".join(sorted(f"{canonical(k)}:{canonical(v)}" for k, v in value.items())) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ",".join(sorted(map(canonical, value))) + "}"
    if isinstance(value, (list, tuple)):
        return "(" + ",".join(map(canonical, value)) + ")"
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    slots = getattr(type(value), "__slots__", None)
    if slots is not None:
        return f"{type(value).__qualname__}({','.join(f'{s}={canonical(getattr(value, s))}' for s in slots)})"
    # Objects without a text of their own show their address: such a value never matches, which is safe.
    return f"{type(value).__qualname__}:{value!r}"


def places_of(source: Any) -> tuple[Path, ...]:
    """Files and folders that hold the code of a source."""
    while isinstance(source, functools.partial):
        source = source.func
    if isinstance(source, (str, os.PathLike)):
        return (Path(source).resolve(),)
    name = source.__name__ if isinstance(source, ModuleType) else getattr(source, "__module__", None)
    if name is None:
        return places_of(type(source))
    module = sys.modules.get(name)
    top = sys.modules.get(name.partition(".")[0])
    for package in (top, module):
        if package is not None and getattr(package, "__path__", None):
            return tuple(Path(place).resolve() for place in package.__path__)
        if package is not None and getattr(package, "__file__", None):
            return (Path(package.__file__).resolve(),)  # type: ignore[arg-type]
    return ()


def code_of(build: Callable[..., Any], roots: Iterable[str]) -> tuple[Any, ...]:
    """Sources of a component: where its plugin lives, and where its `build` does if that is elsewhere.

    The core's own components share its top-level package, most of which has nothing to do with how
    flows move: of those the module of `build` is read, with its neighbours (`roots`)."""
    places = tuple(Path(root) for root in roots)
    elsewhere = [p for p in places_of(build) if p != CORE]
    return (*places, *elsewhere)


def _source_digest(path: str) -> bytes:
    """Digest of a file, or of all Python files below a folder; read again only when one was touched."""
    root = Path(path)
    files = sorted(root.rglob("*.py")) if root.is_dir() else [root]
    state = tuple((str(file), (stat := file.stat()).st_mtime_ns, stat.st_size) for file in files if file.exists())
    known = _known.get(path)
    if known is not None and known[0] == state:
        return known[1]
    digest = hashlib.blake2b(digest_size=32)
    for name, _, _ in state:
        data = Path(name).read_bytes()
        relative = os.path.relpath(name, root.parent)
        digest.update(f"{relative}\0{len(data)}\0".encode() + data)
    _known[path] = state, digest.digest()
    return digest.digest()
