"""From the rows of a SimAI workload to the program every rank runs, and the groups it runs it in.

A program is a list of operations: compute, take part in a collective (and stay until it is over, or
go on), wait for a collective left behind. It is built for one training pass and run as often as
asked; nothing here keeps state of a run. The order of operations is that of SimAI's policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

import attrs

from ..component import FORMERLY, non_negative, positive
from ..errors import ConfigError, InputError
from ..units import PS_PER_NS
from .formats.simai_workload import SimaiOp, SimaiRow, SimaiWorkload

COLUMNS = ("fwd", "ig", "wg")
SUPPORTED = ("MICRO", "DATA", "HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER_FWD_IN_BCKWD")
RECOMPUTING = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
ALGORITHMS = {
    "ALLREDUCE": "ring-all-reduce",
    "ALLGATHER": "ring-all-gather",
    "REDUCESCATTER": "ring-reduce-scatter",
    "ALLTOALL": "all-to-all",
    "BROADCAST": "broadcast",
}
SPLITTING = ("ALLGATHER", "REDUCESCATTER", "ALLTOALL")
MIN_FORWARD_BYTES = 4096
"""Forward collectives below this are enlarged to it under the recomputing policy, as SimAI does."""
PLACEHOLDER_PS = PS_PER_NS
"""Computations no longer than this stand for "none" in these files."""


def _columns(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else list(value)  # type: ignore[call-overload]
    return tuple(str(part).strip() for part in parts)


@attrs.frozen(kw_only=True)
class SimaiOptions:
    """What of a SimAI workload is run, and at which size."""

    columns: str | tuple[str, ...] = attrs.field(default=COLUMNS, converter=_columns)
    """Column groups that are run, e.g. "wg" or "fwd,ig"; computations and collectives alike."""
    size_divisor: float = positive(default=1.0, metadata={FORMERLY: ("size_scale",)})
    """Volumes of collectives are divided by this (a ratio)."""
    compute_scale: float = non_negative(default=1.0)
    """Computing times are multiplied by this (a ratio); 0 leaves computing out."""
    passes: int = positive(default=1)
    """Training passes (iterations)."""

    @columns.validator
    def _known_columns(self, _attribute: object, value: tuple[str, ...]) -> None:
        if not value or len(set(value)) != len(value) or not set(value) <= set(COLUMNS):
            raise ValueError(f"columns must be some of {', '.join(COLUMNS)}, each once, got {', '.join(value)!r}")


@attrs.frozen(kw_only=True)
class Op:
    """One operation of the program.

    kind: "compute", "collective", "wait". duration_ps: computing, or for a wait the update of the
    weights that follows it. algorithm, group, size_bytes, blocking: of a collective. launch: for a
    wait, the index of the collective it waits for, None if that was not worth a transfer.
    """

    kind: str
    label: str = ""
    duration_ps: int = 0
    algorithm: str = ""
    group: str = ""
    size_bytes: int = 0
    blocking: bool = True
    launch: int | None = None


@attrs.frozen(kw_only=True)
class Program:
    """body: one pass; its waits are for the pass before, and void in the first. tail: after the last."""

    body: tuple[Op, ...]
    tail: tuple[Op, ...]
    notes: tuple[str, ...]


def rank_groups(parsed: SimaiWorkload, hosts: int) -> dict[str, list[tuple[int, ...]]]:
    """Group kind ("tp", "dp", "ep", "dp_ep", "all") -> its groups of ranks.

    Ranks count TP fastest and pipeline stages slowest; EP is carved out of DP. DP follows from the
    number of hosts, not from `all_gpus`. Raises InputError if the hosts cannot be divided so.
    """
    tp, ep, pp = parsed.tp or 1, parsed.ep or 1, parsed.pp or 1
    if hosts % (tp * pp):
        raise InputError(
            f"{hosts} hosts cannot be divided into TP {tp} x PP {pp}; take a multiple of {tp * pp} hosts",
            parsed.path,
            1,
        )
    dp = hosts // (tp * pp)
    if dp % ep:
        raise InputError(f"DP of {dp} ({hosts} hosts) cannot be divided into EP {ep}; take more hosts", parsed.path, 1)
    return {
        "all": [tuple(range(hosts))],
        "tp": _strided(hosts, 1, tp),
        "dp": _strided(hosts, tp, dp),
        "ep": _strided(hosts, tp, ep),
        "dp_ep": _strided(hosts, tp * ep, dp // ep),
    }


def _strided(hosts: int, stride: int, size: int) -> list[tuple[int, ...]]:
    block = stride * size
    return [
        tuple(range(first + offset, first + block, stride))
        for first in range(0, hosts, block)
        for offset in range(stride)
    ]


def make_program(parsed: SimaiWorkload, group_sizes: dict[str, int], options: SimaiOptions) -> Program:
    """The program of one pass. Raises ConfigError for a policy that is not supported, InputError for
    checkpoint layers that do not exist."""
    return _Builder(parsed, group_sizes, options).program()


class _Builder:
    def __init__(self, parsed: SimaiWorkload, group_sizes: dict[str, int], options: SimaiOptions) -> None:
        if parsed.policy not in SUPPORTED:
            raise ConfigError(
                f"{parsed.path}: policy {parsed.policy} can be validated but not run; these can: {', '.join(SUPPORTED)}"
            )
        self.parsed, self.sizes, self.options = parsed, group_sizes, options
        self.body: list[Op] = []
        self.placeholders = 0
        self.enlarged = 0
        self.launched: dict[int, tuple[int | None, str]] = {}  # row -> (index in the body, label) of its wg collective

    def program(self) -> Program:
        rows = self.parsed.rows
        if self.parsed.policy == "MICRO":
            for index in range(len(rows)):
                for column in COLUMNS:
                    self._compute(index, column)
                    self._collective(index, column)
            return Program(body=tuple(self.body), tail=(), notes=tuple(self._notes()))
        for index in range(len(rows)):
            if self._has("wg") and rows[index].wg is not None:
                self.body.append(Op(kind="wait"))  # completed below, when the launch's place is known
            self._forward(index)
        for index in reversed(range(len(rows))):
            for again in self._recomputed(index):
                self._forward(again)
            self._backward(index)
        waits = [self._wait(row) for row in sorted(self.launched)]
        pending = iter(waits)
        body = tuple(next(pending) if op.kind == "wait" else op for op in self.body)
        return Program(body=body, tail=tuple(waits), notes=tuple(self._notes()))

    def _has(self, column: str) -> bool:
        return column in self.options.columns

    def _forward(self, index: int) -> None:
        self._compute(index, "fwd")
        self._collective(index, "fwd")

    def _backward(self, index: int) -> None:
        if self.parsed.policy == "DATA":  # nobody waits for input gradients: send the weights' first
            self._weight_gradient(index)
            self._compute(index, "ig")
            self._collective(index, "ig")
        else:
            self._compute(index, "ig")
            self._collective(index, "ig")
            self._weight_gradient(index)

    def _weight_gradient(self, index: int) -> None:
        self._compute(index, "wg")
        if self._has("wg") and self.parsed.rows[index].wg is not None:
            place = len(self.body)
            launched = self._collective(index, "wg", blocking=False)
            self.launched[index] = (place if launched else None, self.parsed.rows[index].name)

    def _recomputed(self, index: int) -> Iterable[int]:
        """Rows whose forward part is run again before the backward part of this one."""
        if self.parsed.policy != RECOMPUTING or index not in self.parsed.checkpoint_initiates:
            return ()
        kept = [row for row in self.parsed.checkpoints if row <= index]
        if not kept:
            raise InputError(
                f"checkpoint_initiates names layer {index}, but no checkpoint is at or before it; correct the header",
                self.parsed.path,
                1,
            )
        # The initiating row itself is run again only where it is the checkpoint.
        return range(max(kept), max(index, max(kept) + 1))

    def _compute(self, index: int, column: str) -> None:
        duration_ps = self._scaled(getattr(self.parsed.rows[index], f"{column}_compute_ps"))
        if not self._has(column) or not duration_ps:
            return
        label = f"{self.parsed.rows[index].name} {column}"
        if self.body and self.body[-1].kind == "compute":  # nothing in between: one piece of work
            self.body[-1] = attrs.evolve(self.body[-1], duration_ps=self.body[-1].duration_ps + duration_ps)
        else:
            self.body.append(Op(kind="compute", label=label, duration_ps=duration_ps))

    def _scaled(self, duration_ps: int) -> int:
        return 0 if duration_ps <= PLACEHOLDER_PS else round(duration_ps * Fraction(self.options.compute_scale))

    def _collective(self, index: int, column: str, blocking: bool = True) -> bool:
        row: SimaiRow = self.parsed.rows[index]
        op: SimaiOp | None = getattr(row, column)
        if op is None or not self._has(column) or self.sizes[op.group] == 1:
            return False
        size = op.size_bytes
        if column == "fwd" and self.parsed.policy == RECOMPUTING and size < MIN_FORWARD_BYTES:
            size = MIN_FORWARD_BYTES
            self.enlarged += 1
        if size < self.sizes[op.group] and op.kind in SPLITTING:
            self.placeholders += 1
            return False
        self.body.append(
            Op(
                kind="collective", label=f"{row.name} {column}", algorithm=ALGORITHMS[op.kind], group=op.group,
                size_bytes=max(1, int(size / Fraction(self.options.size_divisor))), blocking=blocking,
            )
        )  # fmt: skip
        return True

    def _wait(self, row: int) -> Op:
        launch, name = self.launched[row]
        return Op(
            kind="wait",
            label=f"{name} update",
            launch=launch,
            duration_ps=self._scaled(self.parsed.rows[row].update_ps),
        )

    def _notes(self) -> Iterator[str]:
        if self.enlarged:
            yield f"forward collectives enlarged to {MIN_FORWARD_BYTES} B, as the policy says: {self.enlarged}"
        if self.placeholders:
            yield f"collectives left out as placeholders (fewer bytes than ranks): {self.placeholders}"
        if self.parsed.pp_comm_bytes:
            yield f"pp_comm of {self.parsed.pp_comm_bytes} B ignored: pipeline transfers are not simulated"
