"""Writes docs/contracts.md from the public face: signatures and docstrings, in the order an author meets them.

`python docs/generate_contracts.py` writes the page; the tests run `page()` and compare, so the page is what the
code says. Text belongs into the docstrings of `wormhole_core`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

import wormhole_core
from wormhole_core import component, rng
from wormhole_core.contracts import (
    cca,
    collectives,
    forward,
    memo,
    observer,
    partition,
    result,
    routing,
    topology,
    workload,
)

PAGE = Path(__file__).with_name("contracts.md")
CHAPTERS: dict[str, ModuleType] = {
    "Components": component,
    "Congestion control": cca,
    "Topologies": topology,
    "Routings": routing,
    "Workloads": workload,
    "Collectives": collectives,
    "Observers": observer,
    "Results": result,
    "Partitioners": partition,
    "Memo back ends": memo,
    "Fast-forward policies": forward,
    "Random numbers": rng,
}
TITLE = """# Contracts

What the objects behind the [hooks](hooks.md) promise, and what they are given. This page is written by
`python docs/generate_contracts.py` from the docstrings of the code; a test compares. Everything here is imported from
`wormhole_core` itself. Optional methods do nothing unless overridden; abstract ones must be written.
"""


def page() -> str:
    """The whole page; raises LookupError if a public name is in no chapter or says nothing."""
    parts = [TITLE]
    told: set[str] = {"PLUGIN_API", "__version__", "hookimpl"}
    for title, module in CHAPTERS.items():
        names = [name for name in vars(module) if name in wormhole_core.__all__ and belongs(module, name)]
        told.update(names)
        parts.append(f"## {title}\n\n{text_of(module, title)}\n")
        for name in names:
            parts.extend(section(name, getattr(module, name)))
    missing = sorted(set(wormhole_core.__all__) - told)
    if missing:
        raise LookupError(f"no chapter of docs/contracts.md tells of {', '.join(missing)}")
    return "\n".join(parts)


def belongs(module: ModuleType, name: str) -> bool:
    """Whether a name is defined in the module, not imported into it."""
    return getattr(getattr(module, name), "__module__", module.__name__) in (
        module.__name__,
        "networkx.classes.multigraph",
    )


def section(name: str, thing: Any) -> Iterator[str]:
    """Heading, signature and text of a function or class, then of its methods."""
    if not inspect.isclass(thing):
        yield f"### {name}\n\n{signature(name, thing)}\n{text_of(thing, name)}\n"
        return
    if thing.__module__.startswith("networkx"):
        yield f"### {name}\n\nAnother name for `networkx.MultiGraph`.\n"
        return
    if attrs.has(thing):
        fields = "".join(f"    {field.name}: {clean(field.type)}{default(field)}\n" for field in attrs.fields(thing))
    elif issubclass(thing, tuple):
        fields = "".join(f"    {field}: {clean(kind)}\n" for field, kind in thing.__annotations__.items())
    else:
        fields = "".join(f"    {field}\n" for field in attributes(thing))
    yield f"### {name}\n\n```python\nclass {name}:\n{fields or '    ...' + chr(10)}```\n\n{text_of(thing, name)}\n"
    notes = notes_of(thing)
    if notes:
        yield "".join(f"- `{field}`: {text}\n" for field, text in notes.items())
    for method, function in methods(thing).items():
        abstract = "Abstract. " if getattr(function, "__isabstractmethod__", False) else ""
        full = f"{name}.{method}"
        yield f"#### {full}\n\n{signature(method, function)}\n{abstract}{text_of(function, full)}\n"


def methods(thing: type) -> dict[str, Any]:
    """Public methods and properties a class defines itself."""
    found = {}
    for name, value in vars(thing).items():
        value = value.fget if isinstance(value, property) else value
        if inspect.isfunction(value) and not name.startswith("_"):
            found[name] = value
    return found


def attributes(thing: type) -> Iterator[str]:
    """`name: type = value` of the class variables and slots of a contract."""
    kinds = inspect.get_annotations(thing)
    for name, kind in kinds.items():
        value = vars(thing).get(name)
        given = name in vars(thing) and not inspect.ismemberdescriptor(value)
        shown = "frozenset()" if value == frozenset() else repr(value)
        yield f"{name}: {clean(kind)}{f' = {shown}' if given else ''}"
    for name in thing.__dict__.get("__slots__", ()):
        if name not in kinds and not name.startswith("_"):
            yield name
    for name, value in vars(thing).items():
        if name.isupper() and name not in kinds:
            yield f"{name} = {value!r}"


def notes_of(thing: type) -> dict[str, str]:
    """Texts below the attributes in the class body."""
    source = inspect.getsource(thing)
    pattern = re.compile(r'^    (\w+): [^\n]+\n    """(.*?)"""', re.MULTILINE | re.DOTALL)
    return {name: " ".join(text.split()) for name, text in pattern.findall(source)}


def signature(name: str, function: Any) -> str:
    """`def name(...)` as the code has it, in a code block."""
    text = str(inspect.signature(function)).replace("'", "")
    return f"```python\ndef {name}{text}\n```\n"


def clean(kind: Any) -> str:
    """A type as an author writes it."""
    kind = getattr(kind, "__forward_arg__", kind)
    return kind.replace("'", "") if isinstance(kind, str) else getattr(kind, "__name__", str(kind))


def default(field: Any) -> str:
    """` = value` of an attrs field."""
    if field.default is attrs.NOTHING:
        return ""
    if isinstance(field.default, attrs.Factory):  # type: ignore[arg-type]
        return f" = {field.default.factory.__name__}()"
    value = field.default
    return f" = {value.__name__ if inspect.isclass(value) else repr(value)}"


def text_of(thing: Any, name: str) -> str:
    """The docstring as paragraphs; raises LookupError if there is none."""
    text = inspect.cleandoc(thing.__doc__ or "")
    if not text or text.startswith(f"{name}("):
        raise LookupError(f"{name} has no docstring")
    return re.sub(r"(?m)^    ", "", text) if text.startswith("    ") else text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}: {len(page().splitlines())} lines\n")
