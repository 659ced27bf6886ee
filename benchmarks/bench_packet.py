"""Speed and memory of the packet model, as ratios measured in one process.

    python benchmarks/bench_packet.py [--quick]

Prints expected and measured; exit code 1 if a bound is missed. CPU seconds, not wall time; what is
compared runs in turns, so that a slow moment of the machine hits both sides. `NOTES.md` says what was
tried to make it faster.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import simpy
from baseline_store import run_ring

from wormhole_core import Transfer, Workload, add_link, add_switch, new_graph, stream
from wormhole_core.api import load
from wormhole_core.sim.config import NetworkConfig
from wormhole_core.sim.simulation import Simulation

HOSTS = 16
RATE_BPS, DELAY_PS = 100_000_000_000, 1_000_000
YIELDS = 200_000
MIN_OF_TIMEOUT, MIN_OF_STORE, MAX_MEMORY_BYTES = 0.3, 6.0, 2 * 10**9
SAME_PEAK = 1.10
BENCH_CCA = Path(__file__).resolve().parents[1] / "plugins" / "cca" / "benchmarks" / "bench_cca.py"


class Ring(Workload):
    """One flow from each of the first `hosts` hosts to the next."""

    def __init__(self, hosts: int, size_bytes: int) -> None:
        self.hosts, self.size_bytes = hosts, size_bytes

    def advance(self, now_ps: int, done: Any) -> Any:
        """Everything at once."""
        n = self.hosts if not now_ps and not done else 0
        return [Transfer(id=i, src=i, dst=(i + 1) % n, size_bytes=self.size_bytes) for i in range(n)]


def simulation(
    plugins: Any, size_bytes: int, *, cca: str = "hpcc", model: str = "event", hosts: int = HOSTS
) -> Simulation:
    """The ring on one switch, with INT (if the algorithm uses it), ECN and PFC."""
    graph = new_graph(hosts)
    switch = add_switch(graph)
    for host in range(hosts):
        add_link(graph, host, switch, RATE_BPS, DELAY_PS)
    return make(plugins, graph, Ring(hosts, size_bytes), cca, model)


def make(plugins: Any, graph: Any, workload: Workload, cca: str = "hpcc", model: str = "event") -> Simulation:
    """A run with default options."""
    entry = plugins.registry.get("cca", cca)
    config = plugins.make_config("cca", cca, {})
    routing = plugins.registry.get("routing", "ecmp")
    return Simulation(
        graph, NetworkConfig(), make_cca=lambda flow, rng: entry.build(config, flow, rng), workload=workload,
        routing=routing.build(plugins.make_config("routing", "ecmp", {}), stream(1, "routing")), model=model,
    )  # fmt: skip


def cpu(action: Any) -> tuple[float, Any]:
    """(CPU seconds, result)."""
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def finish(run: Simulation) -> int:
    """Run to the end; frame-hops."""
    while not run.advance():
        pass
    return run.motion.frame_hops


def hop_rate(plugins: Any, size_bytes: int, **options: Any) -> float:
    """Frame-hops per CPU second, building aside."""
    run = simulation(plugins, size_bytes, **options)
    seconds, hops = cpu(lambda: finish(run))
    return hops / seconds


def timeout_rate() -> float:
    """Yields per CPU second of one SimPy generator."""
    env = simpy.Environment()

    def ticker() -> Any:
        for _ in range(YIELDS):
            yield env.timeout(1000)

    env.process(ticker())
    return YIELDS / cpu(env.run)[0]


def store_rate(plugins: Any, size_bytes: int) -> float:
    """Frame-hops per CPU second of one Store and process per port."""
    entry = plugins.registry.get("cca", "hpcc")
    config = plugins.make_config("cca", "hpcc", {})
    seconds, (hops, _) = cpu(lambda: run_ring(HOSTS, size_bytes, lambda flow: entry.build(config, flow, None)))
    return hops / seconds


def peak_bytes() -> int:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def in_child(*arguments: str) -> list[str]:
    """Words printed by this file in a fresh process: memory is measured there."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.split()


def child_memory(size_bytes: int) -> None:
    """Peak memory of a ring of four with flows of that size."""
    finish(simulation(load(), size_bytes, hosts=4))
    print(peak_bytes())


def child_fat_tree() -> None:
    """Build 10,000 hosts, run 16 flows; prints build seconds, run seconds, peak bytes, hosts."""
    plugins = load()
    config = plugins.make_config("topology", "fat-tree", {"hosts": 10_000, "tiers": 3})
    topology = plugins.registry.get("topology", "fat-tree")

    def build() -> Simulation:
        graph = topology.build(config, stream(1, "topology"))
        return make(plugins, graph, FarFlows(graph.graph["hosts"]))

    build_s, run = cpu(build)
    run_s, _ = cpu(lambda: finish(run))
    print(f"{build_s:.1f} {run_s:.1f} {peak_bytes()} {len(run.network.hosts)}")


