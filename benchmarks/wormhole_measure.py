"""Runs for `bench_wormhole.py`: packet, cold and warm ones in one process, CPU time of the run phase.

A warm run finds what a cold one left in a memo file (`sqlite`), as two calls of `wormhole-sim` would.
Short runs are repeated and the median is taken. What is running, and how long it may still take, goes
to stderr.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from wormhole_cases import Case

from wormhole_core.api import Progress, Result, Watcher, load, simulate
from wormhole_core.run.compare import compare_results, measure

REPEATS = 3
SHORT_S, MORE = 1.0, 5
"""Runs shorter than SHORT_S are repeated MORE times."""
LONG_S = 20.0
"""Runs that take longer are made once."""
SHOW_EVERY_S = 5.0
FLOOR_RUNS = 2
JITTER_SEED = 1001


@dataclass
class Accelerated:
    """Cold and warm runs of a case: medians of CPU seconds, and the last result of each."""

    cold_s: float
    warm_s: float
    cold: Result
    warm: Result
    cold_all_s: list[float]
    warm_all_s: list[float]

    @property
    def flows(self) -> int:
        """How many flows a run has."""
        return len(self.cold.flows)

    @property
    def warm_us_per_flow(self) -> float:
        """CPU microseconds per remembered flow."""
        return self.warm_s * 1e6 / self.flows

    def statistics(self) -> str:
        """What acceleration did, short."""
        return f"{did('cold', self.cold)}; {did('warm', self.warm)}"


class Shown(Watcher):
    """Progress of one run on stderr."""

    def __init__(self, name: str) -> None:
        self.name, self._next = name, time.monotonic() + SHOW_EVERY_S

    def advanced(self, progress: Progress) -> None:
        """At most every few seconds."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + SHOW_EVERY_S
        share, left = progress.share, progress.remaining_s
        told = "" if share is None else f" {share:.0%}"
        told += "" if left is None else f", {left:.0f} s left"
        print(f"    {self.name}:{told or ' under way'}", file=sys.stderr, flush=True)


class Bench:
    """Runs cases and remembers what they cost. quick: packet runs that take minutes are left out. long:
    nothing is shortened."""

    def __init__(self, quick: bool, long: bool, folder: Path) -> None:
        self.quick, self.long, self.folder = quick, long, folder
        self.plugins = load()
        self._packet: dict[str, Result] = {}
        self._stores = 0

    def run(self, case: Case, label: str, settings: Mapping[str, Any]) -> Result:
        """One run; garbage of those before is not on its bill."""
        gc.collect()
        return simulate(
            case.experiment, settings, preset=case.preset, plugins=self.plugins, watcher=Shown(f"{case.name}, {label}")
        )

    def packet(self, case: Case) -> Result:
        """The case in packet mode, made once."""
        known = self._packet.get(case.name)
        if known is None:
            known = self._packet[case.name] = self.run(case, "packet", {"run.mode": "packet"})
        return known

    def fluid(self, case: Case) -> Result:
        """The case in fluid mode."""
        return self.run(case, "fluid", {"run.mode": "fluid"})

    def accelerated(self, case: Case, repeats: int = REPEATS, beside_packet: bool = False) -> Accelerated:
        """Cold and warm in turns, each pair on a store of its own. beside_packet: with the packet run
        between them, so that a slow moment of the machine hits both sides."""
        cold_s: list[float] = []
        warm_s: list[float] = []
        while True:
            settings = {"run.mode": "wormhole", "acceleration.memo": {"plugin": "sqlite", "path": self._store()}}
            cold = self.run(case, "cold", settings)
            warm = self.run(case, "warm", settings)
            cold_s.append(cpu_s(cold))
            warm_s.append(cpu_s(warm))
            if len(cold_s) >= self._repeats(repeats, cold_s[0]):
                break
            if beside_packet and 2 * len(cold_s) >= repeats:
                self.packet(case)
        return Accelerated(median(cold_s), median(warm_s), cold, warm, cold_s, warm_s)

    def cold(self, case: Case) -> Result:
        """One run with nothing remembered before."""
        memo = {"plugin": "sqlite", "path": self._store()}
        return self.run(case, "cold", {"run.mode": "wormhole", "acceleration.memo": memo})

    @staticmethod
    def _repeats(wanted: int, first_s: float) -> int:
        return 1 if first_s > LONG_S else MORE if first_s < SHORT_S and wanted == REPEATS else wanted

    def _store(self) -> str:
        self._stores += 1
        return str(self.folder / f"memo{self._stores}.sqlite")

    def floor(self, case: Case, runs: int = FLOOR_RUNS) -> dict[str, float]:
        """Mean errors of packet runs whose starts move by up to one base RTT."""
        first = self.packet(case)
        found = []
        for i in range(runs):
            settings = {
                "run.mode": "packet", "run.start_jitter_ps": first.summary["base_rtt_ps"], "run.seed": JITTER_SEED + i,
            }  # fmt: skip
            found.append(errors(first, self.run(case, f"packet with jitter {i + 1} of {runs}", settings)))
        return {name: sum(e[name] for e in found) / runs for name in found[0]}

    def beginning(self, case: Case, end_ps: int) -> Result:
        """The case in packet mode up to a simulated time."""
        return self.run(case, "packet, first steps", {"run.mode": "packet", "run.stop_ps": end_ps})


SHORT = {
    "fct_error.mean": "per flow mean", "fct_error.max": "per flow max", "sorted_fct_error.mean": "sorted mean",
    "sorted_fct_error.max": "sorted max", "mean_fct_error": "mean FCT", "makespan_error": "makespan",
}  # fmt: skip
"""Measures shown, and what they are called in the table."""


def errors(reference: Result, other: Result) -> dict[str, float]:
    """The measures of `SHORT`, relative."""
    compared = compare_results(reference, other)
    return {name: measure(compared, name) for name in SHORT}


def worse(a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, float]:
    """The larger of two errors, measure by measure."""
    return {name: max(a[name], b[name]) for name in a}


def did(label: str, result: Result) -> str:
    """What acceleration did in a run, short."""
    cost = result.summary["cost"]
    counts = cost["acceleration"]
    named = ", ".join(f"{counts[name]:,} {name}" for name in ("episodes", "hits", "followers", "skips", "tails"))
    return f"{label}: {named}, frame-hops {cost['frame_hops']:,} of {cost['frame_hops_represented']:,}"


def cpu_s(result: Result) -> float:
    """CPU seconds of the run phase."""
    return float(result.summary["cost"]["cpu_s"])


def per_hop_s(result: Result) -> float:
    """CPU seconds per simulated frame-hop."""
    return cpu_s(result) / int(result.summary["cost"]["frame_hops"])


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for memo files, removed at the end."""
    return tempfile.TemporaryDirectory(prefix="bench-wormhole-")
