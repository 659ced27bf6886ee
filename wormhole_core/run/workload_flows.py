"""The workload of a flow file: transfers that start at given times or after other transfers.

It takes records that a reader has parsed (`run.formats.flows.Flow` is one) and knows no file format.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from ..contracts.workload import Id, Transfer, Workload
from ..errors import InputError


class FlowRecord(Protocol):
    """What is read of a record. Nodes are node ids; None leaves ports and routes to the core.

    start_ps: from the start of the run, or, with `deps`, the pause after the last of them completed.
    """

    id: Id
    src: int
    dst: int
    size_bytes: int
    start_ps: int
    deps: tuple[Id, ...]
    sport: int | None
    dport: int
    traffic_class: int
    path: tuple[int, ...] | None
    ack_path: tuple[int, ...] | None


class FlowsWorkload(Workload):
    """Emits each record as one transfer of the same id, in the order of the records.

    Raises InputError if an id repeats, a dependency does not exist, or records wait in a circle.
    """

    __slots__ = ("_dependents", "_records", "_started", "_waits", "job", "notes")

    def __init__(self, records: Iterable[FlowRecord], job: str = "", notes: Iterable[str] = ()) -> None:
        self._records: dict[Id, FlowRecord] = {}
        for record in records:
            if record.id in self._records:
                raise InputError(f"flow {record.id!r} exists twice; give each flow its own id")
            self._records[record.id] = record
        self._dependents: dict[Id, list[Id]] = defaultdict(list)
        self._waits: dict[Id, int] = {}  # flow not yet emitted -> dependencies not yet completed
        for record in self._records.values():
            deps = set(record.deps)  # naming one twice asks for nothing more
            for dep in sorted(deps, key=record.deps.index):
                if dep not in self._records:
                    raise InputError(
                        f"flow {record.id!r} waits for flow {dep!r}, which does not exist; correct its deps"
                    )
                self._dependents[dep].append(record.id)
            if deps:
                self._waits[record.id] = len(deps)
        self._refuse_circles()
        self._started = False
        self.job = job
        self.notes = tuple(notes)

    def _refuse_circles(self) -> None:
        waits = dict(self._waits)
        free = [flow for flow in self._records if flow not in waits]
        while free:
            for dependent in self._dependents.get(free.pop(), ()):
                waits[dependent] -= 1
                if not waits[dependent]:
                    del waits[dependent]
                    free.append(dependent)
        if waits:
            first = next(iter(waits))
            raise InputError(
                f"flow {first!r} and {len(waits) - 1} others wait for each other in a circle; correct the deps"
            )

    def advance(self, now_ps: int, done: Sequence[Id]) -> Iterable[Transfer]:
        """At first the flows without dependencies, later those whose last one has completed."""
        if not self._started:
            self._started = True
            return self._independent()
        ready = []
        for flow in done:
            # Nothing asks for these again: what is kept shrinks with the work left.
            for dependent in self._dependents.pop(flow, ()):
                self._waits[dependent] -= 1
                if not self._waits[dependent]:
                    del self._waits[dependent]
                    ready.append(self._transfer(self._records[dependent]))
        return ready

    def _independent(self) -> Iterator[Transfer]:
        waiting = frozenset(self._waits)  # the run may go on while this is being read
        for record in self._records.values():
            if record.id not in waiting:
                yield self._transfer(record)

    def _transfer(self, record: FlowRecord) -> Transfer:
        return Transfer(
            id=record.id, src=record.src, dst=record.dst, size_bytes=record.size_bytes, delay_ps=record.start_ps,
            traffic_class=record.traffic_class, sport=record.sport, dport=record.dport, path=record.path,
            ack_path=record.ack_path, job=self.job,
        )  # fmt: skip

    def expected_bytes(self, host: int) -> tuple[int, int]:
        """Sums over the records."""
        records = self._records.values()
        return (
            sum(record.size_bytes for record in records if record.src == host),
            sum(record.size_bytes for record in records if record.dst == host),
        )

    def total_items(self) -> int:
        """Number of records."""
        return len(self._records)

    def total_bytes(self) -> int:
        """Payload of all records."""
        return sum(record.size_bytes for record in self._records.values())

    def waiting(self) -> Iterator[str]:
        """One line per flow that was not emitted, with the dependencies it waits for."""
        missing: dict[Id, list[Id]] = defaultdict(list)
        for dep, dependents in self._dependents.items():
            for dependent in dependents:
                missing[dependent].append(dep)
        for flow in self._waits:
            record, deps = self._records[flow], missing[flow]
            names = ", ".join(map(str, deps[:8])) + (f" and {len(deps) - 8} more" if len(deps) > 8 else "")
            yield f"flow {flow} ({record.src} to {record.dst}, {record.size_bytes} B) waits for flow {names}"
