"""SimAI (and ASTRA-sim 1.0) text workloads: one row per layer, three computations and collectives.

Line 1 is a policy and options, line 2 the number of rows, then per row
`name dep fwd_compute fwd_comm fwd_bytes ig_compute ig_comm ig_bytes wg_compute wg_comm wg_bytes update`
(ig: input gradient, wg: weight gradient; times in ns, sizes in bytes per GPU before the collective).
Policy HYBRID_CUSTOMIZED has a 13th column. The declared count must match.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs

from ...component import near_match
from ...errors import InputError
from ...units import PS_PER_NS
from .text import iter_lines, number, shown, whole

POLICIES = (
    "DATA", "MODEL", "HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_DLRM",
    "HYBRID_DLRM_ENHANCED", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_CUSTOMIZED", "MICRO",
    "DISTRIBUTED_INFERENCE",
)  # fmt: skip
COLLECTIVES = ("ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL", "BROADCAST")
COLUMNS = ("fwd", "ig", "wg")
_COUNTS = {
    "model_parallel_NPU_group": "tp",
    "ep": "ep",
    "expert_parallel_npu_group": "ep",
    "pp": "pp",
    "vpp": "vpp",
    "ga": "ga",
    "all_gpus": "all_gpus",
}
_LISTS = {"checkpoints": "checkpoints", "checkpoint_initiates": "checkpoint_initiates"}
_MAX_TIME_NS = 10**24


@attrs.frozen(kw_only=True)
class SimaiOp:
    """A collective of a row. kind: one of `COLLECTIVES`. group: "tp", "dp", "ep", "dp_ep", or "all"
    (policy MICRO: the whole cluster). size_bytes: as written in the file."""

    kind: str
    group: str
    size_bytes: int


@attrs.frozen(kw_only=True)
class SimaiRow:
    """One layer. A collective is None for NONE. policy: the 13th column, if any."""

    name: str
    line: int
    fwd_compute_ps: int
    fwd: SimaiOp | None
    ig_compute_ps: int
    ig: SimaiOp | None
    wg_compute_ps: int
    wg: SimaiOp | None
    update_ps: int
    policy: str | None = None


@attrs.define(kw_only=True)
class SimaiWorkload:
    """A whole workload file; group sizes are None where the header does not say them."""

    policy: str
    path: Path
    header: tuple[str, ...]
    rows: list[SimaiRow]
    declared: int
    tp: int | None = None
    ep: int | None = None
    pp: int | None = None
    vpp: int | None = None
    ga: int | None = None
    all_gpus: int | None = None
    checkpoints: tuple[int, ...] = ()
    checkpoint_initiates: tuple[int, ...] = ()
    pp_comm_bytes: int | None = None
    mode: int | None = None
    notes: list[str] = attrs.field(factory=list)

    def ops(self) -> dict[str, int]:
        """`"fwd:ALLREDUCE"` -> number of collectives, NONE left out."""
        return self._totals(lambda op: 1)

    def op_bytes(self) -> dict[str, int]:
        """`"fwd:ALLREDUCE"` -> bytes."""
        return self._totals(lambda op: op.size_bytes)

    def _totals(self, value: Callable[[SimaiOp], int]) -> dict[str, int]:
        totals: dict[str, int] = {}
        suffix = {"ep": "_EP", "dp_ep": "_DP_EP"}
        for row in self.rows:
            for column in COLUMNS:
                op = getattr(row, column)
                if op is not None:
                    key = f"{column}:{op.kind}{suffix.get(op.group, '')}"
                    totals[key] = totals.get(key, 0) + value(op)
        return totals

    def compute_ps(self) -> dict[str, int]:
        """Total computing time: fwd, ig, wg, update."""
        names = {"fwd": "fwd_compute_ps", "ig": "ig_compute_ps", "wg": "wg_compute_ps", "update": "update_ps"}
        return {key: sum(getattr(row, name) for row in self.rows) for key, name in names.items()}


def read_simai_workload(path: object, lenient: bool = False) -> SimaiWorkload:
    """Read a workload.

    lenient: a row count that does not match the declared one becomes a note and what is there is
    read; a collective of 0 bytes counts as none.
    Raises InputError.
    """
    lines = iter_lines(path)
    first, text = next(lines, (1, ""))
    if not text:
        raise InputError("the file is empty; expected a policy, a row count and rows", path)
    header = tuple(text.split())
    result = SimaiWorkload(policy=header[0], path=Path(str(path)), header=header, rows=[], declared=0)
    _read_header(result, path, first)
    second = next(lines, None)
    if second is None:
        raise InputError("the file ends where the number of rows was expected; is it cut short?", path, first)
    counted, text = second
    result.declared = whole(text, "the number of rows", path, counted)
    result.rows = [_row(text.split(), result.policy, path, line, lenient) for line, text in lines]
    if len(result.rows) != result.declared:
        found = f"the file declares {result.declared} rows but has {len(result.rows)}"
        if not lenient:
            raise InputError(
                f"{found}; correct the count or complete the file (--lenient runs what is there)", path, counted
            )
        result.notes.append(found)
    if not result.rows:
        raise InputError("the workload has no row, expected at least one", path, counted)
    return result


def _read_header(result: SimaiWorkload, path: object, line: int) -> None:
    if result.policy not in POLICIES:
        raise InputError(
            f"policy is {shown(result.policy)}{near_match(result.policy, POLICIES)}; "
            f"expected one of {', '.join(POLICIES)}",
            path,
            line,
        )
    words = list(result.header[1:])
    ignored = []
    while words:
        word = words.pop(0)
        name = word.rstrip(":")
        what = f"header option {shown(name)}"
        if name not in {**_COUNTS, **_LISTS, "pp_comm": "", "mode": ""}:
            ignored.append(word)
            continue
        if not words:
            raise InputError(f"{what} has no value; expected a number after it", path, line)
        if name in _COUNTS:
            setattr(result, _COUNTS[name], whole(words.pop(0), what, path, line, low=1))
        elif name in _LISTS:
            count = whole(words.pop(0), what, path, line)
            if count > len(words):
                raise InputError(f"{what} announces {count} layers but {len(words)} words follow", path, line)
            layers = tuple(whole(words.pop(0), f"a layer of {what}", path, line) for _ in range(count))
            setattr(result, _LISTS[name], layers)
        elif name == "mode":
            result.mode = whole(words.pop(0), what, path, line)
        else:
            # Written "pp_comm: n" or "pp_comm n", sometimes as a float.
            result.pp_comm_bytes = whole(words.pop(0), what, path, line)
    if ignored:
        result.notes.append("unknown header words ignored: " + " ".join(shown(word) for word in ignored[:8]))


def _row(words: list[str], policy: str, path: object, line: int, lenient: bool) -> SimaiRow:
    expected = 13 if policy == "HYBRID_CUSTOMIZED" else 12
    if len(words) != expected:
        raise InputError(
            f"the row has {len(words)} columns, expected {expected}; compare it with its neighbours", path, line
        )
    number(words[1], "column 2 (dep)", path, line)
    times = [_time_ps(words[i], i + 1, path, line) for i in (2, 5, 8, 11)]
    ops = [
        _op(words[i], words[i + 1], column, policy, (path, line, i + 1), lenient)
        for i, column in zip((3, 6, 9), COLUMNS, strict=True)
    ]
    return SimaiRow(
        name=words[0], line=line, policy=words[12] if expected == 13 else None,
        fwd_compute_ps=times[0], ig_compute_ps=times[1], wg_compute_ps=times[2], update_ps=times[3],
        fwd=ops[0], ig=ops[1], wg=ops[2],
    )  # fmt: skip


def _time_ps(word: str, column: int, path: object, line: int) -> int:
    value = number(word, f"column {column} (a time in ns)", path, line)
    if not 0 <= value <= _MAX_TIME_NS:
        raise InputError(f"column {column} is {shown(word)} ns, expected a time that is not negative", path, line)
    return round(value * PS_PER_NS)


def _op(
    kind: str, size: str, column: str, policy: str, where: tuple[object, int, int], lenient: bool
) -> SimaiOp | None:
    path, line, place = where
    size_bytes = whole(size, f"column {place + 1} (bytes)", path, line)
    if kind == "NONE":
        return None
    base, group = kind, "tp" if column in ("fwd", "ig") else "dp"
    for suffix, name in (("_DP_EP", "dp_ep"), ("_EP", "ep")):
        if kind.endswith(suffix):
            base, group = kind.removesuffix(suffix), name
            break
    if policy == "MICRO":
        group = "all"
    if base not in COLLECTIVES:
        raise InputError(
            f"column {place} is {shown(kind)}{near_match(kind, COLLECTIVES)}; expected NONE or one of "
            f"{', '.join(COLLECTIVES)}, optionally with _EP or _DP_EP",
            path,
            line,
        )
    if size_bytes == 0:
        if lenient:
            return None
        raise InputError(f"column {place + 1}: a {kind} of 0 bytes; give it a size or write NONE", path, line)
    return SimaiOp(kind=base, group=group, size_bytes=size_bytes)
