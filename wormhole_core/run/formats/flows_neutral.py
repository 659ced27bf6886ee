"""The neutral flow list (`flows.csv`) and the routes that go with it (`paths.csv`).

flows.csv: `flow_id,src,dst,bytes,start_ns[,deps][,sport][,dport]`; deps are flow ids joined by `;`,
and a flow with deps begins `start_ns` after the last of them. paths.csv:
`flow_id,sport,dport,data_path,ack_path`; a path is node ids joined by `-`, an empty one is routed.
Both are read line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from ...component import near_match
from ...contracts.topology import Graph
from ...errors import InputError
from ...units import PS_PER_NS
from .flows import Flow, FlowsFile
from .text import cells, iter_lines, number, shown, whole

FLOW_COLUMNS = ("flow_id", "src", "dst", "bytes", "start_ns")
_OPTIONAL = ("deps", "sport", "dport")
PATH_COLUMNS = ("flow_id", "sport", "dport", "data_path", "ack_path")
_MAX_PORT = 65_535
_MAX_START_NS = 10**24


def read(path: object, lenient: bool) -> FlowsFile:
    """Read flows.csv. Raises InputError."""
    rows = iter_lines(path)
    first, header = next(rows)
    columns = cells(header)
    notes = _check_columns(columns, FLOW_COLUMNS, _OPTIONAL, path, first, lenient)
    flows: list[Flow] = []
    seen: dict[int, int] = {}
    for line, text in rows:
        row = _row(text, columns, path, line)
        flow = _flow(row, path, line)
        if flow.id in seen:
            raise InputError(
                f"flow_id {flow.id} is already used on line {seen[flow.id]}; give each flow its own id", path, line
            )
        seen[flow.id] = line
        flows.append(flow)
    if not flows:
        raise InputError("no flow follows the header; expected at least one row", path, first)
    return FlowsFile(flows=flows, kind="neutral-flows", path=Path(str(path)), present=len(flows), notes=notes)


def _check_columns(
    columns: tuple[str, ...],
    needed: tuple[str, ...],
    optional: tuple[str, ...],
    path: object,
    line: int,
    lenient: bool,
) -> list[str]:
    notes = []
    for name in columns:
        if columns.count(name) > 1:
            raise InputError(f"column {shown(name)} appears twice; remove one", path, line)
        if name not in needed + optional:
            if not lenient:
                raise InputError(
                    f"unknown column {shown(name)}{near_match(name, needed + optional)}; expected "
                    f"{','.join(needed)} and optionally {','.join(optional) or 'nothing'} (--lenient ignores it)",
                    path,
                    line,
                )
            notes.append(f"unknown column {shown(name)} ignored")
    missing = [name for name in needed if name not in columns]
    if missing:
        raise InputError(f"column {missing[0]!r} is missing, expected {','.join(needed)}", path, line)
    return notes


def _row(text: str, columns: tuple[str, ...], path: object, line: int) -> dict[str, str]:
    values = cells(text)
    # A row may leave out trailing empty cells (deps), never have more than the header.
    short = len(columns) - len(values)
    if short < 0 or any(name not in _OPTIONAL for name in columns[len(values) :]):
        raise InputError(f"the row has {len(values)} cells, expected {len(columns)} as in the header", path, line)
    return dict(zip(columns, values + ("",) * short, strict=True))


def _flow(row: dict[str, str], path: object, line: int) -> Flow:
    ident = whole(row["flow_id"], "flow_id", path, line)
    start = number(row["start_ns"], f"start_ns of flow {ident}", path, line)
    if not 0 <= start <= _MAX_START_NS:
        raise InputError(f"start_ns of flow {ident} is {shown(row['start_ns'])}, expected 0 or later", path, line)
    deps = []
    for word in filter(None, map(str.strip, row.get("deps", "").split(";"))):
        dep = whole(word, f"a dependency of flow {ident}", path, line)
        if dep == ident:
            raise InputError(f"flow {ident} depends on itself; remove it from its deps", path, line)
        deps.append(dep)
    flow = Flow(
        id=ident,
        src=whole(row["src"], f"src of flow {ident}", path, line),
        dst=whole(row["dst"], f"dst of flow {ident}", path, line),
        size_bytes=whole(row["bytes"], f"bytes of flow {ident}", path, line, low=1),
        start_ps=round(start * PS_PER_NS),
        deps=tuple(dict.fromkeys(deps)),
        line=line,
    )
    if row.get("sport"):
        flow.sport = whole(row["sport"], f"sport of flow {ident}", path, line, high=_MAX_PORT)
    if row.get("dport"):
        flow.dport = whole(row["dport"], f"dport of flow {ident}", path, line, high=_MAX_PORT)
    return flow


def read_paths(path: object, flows: FlowsFile, graph: Graph | None) -> None:
    """Pin the ports and routes of flows as paths.csv says; the others stay routed, with a note."""
    from .detect import detect

    kind = detect(path)
    if kind != "neutral-paths":
        raise InputError(f"this is a file of kind {kind}, expected {','.join(PATH_COLUMNS)}", path)
    known = {flow.id: flow for flow in flows.flows}
    pinned = set()
    for line, row in iter_paths(path):
        ident = whole(row["flow_id"], "flow_id", path, line)
        flow = known.get(ident)
        if flow is None:
            raise InputError(f"flow {ident} is not in {flows.path.name}; remove the row or correct the id", path, line)
        if ident in pinned:
            raise InputError(f"flow {ident} has a path already; keep one row per flow", path, line)
        pinned.add(ident)
        if row["sport"]:
            flow.sport = whole(row["sport"], f"sport of flow {ident}", path, line, high=_MAX_PORT)
        if row["dport"]:
            flow.dport = whole(row["dport"], f"dport of flow {ident}", path, line, high=_MAX_PORT)
        flow.path = _path(row["data_path"], f"data_path of flow {ident}", flow.src, flow.dst, graph, path, line)
        flow.ack_path = _path(row["ack_path"], f"ack_path of flow {ident}", flow.dst, flow.src, graph, path, line)
    if len(pinned) < len(known):
        flows.notes.append(
            f"{len(known) - len(pinned)} of {len(known)} flows have no path in {Path(str(path)).name}: routed"
        )


def iter_paths(path: object) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, row as dict) of paths.csv."""
    rows = iter_lines(path)
    first, header = next(rows)
    columns = cells(header)
    _check_columns(columns, PATH_COLUMNS, (), path, first, False)
    for line, text in rows:
        yield line, _row(text, columns, path, line)


def _path(
    text: str, what: str, first: int, last: int, graph: Graph | None, path: object, line: int
) -> tuple[int, ...] | None:
    if not text:
        return None
    nodes = tuple(whole(word.strip(), f"a node of {what}", path, line) for word in text.split("-"))
    if len(nodes) < 2 or nodes[0] != first or nodes[-1] != last:
        raise InputError(f"{what} is {shown(text)}, expected node ids from {first} to {last} joined by '-'", path, line)
    if graph is None:
        return nodes
    for a, b in pairwise(nodes):
        if not graph.has_edge(a, b):
            raise InputError(f"{what} uses a link {a}-{b} that the topology does not have", path, line)
    for node in nodes[1:-1]:
        if graph.nodes[node]["kind"] == "host":
            raise InputError(
                f"{what} passes through host {node}, but hosts do not forward; route around it", path, line
            )
    return nodes
