"""HPCC's `trace.txt`: a count, then that many node ids whose packets are to be traced."""

from __future__ import annotations

from ...errors import InputError
from .text import Tokens, read_text


def read_hpcc_trace(path: object, lenient: bool = False) -> tuple[list[int], list[str]]:
    """(node ids, notes). Ids beyond the network are the caller's to skip. Raises InputError."""
    tokens = Tokens(path, read_text(path))
    declared = tokens.whole("the number of traced nodes")
    if declared > len(tokens) and not lenient:
        raise InputError(
            f"the file declares {declared} nodes but has {len(tokens)}; "
            "correct the count or complete the file (--lenient reads what is there)",
            path,
            tokens.line,
        )
    nodes = [tokens.whole("a node id") for _ in range(min(declared, len(tokens)))]
    notes = [f"{len(tokens)} tokens after the declared ids ignored"] if len(tokens) else []
    return nodes, notes
