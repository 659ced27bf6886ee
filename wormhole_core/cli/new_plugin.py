"""`wormhole-sim new-plugin KIND NAME`: writes an installable package that works, to be changed.

The texts are in `templates/`: one module per kind, and what every package has. In them the words
`example-name`, `example_name` and `ExampleName` stand for the name, `example-...` for the rest.
"""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import sys
from importlib import resources
from pathlib import Path

import attrs
from rich.console import Console
from rich.text import Text

from .. import __version__
from ..component import NAME_PATTERN
from ..errors import ConfigError, OutputError
from ..hooks import KINDS
from ..plugins import Plugins
from ..run.experiment import MODES

LINE_CELLS = 80
SMALL = "--topology star --workload incast"
ACCELERATED = f"{SMALL} --mode wormhole" if "wormhole" in MODES else SMALL


@attrs.frozen(kw_only=True)
class Kind:
    """What differs between kinds besides the module: how one is chosen, and what tests it.

    run: arguments of `wormhole-sim run` that use the component NAME. contract: class of the kit.
    options: configurations the contract test runs with, as source text.
    """

    run: str
    contract: str
    options: str = "[{}]"


KIND_TEXTS = {
    "cca": Kind(run=f"{SMALL} --cca NAME", contract="CcaContract", options='[{}, {"cut": 0.5}]'),
    "topology": Kind(
        run="--topology NAME --workload incast",
        contract="TopologyContract",
        options='[{}, {"hosts": 5, "switches": 3}]',
    ),
    "routing": Kind(
        run="--topology leaf-spine --workload permutation --routing NAME",
        contract="RoutingContract",
        options='[{}, {"offset": 1}]',
    ),
    "workload": Kind(run="--topology star --workload NAME", contract="WorkloadContract", options='[{}, {"laps": 3}]'),
    "partitioner": Kind(
        run=f"{ACCELERATED} --set acceleration.partitioner=NAME",
        contract="PartitionerContract",
        options='[{}, {"block_nodes": 2}]',
    ),
    "memo-backend": Kind(run=f"{ACCELERATED} --set acceleration.memo=NAME", contract="MemoBackendContract"),
    "fast-forward": Kind(
        run=f"{ACCELERATED} --set acceleration.fast_forward=NAME",
        contract="FastForwardContract",
        options='[{}, {"windows": 6}]',
    ),
    "observer": Kind(
        run=f"{SMALL} --set observers.NAME=NAME", contract="ObserverContract", options='[{}, {"slowest": 1}]'
    ),
}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "new-plugin",
        help="start a plugin of your own",
        description="Write an installable plugin package into a new folder NAME of the current directory.",
    )
    parser.add_argument("kind", choices=tuple(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("name", metavar="NAME", help="what experiments will say: small letters, digits, dashes")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the package; say how to try it, install it and test it."""
    name = args.name
    check_name(args.kind, name, args.plugins)
    folder = Path(name)
    files = package_files(args.kind, name)
    write_package(folder, files)
    console = Console(highlight=False)
    console.print(Text(f"{folder}/: {', '.join(files)}", style="bold"))
    for what, command in (
        ("try it", try_command(args.kind, name, f"{folder}/")),
        ("check it", f"wormhole-sim check {name} --plugin {folder}/{name.replace('-', '_')}.py"),
        ("install it", f"python -m pip install -e {folder}"),
        ("test it", f"cd {folder} && python -m pytest"),
    ):
        lines = shell_lines(command, LINE_CELLS - 13)
        console.print(Text.assemble((f"{what:>11}  ", "dim"), f"\n{'':13}".join(lines)), soft_wrap=True)


def check_name(kind: str, name: str, plugins: Plugins) -> None:
    """Raise ConfigError unless `name` can name a component, a distribution and a module."""
    module = name.replace("-", "_")
    if not NAME_PATTERN.match(name) or not module.isidentifier() or keyword.iskeyword(module):
        raise ConfigError(
            f"{name!r} cannot name a plugin; use small letters, digits and single dashes, a letter first: my-{kind}"
        )
    if name in plugins.registry.names(kind):
        owner = plugins.registry.get(kind, name).owner
        raise ConfigError(f"there is already a {owner}; choose another name, e.g. my-{name}")
    if name in {info.name for info in plugins.infos}:
        raise ConfigError(f"there is already a plugin called {name!r}; choose another name, e.g. my-{name}")
    if module in sys.stdlib_module_names or importlib.util.find_spec(module) is not None:
        raise ConfigError(
            f"there is already a Python module {module!r}, which a plugin file {module}.py would hide; "
            f"choose another name, e.g. my-{name}"
        )


def try_command(kind: str, name: str, folder: str = "") -> str:
    """A command that runs a small experiment with the plugin's file."""
    return f"{run_command(kind, name)} --plugin {folder}{name.replace('-', '_')}.py"


def run_command(kind: str, name: str) -> str:
    """A command that runs a small experiment with the installed plugin."""
    return f"wormhole-sim run {KIND_TEXTS[kind].run.replace('NAME', name)}"


def shell_lines(command: str, width: int) -> list[str]:
    """The command over as many lines as it takes, continued by `\\`, broken before options only."""
    first, *options = command.split(" --")
    lines = [first]
    for option in options:
        if len(lines[-1]) + len(f" --{option} \\") <= width:
            lines[-1] += f" --{option}"
        else:
            lines[-1] += " \\"
            lines.append(f"    --{option}")
    return lines


def package_files(kind: str, name: str) -> dict[str, str]:
    """Path inside the package -> text."""
    module = name.replace("-", "_")
    major, minor = __version__.split(".")[:2]
    words = {
        "example-try": "\n    ".join(shell_lines(try_command(kind, name), LINE_CELLS - 4)),
        "example-run": "\n    ".join(shell_lines(run_command(kind, name), LINE_CELLS - 4)),
        "example-kind": kind,
        "example-options": KIND_TEXTS[kind].options,
        "example-series": f"{major}.{minor},<{major}.{int(minor) + 1}",
        "ExampleContract": KIND_TEXTS[kind].contract,
        "ExampleName": "".join(part[:1].upper() + part[1:] for part in name.split("-")),
        "example_name": module,
        "example-name": name,
    }
    sources = {
        "pyproject.toml": "pyproject.toml",
        f"{module}.py": f"{kind}.py",
        "README.md": "README.md",
        "conftest.py": "conftest.py",
        "tests/test_contract.py": "test_contract.py",
    }
    files = {}
    for path, template in sources.items():
        text = (resources.files(__package__) / "templates" / f"{template}.txt").read_text(encoding="utf-8")
        for word, replacement in words.items():
            text = text.replace(word, replacement)
        files[path] = text
    return files


def write_package(folder: Path, files: dict[str, str]) -> None:
    """Write into a folder that does not exist yet; raises OutputError."""
    try:
        folder.mkdir()
        for path, text in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except FileExistsError:
        raise OutputError(f"{folder} exists already; choose another name, or another current directory") from None
    except OSError as error:
        raise OutputError(f"{error.filename or folder}: cannot write: {error.strerror or error}") from None
