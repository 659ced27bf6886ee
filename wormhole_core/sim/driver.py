"""The workload's side of a run: what starts when, and the one late batch of each instant.

Completions are gathered during an instant and handled together at its end: records of finished flows
by flow index, then what became ready (collectives first, then the workload's answer), then starts by
flow index. Whoever owns the clock provides `wake(time_ps)`: call `late(time_ps)` at that time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

from ..contracts.collectives import CollectiveRun
from ..contracts.observer import Observer
from ..contracts.result import FlowRecord
from ..contracts.workload import Collective, Compute, Transfer, Workload
from ..errors import ConfigError, PluginError
from ..rng import Stream


class Counters:
    """Running totals of a run."""

    __slots__ = ("bytes_finished", "collectives_finished", "flows_finished", "flows_started", "retransmitted_bytes")

    def __init__(self) -> None:
        self.flows_started = self.flows_finished = 0
        self.bytes_finished = self.retransmitted_bytes = self.collectives_finished = 0


class Driver:
    """Turns a workload into flow starts.

    start_flow(transfer, index, now_ps): called in the late batch, in order.
    done_at_receiver: a transfer counts as done when its receiver has the last byte.
    jitter: adds up to jitter_ps to the start of whatever the workload emits first (to that of each first
    transfer of a collective).
    """

    def __init__(
        self,
        workload: Workload,
        start_flow: Callable[[Transfer, int, int], None],
        wake: Callable[[int], None],
        observers: Sequence[Observer],
        done_at_receiver: bool,
        jitter_ps: int = 0,
        jitter: Stream | None = None,
    ) -> None:
        self.workload = workload
        self.counters = Counters()
        self.done_at_receiver = done_at_receiver
        self.active = 0
        self._start_flow, self._wake = start_flow, wake
        self._jitter_ps, self._jitter = jitter_ps, jitter
        self._jittered: set[Any] = set()
        self._agenda: list[tuple[int, int, Any]] = []
        self._order = 0
        self._index = 0
        self._awake: set[int] = set()
        self._finished: list[Any] = []
        self._done: list[tuple[int, Any]] = []
        self._runs: dict[Any, tuple[CollectiveRun, int]] = {}
        self._computing = 0
        self._began = False
        self._on_started = bound(observers, "flow_started")
        self._on_finished = bound(observers, "flow_finished")
        self._on_collective = bound(observers, "collective_finished")

    def begin(self) -> None:
        """Ask for the first batch at time 0."""
        self._ask(0)

    @property
    def finished(self) -> bool:
        """Everything the workload emitted is done and nothing is waiting to start."""
        return self._began and not (
            self.active or self._agenda or self._finished or self._done or self._computing or self._runs
        )

    def next_start_ps(self) -> int | None:
        """When something is known to start or end next, flows in the network aside."""
        return self._agenda[0][0] if self._agenda else None

    def _ask(self, time_ps: int) -> None:
        if time_ps not in self._awake:
            self._awake.add(time_ps)
            self._wake(time_ps)

    # --- told by the network ---

    def received(self, flow: Any, now_ps: int) -> None:
        """The receiver has the flow's last byte."""
        if self.done_at_receiver:
            self._done.append((flow.index, flow.transfer))
            self._ask(now_ps)

    def completed(self, flow: Any, now_ps: int) -> None:
        """The sender has the flow's last ACK."""
        flow.fct_ps = now_ps - flow.start_ps
        self._finished.append(flow)
        if not self.done_at_receiver:
            self._done.append((flow.index, flow.transfer))
        self._ask(now_ps)

    # --- the late batch ---

    def late(self, now_ps: int) -> None:
        """Everything that is due at the end of this instant."""
        self._awake.discard(now_ps)
        self._record()
        done = [transfer for _, transfer in sorted(self._done, key=lambda entry: entry[0])]
        self._done.clear()
        starts: list[tuple[int, Any]] = []
        ready: list[Any] = []
        if not self._began:
            self._began = True
            self._take(self.workload.advance(now_ps, ()), now_ps, ready)
        for transfer in done:
            self._complete(transfer, now_ps, ready)
        self._due(now_ps, starts, ready)
        while ready:
            ids, ready = ready, []
            self._take(self.workload.advance(now_ps, tuple(ids)), now_ps, ready)
            self._due(now_ps, starts, ready)
        for index, transfer in sorted(starts, key=lambda entry: entry[0]):
            self.active += 1
            self.counters.flows_started += 1
            for listener in self._on_started:  # before its first frame, which may leave at once
                listener(now_ps, index, transfer)
            self._start_flow(transfer, index, now_ps)
        if self._agenda:
            self._ask(self._agenda[0][0])

    def _record(self) -> None:
        counters = self.counters
        for flow in sorted(self._finished, key=lambda f: f.index):
            t = flow.transfer
            self.active -= 1
            counters.flows_finished += 1
            counters.bytes_finished += t.size_bytes
            counters.retransmitted_bytes += flow.retransmitted_bytes
            if self._on_finished:
                record = FlowRecord(
                    index=flow.index,
                    id=t.id,
                    src=t.src,
                    dst=t.dst,
                    sport=flow.data_key.sport,
                    dport=t.dport,
                    size_bytes=t.size_bytes,
                    start_ps=flow.start_ps,
                    fct_ps=flow.fct_ps,
                    rx_last_byte_ps=flow.rx_last_byte_ps,
                    ideal_fct_ps=flow.ideal_fct_ps,
                    retransmitted_bytes=flow.retransmitted_bytes,
                    label=t.label,
                    group=t.group,
                    step=t.step,
                    job=t.job,
                    source=flow.source,
                )
                for listener in self._on_finished:
                    listener(record)
        self._finished.clear()

    def _complete(self, transfer: Transfer, now_ps: int, ready: list[Any]) -> None:
        entry = self._runs.get(transfer.group) if transfer.group is not None else None
        if entry is None:
            ready.append(transfer.id)
            return
        run, _ = entry
        for follower in run.done([transfer.id]):
            self._plan(now_ps + follower.delay_ps, follower)
        if run.finished:
            self._end_collective(run.collective, now_ps, ready)

    def _end_collective(self, collective: Collective, now_ps: int, ready: list[Any]) -> None:
        _, started_ps = self._runs.pop(collective.id)
        self.counters.collectives_finished += 1
        ready.append(collective.id)
        for listener in self._on_collective:
            listener(now_ps, collective, started_ps)

    def _take(self, items: Any, now_ps: int, ready: list[Any]) -> None:
        try:
            items = iter(items)
        except TypeError:
            raise PluginError(f"advance gave {items!r}, expected an iterable of items", "workload") from None
        for item in items:
            if not isinstance(item, (Transfer, Compute, Collective)):
                raise PluginError(f"advance gave {item!r}, expected Transfer, Compute or Collective", "workload")
            for name in ("delay_ps", "size_bytes", "duration_ps"):
                value = getattr(item, name, 0)
                if not isinstance(value, int):
                    raise PluginError(f"item {item.id!r}: {name} is {value!r}, expected a whole number", "workload")
            if item.delay_ps < 0:
                raise ConfigError(f"workload: item {item.id!r} has delay {item.delay_ps} ps; it must be at least 0")
            delay = item.delay_ps
            if self._jitter is not None and now_ps == 0:
                if isinstance(item, Collective):
                    self._jittered.add(item.id)  # not as a whole: each of its ranks begins at its own time
                else:
                    delay += self._jitter.below(self._jitter_ps + 1)
            self._plan(now_ps + delay, item)

    def _plan(self, time_ps: int, item: Any) -> None:
        if isinstance(item, Transfer):
            order = self._index
            self._index += 1
        else:
            # Never equal to a flow's index, and before the flows of its instant.
            self._order -= 1
            order = self._order
        if isinstance(item, Compute):
            self._computing += 1
            time_ps += item.duration_ps
        heappush(self._agenda, (time_ps, order, item))

    def _due(self, now_ps: int, starts: list[tuple[int, Any]], ready: list[Any]) -> None:
        agenda = self._agenda
        while agenda and agenda[0][0] <= now_ps:
            _, order, item = heappop(agenda)
            if isinstance(item, Transfer):
                starts.append((order, item))
            elif isinstance(item, Compute):
                self._computing -= 1
                ready.append(item.id)
            elif item.id in self._runs:
                raise ConfigError(f"workload: collective {item.id!r} was emitted twice; use each id once")
            else:
                run = CollectiveRun(item)
                self._runs[item.id] = run, now_ps
                jitter = self._jitter if item.id in self._jittered else None
                for transfer in run.start():
                    jitter_ps = 0 if jitter is None else jitter.below(self._jitter_ps + 1)
                    self._plan(now_ps + transfer.delay_ps + jitter_ps, transfer)
                if run.finished:
                    self._end_collective(item, now_ps, ready)

    def waiting(self) -> list[str]:
        """Lines for a stall report: what has not started and why."""
        lines = [
            f"{type(item).__name__.lower()} {item.id!r} starts at {time_ps} ps"
            for time_ps, _, item in sorted(self._agenda, key=lambda e: e[:2])[:10]
        ]
        lines += [
            f"collective {c.collective.id!r} has {c.active} transfers under way"
            for c, _ in list(self._runs.values())[:10]
        ]
        lines += list(self.workload.waiting())[:10]
        return lines


def bound(observers: Sequence[Observer], name: str) -> tuple[Any, ...]:
    """The bound methods of observers that override `name`; empty if nobody listens."""
    return tuple(getattr(o, name) for o in observers if getattr(type(o), name, None) is not getattr(Observer, name))
