"""Which room may import which, read from the syntax trees: nothing is imported, so broken modules count too."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "wormhole_core"
LONGEST = 500

FACE = {"", "units", "errors"}
LOW = {"errors", "units", "rng", "component", "contracts", "hooks"}

# Room (first part of a module's name inside wormhole_core) -> rooms it may import, besides itself.
# "" is the public face, `wormhole_core/__init__.py`.
ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "units": set(),
    "rng": set(),
    "component": {"errors", "units"},
    "contracts": {"component", "errors", "units", "rng"},
    "hooks": {"component", "contracts", "errors", "units"},
    "": LOW,
    "sim": {"component", "contracts", "errors", "units", "rng"},
    "accel": {"sim", "component", "contracts", "errors", "units", "rng"},
    "plugins": {"", "hooks", "component", "contracts", "errors"},
    "builtin": FACE,
    "run": {"", "accel", "sim", "plugins", "builtin", *LOW},
    "api": {"", "run", "plugins", "accel", "sim", *LOW},
    "cli": {"", "api", "run", "plugins", "testing", *LOW},
    "__main__": {"cli"},
    "experimental": FACE,
    "_deprecations": set(),
}

# Library -> rooms that may import it. Everything else must be the standard library.
LIBRARIES: dict[str, set[str]] = {
    "attrs": set(ROOMS) - {"errors", "units", "rng", "__main__"},
    "pluggy": {"hooks", "plugins"},
    "rich": {"cli"},
    "simpy": {"sim", "accel"},
    "networkx": {"sim", "contracts", "run"},
    "matplotlib": {"run"},  # the optional extra `plots`
}


def modules(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*.py")) if "__pycache__" not in path.parts)


def imports(path: Path, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of every import in a file; names under TYPE_CHECKING are only for
    the type checker and left out. `package`: dotted name of the file's package, as parts."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.dump(branch.test)
        for statement in branch.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            # `from package import module` may name a module: tell that by the file being there.
            for alias in node.names:
                inside = ROOT.joinpath(*module.split("."), alias.name)
                named = inside.with_suffix(".py").is_file() or (inside / "__init__.py").is_file()
                yield node.lineno, f"{module}.{alias.name}" if named else module


def faults(path: Path) -> Iterator[str]:
    relative = path.relative_to(ROOT)
    package = relative.parent.parts
    inner = relative.relative_to("wormhole_core").parts
    room = inner[0].removesuffix(".py") if inner[0] != "__init__.py" else ""
    if room == "testing":
        return
    for line, name in imports(path, package):
        top, *rest = name.split(".")
        where = f"{relative}:{line}"
        if top == "wormhole_core":
            target = rest[0] if rest else ""
            if room not in ROOMS:
                yield f"{where}: room {room!r} is not in the table of this test"
            elif target != room and target not in ROOMS[room]:
                yield f"{where}: {room or 'the public face'} imports {name}"
        elif top in LIBRARIES:
            if room not in LIBRARIES[top]:
                yield f"{where}: {room or 'the public face'} imports {top}"
        elif top not in sys.stdlib_module_names:
            yield f"{where}: imports {top}, neither the standard library nor a dependency"


def test_imports_inside_the_core_point_down():
    assert [fault for path in modules(CORE) for fault in faults(path)] == []


def test_sim_uses_networkx_in_two_places_only():
    users = {
        path.name
        for path in modules(CORE / "sim")
        for _, name in imports(path, path.relative_to(ROOT).parent.parts)
        if name.split(".")[0] == "networkx"
    }
    assert users <= {"network.py", "routing.py"}


@pytest.mark.parametrize("folder", sorted(ROOT.glob("plugins/*/wormhole_*")), ids=lambda folder: folder.name)
def test_plugin_packages_use_the_public_face_only(folder):
    allowed = {"wormhole_core", "wormhole_core.units", "wormhole_core.errors"}
    wrong = []
    for path in modules(folder):
        package = path.relative_to(folder.parent).parent.parts
        for line, name in imports(path, package):
            top = name.split(".")[0]
            known = top in (folder.name, "attrs", "networkx") or top in sys.stdlib_module_names
            if not known and name not in allowed:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: imports {name}")
    assert wrong == []


def test_no_file_grows_beyond_the_cap():
    folders = ("wormhole_core", "plugins", "tests", "benchmarks", "examples")
    sizes = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in folders
        for path in modules(ROOT / folder)
    }
    assert {name: size for name, size in sizes.items() if size > LONGEST} == {}


def test_every_module_says_what_it_is_for():
    silent = [
        str(path.relative_to(ROOT))
        for folder in ("wormhole_core", "plugins")
        for path in modules(ROOT / folder)
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("place", "text", "told"),
    [
        ("sim/x.py", "import pluggy", "sim imports pluggy"),
        ("sim/event/x.py", "from ...plugins import load_plugins", "sim imports wormhole_core.plugins"),
        ("accel/x.py", "from wormhole_core.run import runner", "accel imports wormhole_core.run"),
        ("run/x.py", "from rich import print", "run imports rich"),
        ("builtin/x.py", "from ..sim import config", "builtin imports wormhole_core.sim"),
        ("builtin/x.py", "from ..component import Component", "builtin imports wormhole_core.component"),
        ("contracts/x.py", "import requests", "imports requests"),
        ("attic/x.py", "from ..units import PS_PER_S", "room 'attic' is not in the table"),
        ("sim/x.py", "def f():\n    from .. import plugins", "sim imports wormhole_core.plugins"),
    ],
)
def test_this_test_can_fail(tmp_path, monkeypatch, place, text, told):
    for name in ("sim", "plugins", "run", "component", "units"):
        (tmp_path / "wormhole_core" / name).mkdir(parents=True)
        (tmp_path / "wormhole_core" / name / "__init__.py").touch()
    path = tmp_path / "wormhole_core" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    found = list(faults(path))
    assert len(found) == 1 and told in found[0]