class FarFlows(Workload):
    """Sixteen flows of 100 KB between distant hosts."""

    def __init__(self, hosts: tuple[int, ...]) -> None:
        self.hosts = hosts

    def advance(self, now_ps: int, done: Any) -> Any:
        """Everything at once."""
        if now_ps or done:
            return []
        n = len(self.hosts)
        return [
            Transfer(id=i, src=self.hosts[i * 17], dst=self.hosts[(i * 17 + n // 2) % n], size_bytes=100_000)
            for i in range(16)
        ]


class Report:
    """Prints lines; remembers what was missed."""

    def __init__(self) -> None:
        self.missed = 0

    def line(self, what: str, measured: str, expected: str = "", ok: bool = True) -> None:
        """One result."""
        self.missed += not ok
        print(f"{what:56} {measured:>14}   {expected}{'' if ok else '   MISSED'}", flush=True)


def speed(report: Report, plugins: Any, size_bytes: int, repeats: int) -> None:
    """The two bounds on speed, then the other model and the other algorithms."""
    hop_rate(plugins, size_bytes // 10)  # caches and the specialising interpreter warm up
    ours, timeouts, stores = [], [], []
    for _ in range(repeats):
        timeouts.append(timeout_rate())
        ours.append(hop_rate(plugins, size_bytes))
        stores.append(store_rate(plugins, size_bytes // 20))
    rate = median(ours)
    report.line("frame-hops per CPU second, event model, hpcc", f"{rate:,.0f}")
    report.line("SimPy: yields of timeout(1000) per CPU second", f"{median(timeouts):,.0f}")
    report.line("one Store and process per port: hops per CPU second", f"{median(stores):,.0f}")
    of_timeout = median(a / b for a, b in zip(ours, timeouts, strict=True))
    of_store = median(a / b for a, b in zip(ours, stores, strict=True))
    report.line(
        "event model / timeout", f"{of_timeout:.2f}", f"at least {MIN_OF_TIMEOUT}", of_timeout >= MIN_OF_TIMEOUT
    )
    report.line(
        "event model / Store and process", f"{of_store:.1f}", f"at least {MIN_OF_STORE}", of_store >= MIN_OF_STORE
    )
    process = hop_rate(plugins, size_bytes // 20, model="process")
    report.line("event model / process model", f"{rate / process:.1f}")
    for cca in plugins.registry.names("cca"):
        report.line(
            f"whole run with {cca} / with hpcc, time per hop",
            f"{rate / hop_rate(plugins, size_bytes // 4, cca=cca):.2f}",
        )


def memory(report: Report) -> None:
    """Large networks, long flows."""
    build_s, run_s, peak, hosts = in_child("--child-fat-tree")
    fits = int(peak) < MAX_MEMORY_BYTES and hosts == "10000"
    report.line("10,000 hosts on a 3-tier fat tree: build, CPU s", build_s)
    report.line("    16 flows of 100 KB across it, CPU s", run_s)
    report.line("    peak memory, MB", f"{int(peak) / 1e6:,.0f}", f"less than {MAX_MEMORY_BYTES / 1e6:,.0f}", fits)
    small, large = (int(in_child("--child-memory", size)[0]) for size in ("1000000", "10000000"))
    report.line(
        "peak memory, flows of 10 MB / of 1 MB",
        f"{large / small:.2f}",
        f"at most {SAME_PEAK}",
        large <= SAME_PEAK * small,
    )


def main() -> int:
    """Everything, or what a child process is asked for."""
    parser = argparse.ArgumentParser(description="Speed and memory of the packet model.")
    parser.add_argument("--quick", action="store_true", help="smaller flows, three repeats")
    parser.add_argument("--child-memory", type=int, metavar="BYTES", help=argparse.SUPPRESS)
    parser.add_argument("--child-fat-tree", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child_memory:
        child_memory(options.child_memory)
        return 0
    if options.child_fat_tree:
        child_fat_tree()
        return 0
    report = Report()
    size_bytes, repeats = (1_000_000, 3) if options.quick else (10_000_000, 5)
    speed(report, load(), size_bytes, repeats)
    memory(report)
    print("algorithms alone:", flush=True)
    if subprocess.run([sys.executable, str(BENCH_CCA)], check=False).returncode:
        report.line("cost of an algorithm per ACK / hpcc", "", "at most 1.5", False)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
