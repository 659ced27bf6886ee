"""Flow files: independent or dependent transfers, with optional pinned paths.

`read_flows` reads the neutral `flows.csv` (with `paths.csv`) and HPCC's `flow.txt`, and refuses what
no network can carry: unknown hosts, flows to a switch or to oneself, empty sizes, unknown or circular
dependencies. Every message names file and line.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import attrs

from ...contracts.topology import Graph
from ...contracts.workload import Transfer
from ...errors import InputError
from .topology import TopologyFile

FIRST_SPORT = 10_000
"""Source port of the first flow of an ordered pair of hosts; the next ones count up."""


@attrs.define(kw_only=True)
class Flow:
    """One flow of a file. `line` is where it stands.

    start_ps: absolute if there are no `deps`, else the delay after the last of them is complete.
    path, ack_path: node ids that pin the route, None: routed.
    """

    id: int
    src: int
    dst: int
    size_bytes: int
    start_ps: int
    line: int
    deps: tuple[int, ...] = ()
    sport: int | None = None
    dport: int = 100
    traffic_class: int = 3
    path: tuple[int, ...] | None = None
    ack_path: tuple[int, ...] | None = None

    def transfer(self, job: str = "") -> Transfer:
        """The flow as a workload emits it: at time 0, or when its dependencies are complete."""
        return Transfer(
            id=self.id,
            src=self.src,
            dst=self.dst,
            size_bytes=self.size_bytes,
            delay_ps=self.start_ps,
            traffic_class=self.traffic_class,
            sport=self.sport,
            dport=self.dport,
            path=self.path,
            ack_path=self.ack_path,
            job=job,
        )


@attrs.define(kw_only=True)
class FlowsFile:
    """The flows in the order they are created, totals, and what was ignored.

    declared: the count in the file (None: no such thing). present: rows there are in it.
    """

    flows: list[Flow]
    kind: str
    path: Path
    declared: int | None = None
    present: int
    notes: list[str] = attrs.field(factory=list)

    @property
    def total_bytes(self) -> int:
        """Payload of all flows."""
        return sum(flow.size_bytes for flow in self.flows)

    @property
    def has_dependencies(self) -> bool:
        """Does any flow wait for another?"""
        return any(flow.deps for flow in self.flows)


def read_flows(
    path: object, topology: TopologyFile | Graph | None = None, paths: object | None = None, lenient: bool = False
) -> FlowsFile:
    """Read a flow file and check it.

    topology: against which hosts and paths are checked, if given. paths: a `paths.csv` that pins
    routes. lenient: rows missing against the declared count, and unknown columns, become notes.
    Raises InputError.
    """
    from . import flows_hpcc, flows_neutral
    from .detect import detect

    graph = topology.graph if isinstance(topology, TopologyFile) else topology
    kind = detect(path)
    if kind == "neutral-flows":
        result = flows_neutral.read(path, lenient)
    elif kind == "hpcc-flow":
        result = flows_hpcc.read(path, lenient)
    elif kind == "htsim-cm":
        raise InputError(
            "htsim connection matrices can be validated but not run yet; write the flows as flows.csv", path
        )
    else:
        raise InputError(f"this is a file of kind {kind}, expected flows; check the option it was given to", path)
    for flow in result.flows:
        _check_ends(flow, graph, path)
    _check_dependencies(result.flows, path)
    if paths is not None:
        flows_neutral.read_paths(paths, result, graph)
    number_ports(result.flows)
    return result


def _check_ends(flow: Flow, graph: Graph | None, path: object) -> None:
    if flow.src == flow.dst:
        raise InputError(
            f"flow {flow.id} goes from host {flow.src} to itself; name two different hosts", path, flow.line
        )
    if graph is None:
        return
    for name, node in (("src", flow.src), ("dst", flow.dst)):
        if node not in graph:
            hosts = graph.graph["hosts"]
            raise InputError(
                f"flow {flow.id}: {name} {node} is not in the topology; expected one of its {len(hosts)} hosts "
                f"({hosts[0]} to {hosts[-1]})",
                path,
                flow.line,
            )
        if graph.nodes[node]["kind"] != "host":
            raise InputError(
                f"flow {flow.id}: {name} {node} is a switch, expected a host; correct the node or the topology",
                path,
                flow.line,
            )


def _check_dependencies(flows: list[Flow], path: object) -> None:
    known = {flow.id: flow for flow in flows}
    waiting = {}
    followers: dict[int, list[int]] = {}
    for flow in flows:
        for dep in flow.deps:
            if dep not in known:
                raise InputError(
                    f"flow {flow.id} depends on flow {dep}, which is not in the file; correct its deps",
                    path,
                    flow.line,
                )
            followers.setdefault(dep, []).append(flow.id)
        waiting[flow.id] = len(flow.deps)
    free = [ident for ident, count in waiting.items() if not count]
    while free:
        for ident in followers.get(free.pop(), ()):
            waiting[ident] -= 1
            if not waiting[ident]:
                free.append(ident)
    stuck = {ident for ident, count in waiting.items() if count}
    if stuck:
        cycle = _cycle(known, stuck)
        ring = " after ".join(map(str, [*cycle[:6], *(["..."] if len(cycle) > 6 else []), cycle[0]]))
        raise InputError(
            f"flows wait for each other in a circle ({ring}); remove one of these deps", path, known[cycle[0]].line
        )


def _cycle(known: dict[int, Flow], stuck: set[int]) -> list[int]:
    ident = min(stuck)
    trail: dict[int, None] = {}
    while ident not in trail:
        trail[ident] = None
        ident = next(dep for dep in known[ident].deps if dep in stuck)
    order = list(trail)
    return order[order.index(ident) :]


def number_ports(flows: Iterable[Flow]) -> None:
    """Give each flow without a source port the next one of its (src, dst) pair, from `FIRST_SPORT`."""
    following: dict[tuple[int, int], int] = {}
    for flow in flows:
        pair = (flow.src, flow.dst)
        port = following.get(pair, FIRST_SPORT)
        following[pair] = port + 1
        if flow.sport is None:
            flow.sport = port
