"""HPCC's `flow.txt`: a count, then `src dst priority_group dport size_bytes start_seconds` per flow.

Tokens are separated by any white space. The declared count is authoritative: rows after it are
ignored and counted. Starts are decimal seconds, kept exact in picoseconds. Flows are put in the order
of their starts (equal starts stay in file order); a flow's id is its 0-based place in the file.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import InputError
from ...units import PS_PER_S
from .flows import Flow, FlowsFile
from .text import Tokens, number, read_text, shown

_COLUMNS = 6
_MAX_START_S = 10**15


def read(path: object, lenient: bool) -> FlowsFile:
    """Read flow.txt. Raises InputError."""
    tokens = Tokens(path, read_text(path))
    declared = tokens.whole("the number of flows")
    present = len(tokens) // _COLUMNS
    if present < declared and not lenient:
        raise InputError(
            f"the file declares {declared} flows but has {present}; "
            "correct the count or complete the file (--lenient runs what is there)",
            path,
            tokens.line,
        )
    flows = [_flow(tokens, i) for i in range(min(declared, present))]
    if not flows:
        raise InputError("the file declares no flow, expected at least one", path, tokens.lines[0])
    result = FlowsFile(flows=flows, kind="hpcc-flow", path=Path(str(path)), declared=declared, present=present)
    if present < declared:
        result.notes.append(f"{declared} flows declared, {present} read")
    elif len(tokens):
        rows, rest = divmod(len(tokens), _COLUMNS)
        result.notes.append(
            f"{len(tokens)} tokens after the declared {declared} flows ignored ({rows} rows of 6 and {rest} more)"
        )
    ordered = sorted(flows, key=lambda flow: flow.start_ps)
    if ordered != flows:
        result.notes.append("starts are not in ascending order; the flows were sorted")
        result.flows = ordered
    return result


def _flow(tokens: Tokens, index: int) -> Flow:
    src = tokens.whole(f"src of flow {index}")
    line = tokens.line
    dst = tokens.whole(f"dst of flow {index}")
    group = tokens.whole(f"priority group of flow {index}", high=7)
    dport = tokens.whole(f"dport of flow {index}", high=65_535)
    size = tokens.whole(f"size of flow {index}", low=1)
    text = tokens.next(f"start of flow {index}")
    start = number(text, f"start of flow {index}", tokens.path, tokens.line)
    if not 0 <= start <= _MAX_START_S:
        raise tokens.fail(f"start of flow {index} is {shown(text)} s, expected 0 or later")
    return Flow(
        id=index, src=src, dst=dst, size_bytes=size, start_ps=round(start * PS_PER_S),
        traffic_class=group, dport=dport, line=line,
    )  # fmt: skip
