"""Topology files: one entry point over the neutral JSON form and the HPCC and SimAI text dialects.

`read_topology` keeps every link (two links between a pair are two edges) and judges only what cannot
be meant: unknown nodes, loops, missing rows. Whether hosts can reach each other is for the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import attrs
import networkx as nx

from ...contracts.topology import Graph
from ...errors import InputError

FORMATS = {
    "auto": "auto",
    "neutral": "neutral",
    "hpcc": "hpcc3",
    "hpcc3": "hpcc3",
    "powertcp": "inet4",
    "inet4": "inet4",
    "simai": "simai6",
    "simai6": "simai6",
    "reverie": "reverie6",
    "reverie6": "reverie6",
    "htsim": "htsim-topo",
    "htsim-topo": "htsim-topo",
}
"""Names `--topology-format` takes -> dialect."""
ISOLATED_NODES_ALLOWED = 10_000


@attrs.define(kw_only=True)
class TopologyFile:
    """What a topology file was understood to say.

    kind: as `detect` names it. dialect: "neutral", "hpcc3", "inet4", "simai6", "reverie6" or
    "htsim-topo". delay_texts: how often each delay was written, as written. trailing_tokens: tokens
    after the declared links, ignored. tors: top-of-rack switches, where the dialect counts them.
    notes: lines for people.
    """

    graph: Graph
    kind: str
    dialect: str
    path: Path
    notes: list[str] = attrs.field(factory=list)
    gpus_per_server: int | None = None
    gpu_type: str | None = None
    nvswitches: int | None = None
    tors: int | None = None
    trailing_tokens: int = 0
    delay_texts: Counter[str] = attrs.field(factory=Counter)
    layout: dict[str, object] = attrs.field(factory=dict)

    @property
    def hosts(self) -> tuple[int, ...]:
        """Host ids in rank order."""
        return self.graph.graph["hosts"]

    @property
    def switches(self) -> int:
        """Number of switches, NVSwitches not counted."""
        return self.graph.number_of_nodes() - len(self.hosts) - (self.nvswitches or 0)


def read_topology(path: object, format: str = "auto", lenient: bool = False) -> TopologyFile:
    """Read a topology file.

    format: a key of `FORMATS`; "auto" looks at the content. lenient: links missing against the
    declared count are left out with a note instead of refused. Raises InputError.
    """
    from . import htsim, topology_hpcc, topology_neutral
    from .detect import detect

    if format not in FORMATS:
        raise InputError(f"topology format is {format!r}, expected one of {', '.join(FORMATS)}", path)
    dialect = FORMATS[format]
    if dialect == "auto":
        kind = detect(path)
        if kind not in ("neutral-topology", "hpcc-topology", "simai-topology", "htsim-topo"):
            raise InputError(
                f"this is a file of kind {kind}, expected a topology; check the option it was given to", path
            )
        dialect = {"neutral-topology": "neutral", "simai-topology": "simai6", "htsim-topo": "htsim-topo"}.get(
            kind, "auto"
        )
    if dialect == "neutral":
        return topology_neutral.read(path)
    if dialect == "htsim-topo":
        return htsim.read_topo(path)
    return topology_hpcc.read(path, dialect, lenient)


def finish_graph(graph: Graph, hosts: Iterable[int]) -> None:
    """Set rank order and switch tiers (links to the nearest host; none where no host is near)."""
    graph.graph["hosts"] = tuple(sorted(hosts))
    near = dict.fromkeys(graph.graph["hosts"], 0)
    front = list(near)
    while front:
        reached = []
        for node in front:
            for peer in graph.adj[node]:
                if peer not in near:
                    near[peer] = near[node] + 1
                    reached.append(peer)
        front = reached
    for node, data in graph.nodes(data=True):
        if data["kind"] == "switch" and node in near:
            data.setdefault("tier", near[node])


def distances_from(graph: Graph, host: int) -> dict[int, int]:
    """Links from a host to every node it reaches; other hosts never forward."""
    found = {host: 0}
    front = [host]
    while front:
        reached = []
        for node in front:
            if node != host and graph.nodes[node]["kind"] == "host":
                continue
            for peer in graph.adj[node]:
                if peer not in found:
                    found[peer] = found[node] + 1
                    reached.append(peer)
        front = reached
    return found


def lonely_note(graph: Graph, notes: list[str]) -> None:
    """Add a line that names hosts without a link."""
    lonely = [h for h in graph.graph["hosts"] if graph.degree(h) == 0]
    if lonely:
        more = "" if len(lonely) == 1 else f" and {len(lonely) - 1} more"
        notes.append(f"host {lonely[0]}{more} has no link")


def empty_graph() -> Graph:
    """A graph without nodes; links are added with `contracts.topology.add_link`."""
    return nx.MultiGraph()
