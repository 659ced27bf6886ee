"""A run in wormhole mode: the packet model under a controller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..contracts.memo import MemoBackend
from ..contracts.observer import Observer
from ..contracts.result import LinkRecord
from ..contracts.workload import Transfer
from ..errors import ConfigError
from ..sim.kernel import Halt, Tick
from ..sim.order import LATE
from ..sim.simulation import Simulation, Totals
from ..units import PS_PER_S
from .audit import Audit
from .book import Book
from .busy import BusyPeriods, Timed
from .controller import Controller
from .identity import dynamics_digest, network_parts
from .ledger import events_avoided, unfinished_bytes
from .members import Mode
from .resimulation import Resimulation


class WormholeTotals(Totals):
    """Counters that know of skips and replays: bytes advance with them, marks of what was replayed count."""

    def __init__(self, simulation: WormholeSimulation) -> None:
        super().__init__(simulation)
        controller = simulation.controller
        self.bytes_acked += unfinished_bytes(controller, simulation.now_ps)
        self.marks += sum(e[2] for e in controller.extra.values())
        self.frame_hops_represented = self.frame_hops + sum(e[1] for e in controller.extra.values())


class WormholeSimulation(Simulation):
    """Same face as `sim.simulation.Simulation`.

    make_policy(info, number): a fast-forward policy per episode; None: nothing is skipped. memo: a
    store, None: nothing is remembered. dynamics: digest of all code and options that shape how flows
    evolve (`identity.py`). coarsen(ports): extra resources of a flow (partitioner). audit: events that
    may be spent afterwards on estimating the error, as a share of the run's own; 0: none are.
    """

    def __init__(
        self,
        *args: Any,
        make_policy: Callable[[Any, int], Any] | None = None,
        memo: MemoBackend | None = None,
        dynamics: bytes = b"",
        tails: bool = True,
        quantum_ps: int = 0,
        coarsen: Callable[[Any], Iterable[Any]] | None = None,
        model: str = "event",
        observers: Sequence[Observer] = (),
        seed: int = 1,
        audit: float = 0.0,
        **options: Any,
    ) -> None:
        if model != "event":
            raise ConfigError(f"run.model must be 'event' in wormhole mode, got {model!r} (use --mode packet with it)")
        self.controller: Any = None
        self.audit_share = audit
        self._audit_record: dict[str, Any] | None = None
        self._audited_with = (*args, {"seed": seed, **options})
        busy = None
        if audit:
            busy = BusyPeriods(args[1].dependency == "receiver")
            options["workload"] = Timed(options["workload"], busy)
        super().__init__(*args, model=model, observers=observers, seed=seed, **options)
        per_flow = self.network.per_flow
        dynamics = dynamics_digest((dynamics, tails, quantum_ps, *network_parts(self.network)), ())
        self.book = Book(memo if per_flow else None, dynamics, seed)
        self.controller = Controller(
            self.motion,
            self.driver,
            self.book,
            make_policy if per_flow else None,
            coarsen,
            list(observers),
            tails,
            quantum_ps if per_flow else 0,
        )
        self.controller.busy = busy
        self.accelerated = per_flow
        for time_ps, _, _ in self.network.config.link_failures:
            self._plan_failure(time_ps)

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
        if self.driver.finished:
            raise Halt

    def _start_flow(self, transfer: Transfer, index: int, now_ps: int) -> None:
        self.controller.start_flow(self.network.plan_flow(index, transfer, now_ps), now_ps)

    # --- running ---

    @property
    def counters(self) -> WormholeTotals:
        """Totals as of now."""
        return WormholeTotals(self)

    def advance(self, max_events: int = 50_000, until_ps: int | None = None) -> bool:
        """Run a slice, as `Simulation.advance`; at until_ps everything has the packet state of that time."""
        controller, env = self.controller, self.motion.env
        if controller.moves_by_itself():
            # What is skipped or replayed moves although no packet does: nothing has stalled.
            next_ps = env.peek()
            if next_ps != float("inf"):
                self._progress = (-1, int(next_ps))
        over = super().advance(max_events, until_ps)
        if over and not self.driver.finished and until_ps is not None:
            env._now = max(env._now, until_ps)
            for partition in list(controller.partitions.values()):
                if partition.mode is not Mode.LIVE:
                    controller.bring_live(partition, env._now)
        return over

    # --- results ---

    def link_records(self) -> list[LinkRecord]:
        """One record per direction of a link; what was skipped or replayed is counted as if sent."""
        import attrs

        records = []
        for record, port in zip(super().link_records(), self.network.port_list, strict=True):
            extra = self.controller.ledger.extra.get(port)
            if extra is not None:
                sent = record.tx_bytes + extra[0]
                record = attrs.evolve(
                    record, tx_bytes=sent, tx_frames=record.tx_frames + extra[1], marks=record.marks + extra[2],
                    busy_ps=sent * 8 * PS_PER_S // port.rate_bps, max_queue_bytes=max(record.max_queue_bytes, extra[3]),
                )  # fmt: skip
            records.append(record)
        return records

    def audit(self, again: bool = False) -> dict[str, Any] | None:
        """The audit of the finished run (`audit.py`), made when first asked for; None: not wanted. again: with
        the present `audit_share`."""
        busy = self.controller.busy
        if (again or self._audit_record is None) and busy is not None:
            graph, config, options = self._audited_with
            kept = {name: options[name] for name in ("make_cca", "routing", "no_progress_ps") if name in options}
            audit = Audit(
                busy, lambda seed: Resimulation(graph, config, seed=seed, **kept), fraction=self.audit_share,
                events=self.motion.env.executed, frame_hops=self.motion.frame_hops, seed=options["seed"],
            )  # fmt: skip
            stats = self.controller.stats
            untouched = not (stats.skips or stats.tails or stats.hits_of_skipped or stats.hits_approximate)
            if not self.driver.finished:
                self._audit_record = audit.refused("the run did not end")
            elif self.network.config.link_failures:
                self._audit_record = audit.refused("links failed, and what was under way cannot be simulated apart")
            else:
                self._audit_record = audit.run(untouched)
        return self._audit_record

    def statistics(self) -> dict[str, Any]:
        """What acceleration did. Depends on what was remembered before the run."""
        controller, book = self.controller, self.book
        out: dict[str, Any] = controller.stats.as_dict()
        out["looks"], out["misses"], out["damaged"] = book.looks, book.misses, book.damaged
        totals = self.counters
        out["frame_hops_represented"] = totals.frame_hops_represented
        out["events_avoided"] = events_avoided(totals.events, totals.frame_hops, totals.frame_hops_represented)
        out["byte_shares"] = controller.ledger.shares()
        out["not_skipped"] = controller.ledger.reasons()
        out["estimated_error"] = controller.ledger.estimated_error()
        out["policies"] = controller.ledger.classes()
        out["audit"] = self.audit()
        out["memo_bytes"] = book.backend.size_bytes() if book.backend is not None else 0
        return out
