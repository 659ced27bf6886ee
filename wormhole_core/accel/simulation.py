"""A run in wormhole mode: the packet model under a controller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..contracts.memo import MemoBackend
from ..contracts.observer import Observer
from ..contracts.result import LinkRecord
from ..contracts.workload import Transfer
from ..errors import ConfigError
from ..sim.kernel import Tick
from ..sim.order import LATE
from ..sim.simulation import Simulation
from ..units import PS_PER_S
from .book import Book
from .controller import Controller
from .members import Mode


class WormholeSimulation(Simulation):
    """Same face as `sim.simulation.Simulation`.

    make_policy(info, number): a fast-forward policy per episode; None: nothing is skipped. memo: a
    store, None: nothing is remembered. dynamics: digest of all code and options that shape how flows
    evolve (`identity.py`). coarsen(ports): extra resources of a flow (partitioner).
    """

    def __init__(self, *args: Any, make_policy: Callable[[Any, int], Any] | None = None, memo: MemoBackend | None = None,
                 dynamics: bytes = b"", coarsen: Callable[[Any], Iterable[Any]] | None = None, model: str = "event",
                 observers: Sequence[Observer] = (), seed: int = 1, **options: Any) -> None:
        if model != "event":
            raise ConfigError(f"run.model must be 'event' in wormhole mode, got {model!r} (use --mode packet with it)")
        self.controller: Any = None
        super().__init__(*args, model=model, observers=observers, seed=seed, **options)
        per_flow = self.network.per_flow
        self.book = Book(memo if per_flow else None, dynamics, seed)
        self.controller = Controller(self.motion, self.driver, self.book, make_policy if per_flow else None, coarsen, list(observers))
        self.accelerated = per_flow
        for time_ps, _, _ in self.network.config.link_failures:
            self._plan_failure(time_ps)
        if self.network.config.acks == "lane":
            # ACKs on a lane of their own are events that a freeze does not know.
            self.controller.make_policy = None

    def _plan_failure(self, time_ps: int) -> None:
        """Before a link fails everything is brought to packets; after it partitions form anew."""
        env, controller = self.motion.env, self.controller
        env.push(time_ps, 0, Tick(), (lambda _t: controller.thaw_all(time_ps),))
        env.push(time_ps, LATE - 1, Tick(), (lambda _t: controller.regroup(time_ps),))

    def _received(self, flow: Any, now_ps: int) -> None:
        self.controller.received(flow, now_ps)

    def _completed(self, flow: Any, now_ps: int) -> None:
        self.controller.completed(flow, now_ps)

    def _wake(self, time_ps: int) -> None:
        self.motion.wake(time_ps, self._late)

    def _late(self, now_ps: int) -> None:
        self.driver.late(now_ps)
        self.controller.commit(now_ps)

    def _start_flow(self, transfer: Transfer, index: int, now_ps: int) -> None:
        self.controller.start_flow(self.network.plan_flow(index, transfer, now_ps), now_ps)

    def link_records(self) -> list[LinkRecord]:
        """One record per direction of a link; what was skipped or replayed is counted as if sent."""
        import attrs

        records = []
        for record, port in zip(super().link_records(), self.network.port_list, strict=True):
            extra = self.controller.extra.get(port)
            if extra is not None:
                sent = record.tx_bytes + extra[0]
                record = attrs.evolve(
                    record, tx_bytes=sent, tx_frames=record.tx_frames + extra[1], marks=record.marks + extra[2],
                    busy_ps=sent * 8 * PS_PER_S // port.rate_bps, max_queue_bytes=max(record.max_queue_bytes, extra[3]),
                )  # fmt: skip
            records.append(record)
        return records

    def statistics(self) -> dict[str, Any]:
        """What acceleration did."""
        out: dict[str, Any] = self.controller.stats.as_dict()
        out["looks"], out["misses"] = self.book.looks, self.book.misses
        out["frame_hops_represented"] = self.motion.frame_hops + sum(e[1] for e in self.controller.extra.values())
        out["playing"] = sum(1 for p in self.controller.partitions.values() if p.mode is Mode.PLAY)
        return out
