"""Collectives as transfers, step by step: who sends what to whom, after what.

A `Collective` is never unrolled as a whole. `CollectiveRun` hands out the transfers that may start
now and, told of completions, those that became ready: its state is a few integers per rank for a
ring, however many steps there are. What "completed" means (the receiver has the last byte, or the
sender the last ACK) is decided by whoever drives it. Nothing here knows time, routes or packets.

The algorithms, for N ranks and a tensor cut into N chunks as equal as whole bytes allow (the first
`size mod N` chunks are one byte longer):

* rings (Patarasuk and Yuan, JPDC 69(2), 2009): at step s rank r sends chunk (r - s) mod N to rank
  r + 1, once its own transfer of step s - 1 and the one of rank r - 1 to it have completed.
  Reduce-scatter and all-gather take N - 1 steps, all-reduce is one after the other: 2(N - 1).
* all-to-all: rank r sends chunk q to rank q, all at once; "step" is the distance q - r mod N less 1.
* broadcast: a binomial tree from rank 0; at step s each rank i < 2**s sends all bytes to i + 2**s,
  once it has them and its own transfer of step s - 1 has completed.
* send-recv: rank 0 sends all bytes to rank 1.

A chunk without bytes (fewer bytes than ranks) needs no transfer and counts as completed at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from ..component import near_match
from ..errors import ConfigError
from .workload import Collective, Id, Transfer

RINGS = {"ring-all-reduce": 2, "ring-all-gather": 1, "ring-reduce-scatter": 1}
"""Ring algorithm -> how many times it goes round."""
ALGORITHMS = (*RINGS, "all-to-all", "broadcast", "send-recv")


def steps(algorithm: str, ranks: int) -> int:
    """Number of steps; they are numbered from 0. Those of an all-to-all do not wait for each other.

    Raises ConfigError for an unknown algorithm or a number of ranks it cannot have.
    """
    _check(algorithm, ranks)
    if algorithm == "broadcast":
        return (ranks - 1).bit_length()
    return RINGS.get(algorithm, 1) * (ranks - 1)


def collective_transfers(algorithm: str, ranks: int, size_bytes: int) -> int:
    """Number of transfers among all ranks, chunks without bytes left out."""
    _check(algorithm, ranks)
    if algorithm in ("broadcast", "send-recv"):
        return ranks - 1
    return RINGS.get(algorithm, 1) * (ranks - 1) * min(ranks, size_bytes)


def collective_volume(algorithm: str, ranks: int, size_bytes: int) -> int:
    """Payload bytes sent by all ranks together: `size (N - 1)`, twice that for an all-reduce."""
    _check(algorithm, ranks)
    return RINGS.get(algorithm, 1) * (ranks - 1) * size_bytes


def collective_bytes(algorithm: str, ranks: int, size_bytes: int, rank: int) -> tuple[int, int]:
    """(payload bytes sent, received) by the rank of that index, to the byte."""
    _check(algorithm, ranks)
    size = size_bytes

    def chunk(index: int) -> int:
        return chunk_bytes(size, ranks, index % ranks)

    if ranks == 1:
        return 0, 0
    if algorithm == "ring-all-reduce":
        # 2N - 2 consecutive chunks downwards from the rank's own: all of them twice but for two.
        return 2 * size - chunk(rank + 1) - chunk(rank + 2), 2 * size - chunk(rank) - chunk(rank + 1)
    if algorithm in RINGS:
        return size - chunk(rank + 1), size - chunk(rank)
    if algorithm == "all-to-all":
        return size - chunk(rank), (ranks - 1) * chunk(rank)
    if algorithm == "send-recv":
        return (size, 0) if rank == 0 else (0, size)
    first = rank.bit_length()  # the step after the one in which the rank is reached
    sends = sum(1 for step in range(first, steps(algorithm, ranks)) if rank + (1 << step) < ranks)
    return sends * size, size if rank else 0


def bus_factor(algorithm: str, ranks: int) -> float:
    """Bus bandwidth over `size_bytes / duration`, as nccl-tests defines it (doc/PERFORMANCE.md there)."""
    _check(algorithm, ranks)
    if algorithm in ("broadcast", "send-recv"):
        return 1.0
    return RINGS.get(algorithm, 1) * (ranks - 1) / ranks


def chunk_bytes(size_bytes: int, ranks: int, index: int) -> int:
    """Size of chunk `index` of a tensor cut into `ranks` chunks."""
    return size_bytes // ranks + (index < size_bytes % ranks)


class CollectiveRun:
    """One collective under way: `start` once, then `done` for whatever has completed.

    Transfers are identified by `(collective.id, step, rank index)`, carry the collective's id as
    `group`, its label and its job. Which transfers appear, and what each waits for, does not depend
    on the order in which simultaneous completions are told; each answer is sorted by (step, rank),
    and the collective's own `delay_ps` is the driver's to wait before `start`.
    Raises ConfigError for an unknown algorithm, repeated ranks, or a size below one byte.
    """

    __slots__ = ("_active", "_ended", "_ring_steps", "_started", "collective", "finished")

    def __init__(self, collective: Collective) -> None:
        ranks = len(collective.ranks)
        where = f"collective {collective.id!r}"
        _check(collective.algorithm, ranks, where)
        if len(set(collective.ranks)) != ranks:
            raise ConfigError(f"{where}: ranks must differ from each other, got {collective.ranks!r}")
        if collective.size_bytes < 1:
            raise ConfigError(f"{where}: size_bytes must be at least 1, got {collective.size_bytes!r}")
        self.collective = collective
        self.finished = False
        self._active: set[tuple[int, int]] = set()
        ring = collective.algorithm in RINGS
        self._ring_steps = steps(collective.algorithm, ranks) if ring else 0
        self._ended = [0] * ranks if ring else []  # steps of this rank's sends that have completed
        self._started = [0] * ranks if ring else []  # steps of this rank's sends that have begun

    def start(self) -> list[Transfer]:
        """The transfers that may start at once."""
        ranks = len(self.collective.ranks)
        if ranks == 1:
            ready = []
        elif self._ring_steps:
            ready = [(0, rank) for rank in range(ranks)]
        elif self.collective.algorithm == "all-to-all":
            ready = [(step, rank) for step in range(ranks - 1) for rank in range(ranks)]
        else:
            ready = [(0, 0)]
        return self._begin(ready)

    def done(self, transfer_ids: Iterable[Id]) -> list[Transfer]:
        """The transfers that may start now that these have completed.

        Raises ValueError for an id that is not under way in this collective.
        """
        ready: list[tuple[int, int]] = []
        for transfer_id in transfer_ids:
            if not (isinstance(transfer_id, tuple) and len(transfer_id) == 3):
                raise ValueError(f"transfer {transfer_id!r} is not one of a collective")
            owner, step, rank = transfer_id
            if owner != self.collective.id or (step, rank) not in self._active:
                raise ValueError(f"transfer {transfer_id!r} is not under way in collective {self.collective.id!r}")
            self._active.remove((step, rank))
            ready.extend(self._followers(step, rank))
        return self._begin(ready)

    @property
    def active(self) -> int:
        """Number of transfers under way."""
        return len(self._active)

    def _followers(self, step: int, rank: int) -> list[tuple[int, int]]:
        if self._ring_steps:
            self._ended[rank] = step + 1
            return [ready for r in (rank, (rank + 1) % len(self._ended)) if (ready := self._next_of(r))]
        if self.collective.algorithm == "broadcast":
            ranks = len(self.collective.ranks)
            return [(step + 1, r) for r in (rank, rank + (1 << step)) if r + (2 << step) < ranks]
        return []

    def _next_of(self, rank: int) -> tuple[int, int] | None:
        step = self._ended[rank]
        if self._started[rank] != step or step >= self._ring_steps or self._ended[rank - 1] < step:
            return None
        return step, rank

    def _begin(self, ready: list[tuple[int, int]]) -> list[Transfer]:
        begun = []
        heapify(ready)
        while ready:
            step, rank = heappop(ready)
            if self._ring_steps:
                if self._started[rank] > step:
                    continue  # both of a transfer's conditions were met by the same call
                self._started[rank] = step + 1
            size, peer = self._size_and_peer(step, rank)
            if size:
                self._active.add((step, rank))
                begun.append(self._transfer(step, rank, peer, size))
            else:
                for follower in self._followers(step, rank):
                    heappush(ready, follower)
        self.finished = not self._active
        return begun

    def _size_and_peer(self, step: int, rank: int) -> tuple[int, int]:
        size, ranks = self.collective.size_bytes, len(self.collective.ranks)
        if self._ring_steps:
            return chunk_bytes(size, ranks, (rank - step) % ranks), (rank + 1) % ranks
        if self.collective.algorithm == "all-to-all":
            peer = (rank + step + 1) % ranks
            return chunk_bytes(size, ranks, peer), peer
        return size, rank + (1 << step)

    def _transfer(self, step: int, rank: int, peer: int, size_bytes: int) -> Transfer:
        whole = self.collective
        return Transfer(
            id=(whole.id, step, rank), src=whole.ranks[rank], dst=whole.ranks[peer], size_bytes=size_bytes,
            label=whole.label, group=whole.id, step=step, job=whole.job,
        )  # fmt: skip


def _check(algorithm: str, ranks: int, where: str = "collective") -> None:
    if algorithm not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise ConfigError(
            f"{where}: unknown algorithm {algorithm!r}{near_match(algorithm, ALGORITHMS)} (known: {known})"
        )
    if ranks < 1 or (algorithm == "send-recv" and ranks != 2):
        expected = "exactly 2 ranks" if algorithm == "send-recv" else "at least 1 rank"
        raise ConfigError(f"{where}: {algorithm} needs {expected}, got {ranks}")
