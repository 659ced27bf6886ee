"""Does the audit's interval hold? Random scenarios, each run in wormhole mode with an audit and in packet mode.

    python benchmarks/audit_trials.py [--trials 200] [--first 0] [--json FILE]

A trial draws a pattern (ring all-reduce, incast, all-to-all, the last two also repeated with pauses, an incast
whose flows come in one by one, a ring beside an all-to-all), hosts, sizes, line rate, congestion control (HPCC
with its additive increase by the rule, HPCC at 50 Mb/s, DCQCN) and the first budget of the audit; where it says
that it needs more it is given that, twice at most. Only runs in which something was estimated count: where
nothing was skipped, shortened or drawn again there is nothing to audit, and another scenario is drawn. Exit code
1 unless at least 9 in 10 trials give an estimate, the 90 % interval covers the true makespan error in at least
90 % of these, and the median width is at most three times the root-mean-square error.

`--json` appends a line per trial, so that a long series can be run in pieces; with `--read` such a file is
summed up instead.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from wormhole_core import (
    Collective,
    Compute,
    Observer,
    Stream,
    Transfer,
    Workload,
    add_link,
    add_switch,
    new_graph,
    stream,
)
from wormhole_core.accel.simulation import WormholeSimulation
from wormhole_core.api import load
from wormhole_core.sim.config import NetworkConfig
from wormhole_core.sim.simulation import Simulation

DELAY_PS = 1_000_000
COVERED, ESTIMATED, WIDTH_PER_RMS = 0.9, 0.9, 3.0
PACKET_EVENTS = 400_000
"""Larger scenarios are drawn again: a trial should take a second or two."""
EVENTS_PER_HOP = 1.3
TRIES = 3


PATTERNS = ("ring", "incast", "all-to-all", "incasts", "all-to-alls", "staggered", "two-jobs")
REPEATED = ("incasts", "all-to-alls")
CONGESTIONS = ("hpcc-rule", "hpcc-50M", "dcqcn")


class Steps(Workload):
    """Steps one after the other with a pause between them; a step is a list of items that start together."""

    def __init__(self, steps: Sequence[Sequence[Any]], pause_ps: int) -> None:
        self.steps, self.pause_ps = steps, pause_ps
        self.step, self.left = 0, 0

    def advance(self, now_ps: int, done: Sequence[Any]) -> Iterable[Any]:
        """The next step, or the pause before it, when all of the last is done."""
        if done and done[0] == "pause":
            self.step += 1
        elif done:
            self.left -= len(done)
            if self.left or self.step + 1 == len(self.steps):
                return ()
            if self.pause_ps:
                return (Compute(id="pause", rank=0, duration_ps=self.pause_ps),)
            self.step += 1
        items = self.steps[self.step]
        self.left = len(items)
        return items


class Ends(Observer):
    """The latest completion."""

    def __init__(self) -> None:
        self.last_ps = 0

    def flow_finished(self, record: Any) -> None:
        """Keep the latest."""
        self.last_ps = max(self.last_ps, record.start_ps + record.fct_ps)


class Scenario:
    """One random scenario; `number` decides everything. congestion: always this one."""

    def __init__(self, number: int, congestion: str | None = None) -> None:
        draw = stream(number, "audit-trials")
        self.number = number
        self.pattern = _choice(draw, PATTERNS)
        self.congestion = _choice(draw, CONGESTIONS if congestion is None else (congestion,))
        self.rate_bps = _choice(draw, (10, 25, 100)) * 10**9
        self.hosts = 3 + draw.below(6)
        # DCQCN takes longer to become steady.
        least, most = (6.3, 7.5) if self.congestion == "dcqcn" else (5.5, 7.2)
        if self.pattern == "two-jobs":
            self.hosts = 6
        self.size_bytes = int(10 ** (least + (most - least) * draw.uniform()))
        self.repeats = 2 + draw.below(5)
        self.pause_ps = _choice(draw, (0, 1_000_000, 100_000_000))
        self.delays_ps = [
            draw.below(2 * self.size_bytes * 8_000 // (self.rate_bps // 10**9)) for _ in range(self.hosts)
        ]
        """Of a staggered incast: up to twice what one flow takes alone."""
        self.budget = _choice(draw, (0.01, 0.3, 1.5, 6.0))
        """First budget, as a multiple of the events packet mode takes; then what the audit says it needs."""

    def steps(self) -> list[list[Any]]:
        """What the workload does."""
        n, size = self.hosts, self.size_bytes
        if self.pattern == "ring":
            return [[Collective(id="ring", algorithm="ring-all-reduce", ranks=tuple(range(n)), size_bytes=size * n)]]
        if self.pattern == "staggered":
            return [[
                Transfer(id=i, src=i, dst=n - 1, size_bytes=size, delay_ps=self.delays_ps[i]) for i in range(n - 1)
            ]]  # fmt: skip
        if self.pattern == "two-jobs":
            # Side by side on one switch: a ring, and an all-to-all of about the same length.
            ring = Collective(id="ring", algorithm="ring-all-reduce", ranks=tuple(range(3)), size_bytes=size * 3)
            other = Collective(id="other", algorithm="all-to-all", ranks=(3, 4, 5), size_bytes=size * 6)
            return [[ring, other]]
        count = self.repeats if self.pattern in REPEATED else 1
        steps: list[list[Any]] = []
        for step in range(count):
            if self.pattern.startswith("incast"):
                steps.append([Transfer(id=(step, i), src=i, dst=n - 1, size_bytes=size) for i in range(n - 1)])
            else:
                ranks = tuple(range(n))
                steps.append([Collective(id=step, algorithm="all-to-all", ranks=ranks, size_bytes=size * n)])
        return steps

    def packet_events(self) -> float:
        """About as many events as packet mode takes."""
        n = self.hosts
        flows = {"ring": 2 * n * (n - 1), "incast": n - 1, "incasts": n - 1, "staggered": n - 1, "two-jobs": 24}.get(
            self.pattern, n * (n - 1)
        )
        times = self.repeats if self.pattern in REPEATED else 1
        return flows * times * self.size_bytes / 1000 * 4 * EVENTS_PER_HOP

    def make(self, plugins: Any, kind: type, **more: Any) -> tuple[Any, Ends]:
        """A run."""
        graph = new_graph(self.hosts)
        switch = add_switch(graph)
        for host in range(self.hosts):
            add_link(graph, host, switch, self.rate_bps, DELAY_PS)
        name, options = self.congestion.partition("-")[0], {}
        if self.congestion == "hpcc-rule":
            options = {"ai_rate_bps": self.rate_bps * 0.05 / self.hosts}
        elif self.congestion == "hpcc-50M":
            options = {"ai_rate_bps": 50e6}
        entry, config = plugins.registry.get("cca", name), plugins.make_config("cca", name, options)
        ends = Ends()
        run = kind(
            graph, NetworkConfig(), make_cca=lambda flow, rng: entry.build(config, flow, rng), seed=self.number,
            workload=Steps(self.steps(), self.pause_ps), observers=[ends],
            routing=_built(plugins, "routing", "ecmp", stream(1, "routing")), **more,
        )  # fmt: skip
        while not run.advance():
            pass
        return run, ends


def _choice(draw: Stream, values: Sequence[Any]) -> Any:
    return values[draw.below(len(values))]


def _built(plugins: Any, kind: str, name: str, *arguments: Any) -> Any:
    return plugins.registry.get(kind, name).build(plugins.make_config(kind, name, {}), *arguments)


def trial(plugins: Any, number: int, congestion: str | None = None) -> dict[str, Any] | None:
    """One trial as a row; None if there was nothing to audit."""
    scenario = Scenario(number, congestion)
    if scenario.packet_events() > PACKET_EVENTS:
        return None
    started = time.process_time()
    settled = plugins.registry.get("fast-forward", "settled")
    settled_config = plugins.make_config("fast-forward", "settled", {})
    options = {
        "memo": _built(plugins, "memo-backend", "memory"), "dynamics": b"trial",
        "make_policy": lambda info, policy: settled.build(settled_config, info, stream(number, "policy", policy)),
    }  # fmt: skip
    run, ends = scenario.make(plugins, WormholeSimulation, audit=1.0, **options)
    done = run.controller.stats
    run.controller.busy.sweep()
    if not (done.skips or done.tails or done.hits_of_skipped or run.controller.busy.lucky):
        return None
    packet, truth = scenario.make(plugins, Simulation)
    run.audit_share, tries = scenario.budget * packet.counters.events / run.counters.events, 1
    record = run.audit()
    while record["needed"] and tries < TRIES:
        run.audit_share, tries = record["needed"] / run.counters.events, tries + 1
        record = run.audit(again=True)
    error = (ends.last_ps - truth.last_ps) / truth.last_ps
    low, high = record["interval"] or (None, None)
    return {
        "trial": number, "pattern": scenario.pattern, "cca": scenario.congestion, "hosts": scenario.hosts,
        "size_bytes": scenario.size_bytes, "budget": scenario.budget, "error": error, "low": low, "high": high,
        "estimated": record["estimated"], "samples": record["samples"],
        "cpu_s": round(time.process_time() - started, 2),
        "tries": tries, "events": record["events"], "packet_events": packet.counters.events, "text": record["text"],
    }  # fmt: skip


def summary(rows: Sequence[dict[str, Any]]) -> bool:
    """Print the counts, per congestion control and in all; whether they meet the bounds."""
    good = True
    groups = [*sorted({r["cca"] for r in rows}), "all"]
    partly = sum(1 for r in rows if r["estimated"] and r["events"] < 0.9 * r["packet_events"])
    print(f"{partly} estimates took clearly fewer events than packet mode")
    print(f"{'':10} {'trials':>7} {'estimated':>10} {'covered':>8} {'median width':>13} {'RMS error':>10} {'ratio':>6}")
    for group in groups:
        mine = [r for r in rows if group in (r["cca"], "all")]
        given = [r for r in mine if r["estimated"]]
        covered = sum(r["low"] <= r["error"] <= r["high"] for r in given)
        width = median(r["high"] - r["low"] for r in given) if given else math.nan
        rms = math.sqrt(sum(r["error"] ** 2 for r in given) / max(1, len(given)))
        ratio = width / rms if rms else 0.0
        print(f"{group:10} {len(mine):7} {len(given):10} {covered:8} {width:13.4%} {rms:10.4%} {ratio:6.2f}")
        if group == "all":
            good = (
                len(given) >= ESTIMATED * len(mine) and covered >= COVERED * len(given) and width <= WIDTH_PER_RMS * rms
            )
    print("expected: at least 90 % estimated, 90 % of these covered, ratio at most 3:", "ok" if good else "MISSED")
    return good


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first scenario")
    parser.add_argument("--cca", choices=CONGESTIONS, help="this congestion control only")
    parser.add_argument("--json", help="append a line per trial to this file")
    parser.add_argument("--read", help="sum up such a file and run nothing")
    args = parser.parse_args()
    if args.read:
        rows = [json.loads(line) for line in Path(args.read).read_text().splitlines()]
        return 0 if summary(rows) else 1
    plugins = load()
    rows, number = [], args.first
    while len(rows) < args.trials:
        row = trial(plugins, number, args.cca)
        number += 1
        if row is None:
            continue
        rows.append(row)
        if args.json:
            with open(args.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    print(f"scenarios {args.first} to {number - 1}, {sum(r['cpu_s'] for r in rows):.0f} s CPU")
    return 0 if summary(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
