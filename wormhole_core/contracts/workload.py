"""Workloads: what is sent, when, and after what.

`Component.build(config, hosts: tuple[int, ...], rng: Stream) -> Workload`; hosts are node ids in
rank order. The core calls `advance` once at time 0 with no ids and then once per instant in which
something completed, with the completed ids in order; whatever it returns is started `delay_ps` later.
Ids are unique within the workload: int, str or tuple.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence

import attrs

Id = Hashable


@attrs.frozen(kw_only=True)
class Transfer:
    """A flow of size_bytes from host src to host dst (node ids).

    path, ack_path: node ids from src to dst (dst to src) that pin the route; None: routed.
    sport: None lets the core number flows of one (src, dst) pair from 10000.
    group, step, job: labels for reports (a collective's id, its step, a job's name).
    """

    id: Id
    src: int
    dst: int
    size_bytes: int
    delay_ps: int = 0
    label: str = ""
    traffic_class: int = 3
    sport: int | None = None
    dport: int = 100
    path: tuple[int, ...] | None = None
    ack_path: tuple[int, ...] | None = None
    group: Id | None = None
    step: int | None = None
    job: str = ""


@attrs.frozen(kw_only=True)
class Compute:
    """`duration_ps` of work on a host (`rank`: its node id, for reports); its id is reported when it ends."""

    id: Id
    rank: int
    duration_ps: int
    delay_ps: int = 0
    label: str = ""


@attrs.frozen(kw_only=True)
class Collective:
    """A collective operation among hosts, expanded lazily by `wormhole_core.contracts.collectives`.

    algorithm: "ring-all-reduce", "ring-all-gather", "ring-reduce-scatter", "all-to-all",
    "broadcast". size_bytes: the tensor per rank before the operation (the full tensor for all-gather
    and reduce-scatter, as SimAI counts). The collective's id is reported when all its ranks are done.
    """

    id: Id
    algorithm: str
    ranks: tuple[int, ...]
    size_bytes: int
    delay_ps: int = 0
    label: str = ""
    job: str = ""


Item = Transfer | Compute | Collective


class Workload(ABC):
    """Emits items; stateful, driven by the core."""

    __slots__ = ()

    @abstractmethod
    def advance(self, now_ps: int, done: Sequence[Id]) -> Iterable[Item]:
        """Items that may start `delay_ps` after now_ps, now that `done` have completed."""

    def expected_bytes(self, host: int) -> tuple[int, int] | None:
        """(bytes sent, bytes received) over the whole run for a host, if known beforehand."""
        return None

    def total_items(self) -> int | None:
        """Number of transfers the workload will emit in all, if known (for progress)."""
        return None

    def total_bytes(self) -> int | None:
        """Payload bytes it will emit in all, if known (for progress)."""
        return None

    def waiting(self) -> Iterable[str]:
        """Lines that say what has not been emitted yet and what it waits for (for stall reports)."""
        return ()
