"""Busy periods of a run, kept for the audit, and the chain of them that leads to the end of the run.

A busy period (`Unit`) is what hangs together from quiet ports to quiet ports: the flows that started
together, and all that later joined them while they were under way. The workload says only what
starts next, not why, so causes are read from the times: what was emitted in an instant
in which others were done was waiting for these, and for those before them that had led to nothing
yet. Of collectives it is known: a step of a ring waits for both transfers of the step before that
touch its rank, and what follows a collective waits for all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import attrs

from ..contracts.workload import Compute, Transfer, Workload

SWEEP = 1024
MOST_PENDING = 4096


@attrs.frozen(eq=False)
class Flight:
    """A finished flow of a busy period. start_ps: absolute; done_ps: when what waited for it could go on;
    end_ps: its last ACK."""

    plan: Any
    start_ps: int
    done_ps: int
    end_ps: int

    @property
    def index(self) -> int:
        """Flow index in the run."""
        return int(self.plan.index)


class Unit:
    """A busy period. merged: flows joined it on the way. approximated: some of it was skipped or replayed
    from what was. drew: random numbers were drawn, as far as recordings tell; known: they tell."""

    __slots__ = ("approximated", "drew", "flights", "known", "members", "merged", "number", "start_ps")

    def __init__(self, number: int, start_ps: int) -> None:
        self.number, self.start_ps = number, start_ps
        self.members: list[Any] = []
        self.flights: list[Flight] = []
        self.merged = self.approximated = self.drew = False
        self.known = True

    @property
    def exact(self) -> bool:
        """Whether packet mode would have had the same."""
        return self.known and not (self.approximated or self.merged or self.drew)

    @property
    def end_ps(self) -> int:
        """The last ACK of its last flow."""
        return max(f.end_ps for f in self.flights)


class BusyPeriods:
    """Told of partitions as they are formed; afterwards `units` are complete.

    Memory: four words per flow, beside its plan. receiver: a transfer is done when its
    receiver has it all, not when the sender knows.
    """

    def __init__(self, receiver: bool) -> None:
        self.receiver = receiver
        self.units: list[Unit] = []
        self.gaps: dict[int, int] = {}
        self.emissions: dict[int, Emission] = {}
        self.lucky = False
        """Whether a recording that drew random numbers was played: packet mode would have drawn others."""
        self._of: dict[int, Unit] = {}
        self._open: list[Unit] = []
        self._sweep_at = SWEEP

    def formed(self, members: Sequence[Any]) -> None:
        """A partition of these members begins."""
        of = self._of
        joined = list(dict.fromkeys(of[m.index] for m in members if m.index in of))
        new = [m for m in members if m.index not in of]
        if joined:
            unit = joined[0]
            unit.merged = unit.merged or len(joined) > 1 or bool(new)
            for other in joined[1:]:
                unit.start_ps = min(unit.start_ps, other.start_ps)
                unit.approximated |= other.approximated
                unit.drew, unit.known = unit.drew or other.drew, unit.known and other.known
                unit.members += other.members
                unit.flights += other.flights
                of.update((m.index, unit) for m in other.members)
                other.members, other.flights = [], []
                self._open.remove(other)
        else:
            unit = Unit(len(self.units), min(m.start_ps for m in new))
            self.units.append(unit)
            self._open.append(unit)
        unit.members += new
        of.update((m.index, unit) for m in new)
        if len(of) > self._sweep_at:
            self.sweep()
            self._sweep_at = 2 * len(of) + SWEEP

    def sweep(self) -> None:
        """Keep of finished flows only what is needed later."""
        still = []
        for unit in self._open:
            pending = []
            for member in unit.members:
                if not member.finished:
                    pending.append(member)
                    continue
                recording = member.partition.recording
                drew = recording is not None and recording.random
                unit.approximated |= member.source == "skipped" or (recording is not None and recording.approximate)
                unit.known &= recording is not None and bool(recording.totals)
                unit.drew |= drew
                self.lucky |= drew and member.source == "replayed"
                start = member.start_ps
                done = start + (member.rx_last_byte_ps if self.receiver else member.fct_ps)
                unit.flights.append(Flight(member.plan, start, done, start + member.fct_ps))
                del self._of[member.index]
            unit.members = pending
            if pending:
                still.append(unit)
        self._open = still

    def close(self) -> list[Unit]:
        """All busy periods whose flows are finished."""
        self.sweep()
        self.units = [u for u in self.units if u.flights and not u.members]
        for unit in self.units:
            unit.flights.sort(key=lambda f: f.index)
        return self.units


class Emission(NamedTuple):
    """Something a workload emitted in an instant in which transfers or collectives were done. ids: these, and
    those done before that had led to nothing yet. barrier: it waited for all of them, as far as one can
    tell; else each transfer for those that touch the rank it leaves from."""

    ids: tuple[Any, ...]
    barrier: bool


class Timed(Workload):
    """A workload that notes when and after what things were emitted."""

    def __init__(self, inner: Workload, busy: BusyPeriods) -> None:
        self.inner, self.busy = inner, busy
        self._ends: dict[Any, tuple[int, int]] = {}
        self._computing: set[Any] = set()
        self._pending: list[Any] = []

    def advance(self, now_ps: int, done: Sequence[Any]) -> Iterable[Any]:
        """As the workload."""
        items = list(self.inner.advance(now_ps, done))
        moved = [name for name in done if name not in self._computing]
        self._computing.difference_update(done)
        touched = {end for name in moved for end in self._ends.pop(name, ())}
        if items and moved:
            barrier = any(not isinstance(item, Transfer) or item.src not in touched for item in items)
            self.busy.emissions[now_ps] = Emission((*self._pending, *moved), barrier)
            self._pending.clear()
        else:
            self._pending += moved
            del self._pending[:-MOST_PENDING]
        for item in items:
            later = item.delay_ps
            if isinstance(item, Compute):
                later += item.duration_ps
                self._computing.add(item.id)
            elif isinstance(item, Transfer):
                self._ends[item.id] = item.src, item.dst
            if later:
                self.busy.gaps.setdefault(now_ps + later, now_ps)
        return items

    def expected_bytes(self, host: int) -> tuple[int, int] | None:
        """As the workload."""
        return self.inner.expected_bytes(host)

    def total_items(self) -> int | None:
        """As the workload."""
        return self.inner.total_items()

    def total_bytes(self) -> int | None:
        """As the workload."""
        return self.inner.total_bytes()

    def waiting(self) -> Iterable[str]:
        """As the workload."""
        return self.inner.waiting()


class Link(NamedTuple):
    """A busy period on a chain. triggers: the flows of the one before it on which its first flows
    waited (none for the first); wait_ps: how long after the last of them it began."""

    unit: Unit
    triggers: tuple[Flight, ...]
    wait_ps: int


class Causes:
    """Who waited for whom, from the times of a finished run."""

    def __init__(self, busy: BusyPeriods) -> None:
        self._gaps, self._emissions = busy.gaps, busy.emissions
        self._by_id: dict[Any, tuple[Unit, Flight]] = {}
        self._done: dict[int, list[tuple[Unit, Flight]]] = {}
        self._steps: dict[Any, list[tuple[Unit, Flight]]] = {}
        self._groups: dict[Any, dict[Any, tuple[Unit, Flight]]] = {}
        self._before: dict[int, tuple[Unit | None, Link]] = {}
        for unit in busy.units:
            for flight in unit.flights:
                transfer = flight.plan.transfer
                self._done.setdefault(flight.done_ps, []).append((unit, flight))
                self._by_id[transfer.id] = unit, flight
                if transfer.group is not None:
                    self._steps.setdefault((transfer.group, transfer.step), []).append((unit, flight))
                    # Of a collective, the last transfer from and to each rank.
                    last = self._groups.setdefault(transfer.group, {})
                    for end in (("src", transfer.src), ("dst", transfer.dst)):
                        if end not in last or last[end][1].done_ps <= flight.done_ps:
                            last[end] = unit, flight

    def of(self, flight: Flight) -> list[tuple[Unit, Flight]]:
        """Flows that had to be done before this one started; empty if none is known of."""
        transfer = flight.plan.transfer
        at = flight.start_ps - transfer.delay_ps
        while at not in self._done:
            before = self._gaps.get(at, at)
            if before >= at:
                return []
            at = before
        group, step = transfer.group, transfer.step
        emission = self._emissions.get(at)
        if group is not None and step:
            # Inside a collective.
            found = [(u, f) for u, f in self._done[at] if f.plan.transfer.group == group and _touches(f, transfer.src)]
            found += [(u, f) for u, f in self._steps.get((group, step - 1), ()) if _touches(f, transfer.src)]
        elif emission is not None:
            found = []
            for name in emission.ids:
                if name in self._groups:
                    found += self._groups[name].values()
                elif name in self._by_id and (emission.barrier or _touches(self._by_id[name][1], transfer.src)):
                    found.append(self._by_id[name])
        else:
            found = self._done[at]
        return list({f.index: (u, f) for u, f in found if f.done_ps <= at and f.start_ps < flight.start_ps}.values())

    def _link(self, unit: Unit) -> tuple[Unit | None, Link]:
        known = self._before.get(unit.number)
        if known is None:
            known = None, Link(unit, (), 0)
            for flight in unit.flights:
                if flight.start_ps == unit.start_ps:
                    causes = [(u, f) for u, f in self.of(flight) if u is not unit and u.start_ps < unit.start_ps]
                    if causes:
                        latest, last = max(causes, key=lambda c: (c[1].done_ps, -c[1].index))
                        triggers = tuple(f for u, f in causes if u is latest)
                        known = latest, Link(unit, triggers, unit.start_ps - last.done_ps)
                        break
            self._before[unit.number] = known
        return known

    def chain(self, unit: Unit) -> list[Link]:
        """The busy periods that led to this one, in order of time; it is the last."""
        links = []
        here: Unit | None = unit
        while here is not None:
            here, link = self._link(here)
            links.append(link)
        return links[::-1]


def _touches(flight: Flight, rank: int) -> bool:
    return rank in (flight.plan.transfer.src, flight.plan.transfer.dst)
