"""Rounds of transfers in which each host goes on as soon as its own part of a round is over.

The next round of a host begins `gap_ps` after all it sends and all it receives in this round has
completed; no barrier holds the others. A subclass says which pairs a round consists of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from wormhole_core import Transfer, Workload

Id = tuple[int, int, int]


class RoundsWorkload(Workload):
    """Base of `permutation` and `all-to-all`; transfer ids are (round, sender's rank, receiver's rank)."""

    __slots__ = ("_behind", "_gap_ps", "_hosts", "_label", "_open", "_rounds", "_size_bytes", "_started")

    def __init__(self, hosts: tuple[int, ...], size_bytes: int, rounds: int, gap_ps: int, label: str) -> None:
        self._hosts = hosts
        self._size_bytes = size_bytes
        self._rounds = rounds
        self._gap_ps = gap_ps
        self._label = label
        self._started = False
        self._open: dict[tuple[int, int], int] = {}  # (round, rank) -> transfers not yet completed
        self._behind = [0] * len(hosts)  # round each rank is in

    def peers(self, number: int, rank: int) -> Sequence[int]:
        """Ranks this one sends to in a round, in order; asked once per round and rank."""
        raise NotImplementedError

    def per_round(self) -> int:
        """Transfers each rank sends in a round; it receives as many."""
        raise NotImplementedError

    def advance(self, now_ps: int, done: Sequence[Any]) -> Iterable[Transfer]:
        """Round 0 of every rank, then each rank's next round when its part of this one is over."""
        if not self._started:
            self._started = True
            return (item for rank in range(len(self._hosts)) for item in self._round(0, rank))
        begun: list[Transfer] = []
        for number, src, dst in done:
            for rank in (src, dst):
                left = self._open.pop((number, rank), 2 * self.per_round()) - 1
                if left:
                    self._open[(number, rank)] = left
                else:
                    self._behind[rank] = number + 1
                    begun.extend(self._round(number + 1, rank))
        return begun

    def _round(self, number: int, rank: int) -> Iterator[Transfer]:
        if number == self._rounds:
            return
        for peer in self.peers(number, rank):
            yield Transfer(
                id=(number, rank, peer), src=self._hosts[rank], dst=self._hosts[peer], size_bytes=self._size_bytes,
                delay_ps=self._gap_ps if number else 0, label=self._label, step=number,
            )  # fmt: skip

    def expected_bytes(self, host: int) -> tuple[int, int] | None:
        """Every host sends and receives the same."""
        volume = self._rounds * self.per_round() * self._size_bytes
        return volume, volume

    def total_items(self) -> int:
        """Transfers of all rounds."""
        return self._rounds * self.per_round() * len(self._hosts)

    def total_bytes(self) -> int:
        """Bytes of all rounds."""
        return self.total_items() * self._size_bytes

    def waiting(self) -> Iterable[str]:
        """One line per host with rounds still to come."""
        for rank, number in enumerate(self._behind):
            if number + 1 < self._rounds:
                left = self._open.get((number, rank), 2 * self.per_round())
                yield (
                    f"host {self._hosts[rank]}: rounds {number + 1} to {self._rounds - 1} of {self._label} wait for "
                    f"{left} transfers of round {number}"
                )
