"""Takes what a run reports to the result folder, the statistics and the result; measures its cost."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..contracts.observer import Observer, RunInfo
from ..contracts.result import CollectiveRecord, FlowRecord, Result
from .build import Parts
from .outputs import ResultFolder
from .statistics import Statistics, busiest_links
from .trust import accelerated_cost

PENDING_SHOWN = 20


class Stopwatch:
    """CPU and wall-clock time of the run phase. The model never sees it."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def wall_s(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._wall

    def cpu_s(self) -> float:
        """CPU seconds of this process since the run began."""
        return time.process_time() - self._cpu


class Recorder(Observer):
    """Takes what the run reports to the result folder, the statistics and the result."""

    def __init__(self, parts: Parts, info: RunInfo, keep_records: bool) -> None:
        self.parts, self.info, self.keep = parts, info, keep_records
        self.folder: ResultFolder | None = None
        self.statistics = Statistics()
        self.flows: list[FlowRecord] = []
        self.collectives: list[CollectiveRecord] = []
        self._fct: Any = None
        self._first_start_ps: int | None = None

    def open_fct(self, path: str | Path, stack: ExitStack) -> None:
        """Also write completion times in the HPCC layout."""
        from .formats.fct import FctWriter

        self._fct = FctWriter(path)
        stack.callback(self._fct.close)

    def flow_started(self, now_ps: int, flow_index: int, transfer: Any) -> None:
        """Links are judged from the first flow on: HPCC files begin at 2 s."""
        if self._first_start_ps is None:
            self._first_start_ps = now_ps

    def flow_finished(self, record: FlowRecord) -> None:
        """A row everywhere."""
        self.statistics.flow_finished(record)
        if self.keep:
            self.flows.append(record)
        if self.folder is not None:
            self.folder.flow_finished(record)
        if self._fct is not None:
            self._fct.write(record)

    def collective_finished(self, now_ps: int, collective: Any, started_ps: int) -> None:
        """A row everywhere."""
        record = CollectiveRecord(
            id=collective.id, label=collective.label, algorithm=collective.algorithm, ranks=len(collective.ranks),
            size_bytes=collective.size_bytes, start_ps=started_ps, duration_ps=now_ps - started_ps, job=collective.job,
        )  # fmt: skip
        self.statistics.collective(record)
        if self.keep:
            self.collectives.append(record)
        if self.folder is not None:
            self.folder.write_collective(record)

    def flush(self) -> None:
        """What is done so far is on disk."""
        if self.folder is not None:
            self.folder.flush()

    def finish(self, engine: Any, clock: Stopwatch, status: str, reason: str | None) -> Result:
        """Write what is written once, at the end; returns the result."""
        cost = measured_cost(engine, clock)
        links = engine.link_records()
        span_ps = engine.now_ps - (self._first_start_ps or 0)
        summary = self._summary(engine, busiest_links(links, span_ps, self.parts.graph), status, reason) | {
            "cost": cost
        }
        if self.folder is not None:
            self.folder.write_links(links, span_ps)
            self.folder.close()
            self.folder.write_result(summary)
        return Result(summary=summary, flows=self.flows, links=links, collectives=self.collectives)

    def _summary(self, engine: Any, busiest: list[dict[str, Any]], status: str, reason: str | None) -> dict[str, Any]:
        counters, info = engine.counters, self.info
        total = self.parts.workload.total_items()
        return {
            "status": status,
            "reason": reason,
            "mode": info.mode,
            "model": info.model,
            "seed": info.seed,
            "simulated_ps": engine.now_ps,
            "hosts": len(info.hosts),
            "base_rtt_ps": engine.network.base_rtt_ps,
            "flows_done": counters.flows_finished,
            "flows_pending": (counters.flows_started if total is None else total) - counters.flows_finished,
            "bytes_done": counters.bytes_finished,
            "retransmitted_bytes": counters.retransmitted_bytes,
            "drops": counters.drops,
            "pauses": counters.pauses,
            "marks": counters.marks,
            "flows": self.statistics.flow_summary(),
            "collectives": self.statistics.collective_summary(),
            "busiest_links": busiest,
            "acceleration": self.parts.acceleration.as_dict() if info.mode == "wormhole" else None,
            "pending": [] if status == "complete" else list(engine.pending(PENDING_SHOWN)),
            "derived": engine.derived(),
            "notes": list(self.parts.notes),
            "experiment": info.experiment,
            "manifest": info.manifest,
        }


def measured_cost(engine: Any, clock: Stopwatch) -> dict[str, Any]:
    """What the run phase cost: the only part of a result that two equal runs may differ in. What
    acceleration did is here because it depends on what was remembered before."""
    cpu_s, wall_s, counters = clock.cpu_s(), clock.wall_s(), engine.counters
    cost = {
        "events_executed": counters.events,
        "frame_hops": counters.frame_hops,
        "frame_hops_represented": getattr(counters, "frame_hops_represented", counters.frame_hops),
        "cpu_s": round(cpu_s, 6),
        "wall_s": round(wall_s, 6),
        "peak_memory_bytes": peak_memory_bytes(),
        "frame_hops_per_cpu_s": round(counters.frame_hops / cpu_s) if cpu_s > 0 else None,
    }
    if hasattr(engine, "statistics"):
        cost |= accelerated_cost(engine.statistics())
    return cost


def peak_memory_bytes() -> int | None:
    """Largest resident size of this process so far; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
