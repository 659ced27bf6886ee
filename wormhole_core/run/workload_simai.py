"""The workload of a SimAI file: each rank runs the program of `simai_program`, its groups join them.

What is needed of the parsed file is `policy`, `path`, `rows`, `tp`, `ep`, `pp`, `all_gpus`,
`checkpoints`, `checkpoint_initiates` and `pp_comm_bytes` as `formats.simai_workload` gives them. A
collective of a group starts when the last of its ranks has come to it and holds up nobody else, so
groups drift apart as their networks do. State: a place per rank and the collectives under way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from ..contracts.collectives import collective_bytes, collective_transfers, collective_volume
from ..contracts.workload import Collective, Compute, Workload
from .formats.simai_workload import SimaiWorkload as SimaiFile
from .simai_program import Op, SimaiOptions, make_program, rank_groups

Key = tuple[int, int, int]
"""(pass, operation, group or rank): the id of a `Collective` or `Compute`."""


@attrs.define
class _Meeting:
    """A collective of one group: who has come, whether it is over, who waits for that."""

    arrived: int = 0
    ended: bool = False
    waiters: list[int] = attrs.field(factory=list)
    passed: int = 0


class SimaiWorkload(Workload):
    """Runs a SimAI workload file on hosts given as node ids in rank order.

    job: label of all its collectives. notes: what was changed or left out, for the user.
    Raises ConfigError for an unsupported policy, InputError if the hosts do not fit the file's groups.
    """

    __slots__ = ("_body", "_groups", "_hosts", "_meetings", "_member", "_passes", "_places", "_tail", "job", "notes")

    def __init__(self, parsed: SimaiFile, hosts: tuple[int, ...], options: SimaiOptions, job: str = "") -> None:
        self._hosts = hosts
        self._groups = rank_groups(parsed, len(hosts))
        program = make_program(parsed, {kind: len(groups[0]) for kind, groups in self._groups.items()}, options)
        self._body, self._tail, self._passes = program.body, program.tail, options.passes
        self._member = {kind: _membership(groups, len(hosts)) for kind, groups in self._groups.items()}
        self._meetings: dict[Key, _Meeting] = {}
        self._places: list[int] = []  # per rank: operations behind it, over all passes
        self.job = job
        self.notes = tuple(_notes(parsed, self._groups, len(hosts), program.notes))

    def advance(self, now_ps: int, done: Sequence[Any]) -> list[Collective | Compute]:
        """Computations and collectives that begin, now that these have ended."""
        begun: list[Collective | Compute] = []
        if not self._places:
            self._places = [0] * len(self._hosts)
            for rank in range(len(self._hosts)):
                self._run(rank, begun)
            return begun
        for key in done:
            number, index, who = key
            op = self._op(number, index)
            if op.kind != "collective":
                self._places[who] += 1
                self._run(who, begun)
            elif op.blocking:
                del self._meetings[key]
                for rank in self._groups[op.group][who]:
                    self._places[rank] += 1
                    self._run(rank, begun)
            else:
                meeting = self._meetings[key]
                meeting.ended = True
                waiters, meeting.waiters = meeting.waiters, []
                for rank in waiters:
                    self._run(rank, begun)
        return begun

    def _run(self, rank: int, begun: list[Collective | Compute]) -> None:
        """Let a rank go on until it has to wait for something."""
        while (step := self._next(rank)) is not None:
            number, index, op = step
            if op.kind == "compute":
                begun.append(
                    Compute(
                        id=(number, index, rank), rank=self._hosts[rank], duration_ps=op.duration_ps, label=op.label
                    )
                )
                return
            if op.kind == "collective":
                self._arrive((number, index, self._member[op.group][rank]), op, begun)
                if op.blocking:
                    return
            elif number or index >= len(self._body):  # before the first pass there is nothing to wait for
                if not self._passed(number, index, op, rank):
                    return
                if op.duration_ps:
                    begun.append(
                        Compute(
                            id=(number, index, rank), rank=self._hosts[rank], duration_ps=op.duration_ps, label=op.label
                        )
                    )
                    return
            self._places[rank] += 1

    def _arrive(self, key: Key, op: Op, begun: list[Collective | Compute]) -> None:
        meeting = self._meetings.setdefault(key, _Meeting())
        meeting.arrived += 1
        ranks = self._groups[op.group][key[2]]
        if meeting.arrived == len(ranks):
            begun.append(
                Collective(
                    id=key, algorithm=op.algorithm, ranks=tuple(self._hosts[rank] for rank in ranks),
                    size_bytes=op.size_bytes, label=op.label, job=self.job,
                )
            )  # fmt: skip

    def _passed(self, number: int, index: int, op: Op, rank: int) -> bool:
        """Whether the collective this wait is for has ended; if not, the rank is noted down."""
        if op.launch is None:
            return True
        group = self._body[op.launch].group
        key = (number if index >= len(self._body) else number - 1, op.launch, self._member[group][rank])
        meeting = self._meetings[key]
        if not meeting.ended:
            meeting.waiters.append(rank)
            return False
        meeting.passed += 1
        if meeting.passed == len(self._groups[group][key[2]]):
            del self._meetings[key]
        return True

    def _next(self, rank: int) -> tuple[int, int, Op] | None:
        """(pass, index, operation) before a rank; the tail counts on in the last pass."""
        place, body = self._places[rank], len(self._body)
        if place < self._passes * body:
            number, index = divmod(place, body)
        else:
            number, index = self._passes - 1, place - (self._passes - 1) * body
            if index >= body + len(self._tail):
                return None
        return number, index, self._op(number, index)

    def _op(self, number: int, index: int) -> Op:
        return self._body[index] if index < len(self._body) else self._tail[index - len(self._body)]

    def _collectives(self) -> Iterator[Op]:
        return (op for op in self._body if op.kind == "collective")

    def expected_bytes(self, host: int) -> tuple[int, int]:
        """Sums over all collectives of all passes, to the byte."""
        rank = self._hosts.index(host)
        sent = received = 0
        for op in self._collectives():
            ranks = self._groups[op.group][self._member[op.group][rank]]
            out, back = collective_bytes(op.algorithm, len(ranks), op.size_bytes, ranks.index(rank))
            sent, received = sent + out, received + back
        return sent * self._passes, received * self._passes

    def total_items(self) -> int:
        """Transfers of all collectives of all groups and passes."""
        return self._passes * self._sum(collective_transfers)

    def total_bytes(self) -> int:
        """Payload of all collectives of all groups and passes."""
        return self._passes * self._sum(collective_volume)

    def _sum(self, measure: Any) -> int:
        groups = self._groups
        return sum(
            measure(op.algorithm, len(groups[op.group][0]), op.size_bytes) * len(groups[op.group])
            for op in self._collectives()
        )

    def waiting(self) -> Iterator[str]:
        """One line per collective some of whose ranks have not come, then how far the ranks are."""
        for (number, index, group), meeting in self._meetings.items():
            op = self._body[index]
            size = len(self._groups[op.group][group])
            if meeting.arrived < size:
                yield (
                    f"{op.label} ({op.algorithm}, {op.group.upper()} group {group}, pass {number}): "
                    f"{meeting.arrived} of {size} ranks have come to it"
                )
        total = self._passes * len(self._body) + len(self._tail)
        behind = min(self._places, default=0)
        if behind < total:
            ranks = sum(1 for place in self._places if place < total)
            yield f"{ranks} ranks have operations left, the last of them {total - behind} of {total}"


def _membership(groups: list[tuple[int, ...]], hosts: int) -> list[int]:
    member = [0] * hosts
    for number, ranks in enumerate(groups):
        for rank in ranks:
            member[rank] = number
    return member


def _notes(parsed: SimaiFile, groups: dict[str, Any], hosts: int, more: tuple[str, ...]) -> Iterator[str]:
    if parsed.policy == "MICRO":
        yield f"MICRO: row after row among all {hosts} ranks"
    else:
        sizes = ", ".join(f"{kind.upper()} {len(groups[kind][0])}" for kind in ("tp", "dp", "ep", "dp_ep"))
        yield f"groups of {sizes}, PP {parsed.pp or 1}, from {hosts} hosts"
    if parsed.all_gpus is not None and parsed.all_gpus != hosts:
        yield f"the file says all_gpus {parsed.all_gpus}; the topology's {hosts} hosts count"
    yield from more
