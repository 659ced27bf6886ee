"""Ring all-reduce: data-parallel training's gradient exchange, in one or many rings at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from wormhole_core import (
    Collective,
    Stream,
    Workload,
    collective_bytes,
    collective_transfers,
    collective_volume,
    non_negative,
    optional,
    positive,
)
from wormhole_core.errors import ConfigError

ALGORITHM = "ring-all-reduce"


@attrs.frozen(kw_only=True)
class RingAllReduceConfig:
    """Options of `ring-all-reduce`.

    The hosts are cut into blocks of `stride` x `group_size`; in a block, ranks `stride` apart form a
    ring. So with 8 GPUs per server `stride = 8` gives one ring per rail.
    """

    size_bytes: int = positive(default=10_000_000)
    """The tensor on each rank; each of the 2 (N - 1) steps of a ring moves an N-th of it."""
    stride: int = positive(default=1)
    """Distance between neighbours of a ring, in ranks."""
    group_size: int | None = optional(metadata={"unit": "ranks"})
    """Ranks per ring; default: one block of all hosts, so hosts / stride."""
    iterations: int = positive(default=1)
    gap_ps: int = non_negative(default=0)
    """Pause of a ring between two of its all-reduces."""


class RingAllReduce(Workload):
    """Collectives with ids (iteration, ring); each ring goes on by itself."""

    __slots__ = ("_config", "_groups", "_iteration", "_place", "_started")

    def __init__(self, config: RingAllReduceConfig, hosts: tuple[int, ...]) -> None:
        self._config = config
        self._groups = groups(hosts, config.stride, config.group_size)
        self._place = {host: (ring, rank) for ring, ranks in enumerate(self._groups) for rank, host in enumerate(ranks)}
        self._iteration = [0] * len(self._groups)
        self._started = False

    def advance(self, now_ps: int, done: Sequence[Any]) -> Iterable[Collective]:
        """The first all-reduce of each ring, then the next one of a ring whose last has completed."""
        if not self._started:
            self._started = True
            return self._first()
        begun = []
        for iteration, ring in done:
            self._iteration[ring] = iteration + 1
            if iteration + 1 < self._config.iterations:
                begun.append(self._collective(iteration + 1, ring))
        return begun

    def _first(self) -> Iterator[Collective]:
        for ring in range(len(self._groups)):
            yield self._collective(0, ring)

    def _collective(self, iteration: int, ring: int) -> Collective:
        return Collective(
            id=(iteration, ring), algorithm=ALGORITHM, ranks=self._groups[ring], size_bytes=self._config.size_bytes,
            delay_ps=self._config.gap_ps if iteration else 0, label=f"ring {ring}",
        )  # fmt: skip

    def expected_bytes(self, host: int) -> tuple[int, int]:
        """2 (N - 1) / N of the tensor per iteration, to the byte."""
        ring, rank = self._place[host]
        sent, received = collective_bytes(ALGORITHM, len(self._groups[ring]), self._config.size_bytes, rank)
        return sent * self._config.iterations, received * self._config.iterations

    def total_items(self) -> int:
        """Transfers of all rings and iterations."""
        one = collective_transfers(ALGORITHM, len(self._groups[0]), self._config.size_bytes)
        return one * len(self._groups) * self._config.iterations

    def total_bytes(self) -> int:
        """Bytes of all rings and iterations."""
        one = collective_volume(ALGORITHM, len(self._groups[0]), self._config.size_bytes)
        return one * len(self._groups) * self._config.iterations

    def waiting(self) -> Iterable[str]:
        """One line per ring with all-reduces still to come."""
        for ring, iteration in enumerate(self._iteration):
            left = self._config.iterations - iteration - 1
            if left > 0:
                yield f"ring {ring}: {left} more all-reduces wait for the one of iteration {iteration}"


def groups(hosts: tuple[int, ...], stride: int, group_size: int | None) -> list[tuple[int, ...]]:
    """The rings, each in the order its ranks pass data on; raises ConfigError naming what fits."""
    count = len(hosts)
    size = count // stride if group_size is None else group_size
    if size < 2 or count % (stride * size):
        fits = [s for s in range(2, count // stride + 1) if count % (stride * s) == 0]
        raise ConfigError(
            f"workload 'ring-all-reduce': {count} hosts cannot be cut into rings of {size} ranks {stride} apart; "
            + (
                f"with stride {stride} these group sizes exist: {', '.join(map(str, fits))}"
                if fits
                else "change the stride"
            )
        )
    block = stride * size
    return [
        tuple(hosts[first + offset + stride * i] for i in range(size))
        for first in range(0, count, block)
        for offset in range(stride)
    ]


def build(config: RingAllReduceConfig, hosts: tuple[int, ...], rng: Stream) -> RingAllReduce:
    """The workload object; raises ConfigError if the hosts cannot be cut into such rings."""
    return RingAllReduce(config, hosts)
