"""A network in which transfers take no time: drives a workload to its end, in any order of completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

from ..contracts.collectives import CollectiveRun
from ..contracts.workload import Collective, Compute, Transfer, Workload
from ..rng import Stream

Order = Callable[[list[Any]], "tuple[list[Any], list[Any]]"]
"""Splits what is under way into (completed now, in this order; still under way)."""


def in_order(under_way: list[Any]) -> tuple[list[Any], list[Any]]:
    """Everything at once, in the order it began."""
    return under_way, []


def at_random(rng: Stream) -> Order:
    """Some of it, in any order: what a real network may do."""

    def split(under_way: list[Any]) -> tuple[list[Any], list[Any]]:
        shuffled = list(under_way)
        rng.shuffle(shuffled)
        count = 1 + rng.below(len(shuffled))
        return shuffled[:count], [item for item in under_way if item not in shuffled[:count]]

    return split


def shuffled(rng: Stream) -> Order:
    """Everything at once, in any order."""

    def split(under_way: list[Any]) -> tuple[list[Any], list[Any]]:
        mixed = list(under_way)
        rng.shuffle(mixed)
        return mixed, []

    return split


class TooMany(Exception):
    """More transfers than allowed: the workload is held not to end."""


class Ideal:
    """Everything a workload emits, with its transfers in order of starting.

    items: as emitted (collectives whole). transfers: collectives expanded. Raises TooMany beyond `most`.
    """

    def __init__(self, workload: Workload, order: Order = in_order, most: int = 200_000) -> None:
        self.items: list[Any] = []
        self.transfers: list[Transfer] = []
        self._agenda: list[tuple[int, int, str, Any]] = []
        self._runs: dict[Any, CollectiveRun] = {}
        self._count, self._most, self._workload = 0, most, workload
        self._drive(order)

    def _drive(self, order: Order) -> None:
        now_ps = 0
        under_way: list[Transfer] = []
        self._emit(self._workload.advance(0, ()), now_ps)
        while self._agenda or under_way:
            if not under_way:
                now_ps = max(now_ps, self._agenda[0][0])
            ready: list[Any] = []
            while self._agenda and self._agenda[0][0] <= now_ps:
                self._start(heappop(self._agenda), now_ps, under_way, ready)
            if under_way:
                done, under_way = order(under_way)
                for transfer in done:
                    self._complete(transfer, now_ps, ready)
            if ready:
                self._emit(self._workload.advance(now_ps, tuple(ready)), now_ps)

    def _emit(self, items: Iterable[Any], now_ps: int) -> None:
        for item in items:
            self.items.append(item)
            self._plan(now_ps + item.delay_ps, "start", item)

    def _plan(self, time_ps: int, what: str, item: Any) -> None:
        self._count += 1
        if self._count > self._most:
            raise TooMany
        heappush(self._agenda, (time_ps, self._count, what, item))

    def _start(
        self, entry: tuple[int, int, str, Any], now_ps: int, under_way: list[Transfer], ready: list[Any]
    ) -> None:
        _, _, what, item = entry
        if isinstance(item, Transfer):
            self.transfers.append(item)
            under_way.append(item)
        elif isinstance(item, Compute):
            if what == "start":
                self._plan(now_ps + item.duration_ps, "end", item)
            else:
                ready.append(item.id)
        elif isinstance(item, Collective):
            run = self._runs[item.id] = CollectiveRun(item)
            for transfer in run.start():
                self._plan(now_ps, "start", transfer)
            self._close(run, ready)
        else:
            raise AssertionError(f"expected Transfer, Compute or Collective from advance; saw {item!r}")

    def _complete(self, transfer: Transfer, now_ps: int, ready: list[Any]) -> None:
        run = self._runs.get(transfer.group) if transfer.group is not None else None
        if run is None:
            ready.append(transfer.id)
            return
        for follower in run.done([transfer.id]):
            self._plan(now_ps, "start", follower)
        self._close(run, ready)

    def _close(self, run: CollectiveRun, ready: list[Any]) -> None:
        if run.finished:
            del self._runs[run.collective.id]
            ready.append(run.collective.id)
