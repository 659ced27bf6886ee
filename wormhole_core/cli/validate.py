"""`wormhole-sim validate FILE...`: what was understood of files, without running anything."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys

from rich.console import Console
from rich.text import Text

from ..errors import EXIT_OK, WormholeError
from ..run.build import build
from ..run.experiment import Origin, read_experiment
from ..run.formats import FORMATS, TopologyFile, describe, detect, facts, read_flows, read_topology
from ..run.wording import counted


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "validate",
        help="say what was understood of files",
        description="Say what was understood of topology, flow, workload, configuration and experiment files. "
        "Flows are checked against the topology if one is named too.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--format", choices=tuple(FORMATS), default="auto", help="read topologies as this dialect")
    parser.add_argument("--lenient", action="store_true", help="accept fewer rows than a file declares")
    parser.add_argument("--json", action="store_true", help="facts as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Examine every file; exit code of the first bad one."""
    console, code, gathered = Console(highlight=False), EXIT_OK, []
    topology = _only_topology(args)
    for path in args.files:
        try:
            if path.endswith(".toml"):
                lines, known = _experiment(path, args)
            else:
                known = facts(path, args.lenient, args.format)
                lines = describe(path, args.lenient, args.format)
                if topology is not None and "flows_present_in_file" in known:
                    read_flows(path, topology, lenient=args.lenient)
                    lines.append(f"all flows run between hosts of {topology.path}")
        except WormholeError as error:
            print(error, file=sys.stderr)
            code = code or error.exit_code
            continue
        gathered.append({"file": path, **known})
        if not args.json:
            console.print(Text(lines[0], style="bold"), soft_wrap=True)
            for line in lines[1:]:
                console.print(Text(f"  {line}"), soft_wrap=True)
    if args.json:
        json.dump(gathered, sys.stdout, indent=2, default=str)
        print()
    return code


def _only_topology(args: argparse.Namespace) -> TopologyFile | None:
    """The topology among the files, if it is one: flows are then checked against it."""
    found = []
    for path in args.files:
        with contextlib.suppress(WormholeError):
            if not path.endswith(".toml") and "topology" in detect(path):
                found.append(read_topology(path, args.format, args.lenient))
    return found[0] if len(found) == 1 else None


def _experiment(path: str, args: argparse.Namespace) -> tuple[list[str], dict[str, object]]:
    experiment = read_experiment(path)
    if args.lenient:
        experiment.set("run.lenient", True, Origin(text="--lenient"))
    parts = build(experiment, args.plugins)
    flows, size = parts.workload.total_items(), parts.workload.total_bytes()
    hosts, links = len(parts.hosts), parts.graph.number_of_edges()
    switches = parts.graph.number_of_nodes() - hosts
    known: dict[str, object] = {
        "kind": "experiment",
        "hosts": hosts,
        "switches": switches,
        "links": links,
        "flows": flows,
        "bytes": size,
        "components": {kind: name for kind, name in parts.used},
        "notes": list(parts.notes),
    }
    lines = [
        f"{path}: experiment",
        ", ".join(f"{kind} {name}" for kind, name in parts.used),
        f"{counted(hosts, 'host')}, {counted(switches, 'switch')}, {counted(links, 'link')}",
        ("an unknown number of flows" if flows is None else counted(flows, "flow"))
        + ("" if size is None else f", {size} bytes"),
        *(f"note: {note}" for note in parts.notes),
    ]
    return lines, known
