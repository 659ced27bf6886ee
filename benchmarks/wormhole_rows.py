"""The rows of `bench_wormhole.py`: what is run, what is compared, what is required.

A row is a function of the bench that returns lines of the table. Bounds stand where they are used.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import attrs
from wormhole_cases import (
    DCQCN,
    G13B,
    GB,
    HPCC_50,
    MB,
    REFERENCE,
    SPECTRUM_X,
    W1,
    W3,
    Case,
    all_to_all,
    hpcc,
    incast,
    rails,
    reference,
    ring,
)
from wormhole_measure import (
    Accelerated,
    Bench,
    Line,
    at_least,
    at_most,
    bounded,
    cpu_s,
    errors,
    per_hop_s,
    skipped,
    told,
    worse,
)

from wormhole_core.api import Result

US_PER_FLOW = 60.0
FLAT = 1.25
"""Cost per flow with 1024 hosts over that with 128: more is not flat."""
RINGS = 64
CHECKED_STEPS = 4
"""Of the 30 steps of 100 MB; all with --long (a quarter of an hour)."""
MEMORY_BYTES, G13B_WALL_S, G13B_STORE_BYTES = 2 * 10**9, 60.0, 100_000


@dataclass(frozen=True)
class Row:
    """measure: lines of the table. seconds: about how long it takes, (quick, full)."""

    name: str
    measure: Callable[[Bench], list[Line]]
    seconds: tuple[float, float]
    needs: Path | None = None


# --- pieces ---


def speeds(row: str, packet_s: float, runs: Accelerated, cold: float, warm: float | None) -> list[Line]:
    """Speed-up of cold and warm runs, and warm cost per flow where that is what is asked for (warm None)."""
    values = {"packet_s": packet_s, "cold_s": runs.cold_all_s, "warm_s": runs.warm_all_s, "flows": runs.flows}
    lines = [at_least(row, "speed-up cold", packet_s / runs.cold_s, cold, values)]
    if warm is None:
        lines.append(at_most(row, "warm, CPU per flow", runs.warm_us_per_flow, US_PER_FLOW, values, "us"))
    else:
        lines.append(at_least(row, "speed-up warm", packet_s / runs.warm_s, warm, values))
    lines.append(
        Line(
            row,
            "CPU of packet, cold, warm",
            f"{packet_s:,.2f} s, {runs.cold_s * 1e3:,.1f} ms, {runs.warm_s * 1e3:,.2f} ms",
            values=values,
        )
    )
    lines.append(Line(row, "acceleration", runs.statistics()))
    return lines


def against(
    row: str, bench: Bench, case: Case, runs: Accelerated, bounds: Mapping[str, float], floor: bool = False
) -> list[Line]:
    """Errors against packet mode, the worse of cold and warm; those of fluid mode; the noise floor."""
    packet = bench.packet(case)
    found = worse(errors(packet, runs.cold), errors(packet, runs.warm))
    lines = [bounded(row, found, bounds), Line(row, "    all errors", told(found), values=found)]
    if floor:
        noise = bench.floor(case)
        lines.append(Line(row, "    noise floor", told(noise), values=noise))
    fluid = errors(packet, bench.fluid(case))
    lines.append(Line(row, "    fluid", told(fluid), values=fluid))
    return lines


def with_packet(
    row: str, bench: Bench, case: Case, cold: float, warm: float | None, bounds: Mapping[str, float]
) -> list[Line]:
    """A row whose packet side is run."""
    runs = bench.accelerated(case, beside_packet=True)
    packet = bench.packet(case)
    return speeds(row, cpu_s(packet), runs, cold, warm) + against(row, bench, case, runs, bounds)


def computed_packet_s(row: str, bench: Bench, probe: Case, runs: Accelerated) -> tuple[float, list[Line]]:
    """CPU seconds that packet mode would take: frame-hops x cost per hop of a smaller case; both shown."""
    measured = bench.packet(probe)
    hops = int(runs.cold.summary["cost"]["frame_hops_represented"])
    per_hop = per_hop_s(measured)
    line = Line(
        row,
        "packet side, computed",
        f"{hops:,} frame-hops x {per_hop * 1e6:.3f} us = {hops * per_hop:,.0f} s",
        values={"frame_hops": hops, "s_per_hop": per_hop, "probe": probe.name},
    )
    return hops * per_hop, [line]


# --- rows ---


def row_incast(bench: Bench) -> list[Line]:
    """Incast 8 x 100 MB."""
    return with_packet(
        "incast", bench, incast(hpcc(8)), 20, 500, {"sorted_fct_error.mean": 0.005, "sorted_fct_error.max": 0.01}
    )


def row_ring(bench: Bench) -> list[Line]:
    """Ring all-reduce of 8 hosts."""
    return with_packet("ring", bench, ring(8, 10 * MB, "ring 8 x 10 MB"), 40, None, {"fct_error.max": 0.001})


def row_all_to_all(bench: Bench) -> list[Line]:
    """All-to-all of 8 hosts."""
    return with_packet(
        "all-to-all", bench, all_to_all(), 7, 250, {"sorted_fct_error.mean": 0.01, "sorted_fct_error.max": 0.025}
    )


def row_rings(bench: Bench) -> list[Line]:
    """64 rings on disjoint ports against one."""
    name = "64 rings"
    one_case, many_case = (rails(8, gpus, 8, 10 * MB, f"{gpus} rings of 8 x 10 MB") for gpus in (1, RINGS))
    one, many = bench.accelerated(one_case), bench.accelerated(many_case)
    followers = many.flows - one.flows
    values = {"one_s": one.cold_all_s, "all_s": many.cold_all_s, "follower_flows": followers}
    per_flow_us = (many.cold_s - one.cold_s) * 1e6 / followers
    lines = [
        at_most(name, "CPU beyond one ring, per follower flow", per_flow_us, US_PER_FLOW, values, "us"),
        Line(name, "CPU of one, of all", f"{one.cold_s * 1e3:,.1f} ms, {many.cold_s * 1e3:,.1f} ms", values=values),
    ]
    truth = timings(one.cold, 1)
    for label, result in (("cold", many.cold), ("warm", many.warm)):
        got = timings(result, RINGS)
        same = sum(entry == truth[place][0] for place, entries in got.items() for entry in entries)
        lines.append(
            Line(
                name,
                f"flows equal to the bit, {label}",
                f"{same:,} of {len(result.flows):,}",
                "all",
                same == len(result.flows) == RINGS * one.flows,
            )
        )
    lines.append(Line(name, "acceleration", many.statistics()))
    return lines


def timings(result: Result, stride: int) -> dict[tuple[int, int], list[tuple[int, ...]]]:
    """(place in the ring, step) -> (start, FCT, receiver's last byte) of each ring."""
    found: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for flow in result.flows:
        entry = flow.start_ps, flow.fct_ps, flow.rx_last_byte_ps
        found.setdefault((flow.src // stride, flow.step), []).append(entry)
    return found


def row_gigabytes(bench: Bench) -> list[Line]:
    """1 GB per step, 16 hosts, 30 steps."""
    name = "ring 1 GB"
    runs = bench.accelerated(ring(16, GB, "ring 16 x 1 GB"))
    probe = ring(16, MB, "ring 16 x 1 MB")
    packet_s, lines = computed_packet_s(name, bench, probe, runs)
    lines = speeds(name, packet_s, runs, 744, None) + lines
    if bench.quick:
        return [*lines, Line(name, "error at 100 MB", "skipped: takes minutes, not in --quick")]
    case, bounds = ring(16, 100 * MB, "ring 16 x 100 MB"), {"fct_error.max": 0.005}
    check = bench.accelerated(case, 1)
    if bench.long:
        return lines + against(name, bench, case, check, bounds)
    end_ps = max(f.start_ps + f.fct_ps for f in check.cold.flows if f.step < CHECKED_STEPS)
    packet = bench.beginning(case, end_ps + (end_ps - check.cold.flows[0].start_ps) // 100)
    lines.append(
        bounded(
            name, errors(packet, finished(check.cold, packet)), bounds, f"error at 100 MB, first {CHECKED_STEPS} steps"
        )
    )
    fluid = errors(packet, finished(bench.fluid(case), packet))
    return [*lines, Line(name, "    fluid", told(fluid), values=fluid)]


def finished(result: Result, other: Result) -> Result:
    """Of a result the flows that the other has."""
    known = {flow.id for flow in other.flows}
    return attrs.evolve(result, flows=[flow for flow in result.flows if flow.id in known])


def row_w1(bench: Bench) -> list[Line]:
    """Data-parallel rings of GPT-13B on 128 GPUs, of the reference."""
    case = reference(W1, "hpcc")
    runs = bench.accelerated(case)
    if bench.quick:
        packet_s, lines = computed_packet_s("w1", bench, ring(16, MB, "ring 16 x 1 MB"), runs)
        return (
            speeds("w1", packet_s, runs, 60, None)
            + lines
            + [
                Line("w1", "error", "skipped: takes minutes, not in --quick"),
            ]
        )
    lines = speeds("w1", cpu_s(bench.packet(case)), runs, 60, None)
    return lines + against("w1", bench, case, runs, {"mean_fct_error": 0.005, "makespan_error": 0.005})


def row_w1_reference(bench: Bench) -> list[Line]:
    """Packet mode on w1 against the reference."""
    lines = []
    for cca in ("hpcc", "dcqcn"):
        result = bench.packet(reference(W1, cca))
        with open(REFERENCE / W1 / f"fct_{cca}.csv", encoding="utf-8") as file:
            truth = {int(r["flow_id"]): (int(r["begin_ns"]), int(r["fct_ns"])) for r in csv.DictReader(file)}
        flows = {int(flow.id): flow for flow in result.flows}
        mean = sum(f.fct_ps for f in flows.values()) / (1000 * sum(fct for _, fct in truth.values())) - 1
        end = max(f.start_ps + f.fct_ps for f in flows.values()) / (1000 * max(map(sum, truth.values()))) - 1
        equal = sum(flows[i].fct_ps == 1000 * fct for i, (_, fct) in truth.items())
        ok = flows.keys() == truth.keys() and max(abs(mean), abs(end)) < 0.005
        lines.append(
            Line(
                "w1 packet",
                f"{cca} against the reference",
                f"mean FCT {100 * mean:+.4f} %, makespan {100 * end:+.4f} %, {equal:,} of {len(truth):,} flows equal",
                "mean FCT, makespan within 0.5 %",
                ok,
                {"mean_fct": mean, "makespan": end, "equal": equal},
            )
        )
    return lines


def row_w3(bench: Bench) -> list[Line]:
    """Pipeline and data parallelism that overlap: little repeats, nothing settles."""
    lines = []
    for cca in ("hpcc", "dcqcn"):
        name, case = f"w3 {cca}", reference(W3, cca)
        packet = bench.packet(case)
        runs = bench.accelerated(case, 1)
        ratio = runs.cold_s / cpu_s(packet)
        values = {"packet_s": cpu_s(packet), "cold_s": runs.cold_all_s, "warm_s": runs.warm_all_s}
        lines.append(at_most(name, "CPU over packet, cold", ratio, 1.2, values, "x"))
        lines.append(
            Line(
                name,
                "CPU of packet, cold, warm",
                f"{cpu_s(packet):,.1f} s, {runs.cold_s:,.1f} s, {runs.warm_s:,.1f} s",
                values=values,
            )
        )
        lines.append(Line(name, "acceleration", runs.statistics()))
        bounds = {"makespan_error": 0.02, "sorted_fct_error.mean": 0.02}
        lines += against(name, bench, case, runs, bounds, floor=True)
        if cca == "dcqcn":
            found = errors(packet, runs.cold)
            fluid = errors(packet, bench.fluid(case))
            closer = {m: fluid[m] / found[m] if found[m] else float("inf") for m in bounds}
            lines.append(
                Line(
                    name,
                    "closer than fluid",
                    ", ".join(f"{m.split('.')[0]} {v:.1f} x" for m, v in closer.items()),
                    "each >= 5 x",
                    min(closer.values()) >= 5,
                    closer,
                )
            )
    return lines


def row_wandering(bench: Bench, cca: dict[str, Any], name: str, cold: float) -> list[Line]:
    """An incast whose shares wander."""
    case = incast(cca, name)
    runs = bench.accelerated(case, beside_packet=True)
    packet = bench.packet(case)
    values = {"packet_s": cpu_s(packet), "cold_s": runs.cold_all_s}
    lines = [at_least(name, "speed-up cold", cpu_s(packet) / runs.cold_s, cold, values)]
    policies = runs.cold.summary["cost"]["trust"]["policies"]
    lines.append(
        Line(
            name,
            "policy chosen, CPU of packet, cold",
            f"{', '.join(policies) or 'none'}; {cpu_s(packet):.2f} s, {runs.cold_s:.2f} s",
            values=values,
        )
    )
    lines.append(Line(name, "acceleration", runs.statistics()))
    bounds = {"mean_fct_error": 0.03, "makespan_error": 0.03}
    return lines + against(name, bench, case, runs, bounds, floor=True)


def row_hpcc_50(bench: Bench) -> list[Line]:
    """Incast with the customary 50 Mb/s."""
    return row_wandering(bench, HPCC_50, "incast 50 Mb/s", 4)


def row_dcqcn(bench: Bench) -> list[Line]:
    """Incast with DCQCN."""
    return row_wandering(bench, DCQCN, "incast DCQCN", 3)


def row_flat(bench: Bench) -> list[Line]:
    """Cost of a remembered flow with 128, 512, 1024 hosts."""
    cost = {}
    for hosts in (128, 512, 1024):
        runs = bench.accelerated(rails(hosts // 8, 8, 16, MB, f"rails of {hosts} hosts"))
        cost[hosts] = runs.warm_us_per_flow, {"warm_s": runs.warm_all_s, "flows": runs.flows}
    lines = [
        at_most("flat", f"warm, CPU per flow, {hosts} hosts", us, US_PER_FLOW, values, "us")
        for hosts, (us, values) in cost.items()
    ]
    growth = cost[1024][0] / cost[128][0]
    lines.append(
        Line("flat", "1024 hosts over 128", f"{growth:.2f} x", f"<= {FLAT:g} x", growth <= FLAT, {"growth": growth})
    )
    return lines


def row_g13b(bench: Bench) -> list[Line]:
    """The data-parallel collectives of a SimAI workload at full volume, by the command line."""
    out, store = bench.folder / "g13b", bench.folder / "g13b.sqlite"
    command = [
        sys.executable,
        "-m",
        "wormhole_core",
        "run",
        "--topology",
        str(SPECTRUM_X),
        "--simai",
        str(G13B),
        "--set",
        "workload.columns=wg",
        "--memo",
        str(store),
        "--out",
        str(out),
        "--quiet",
    ]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        return [Line("G13B", "the run failed", done.stderr.strip().splitlines()[-1] if done.stderr else "", "", False)]
    total_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    summary = json.loads((out / "result.json").read_text(encoding="utf-8"))
    with open(out / "flows.csv", encoding="utf-8") as file:
        sizes = [int(row["bytes"]) for row in csv.DictReader(file)]
    cost = summary["cost"]
    held = sum(p.stat().st_size for p in bench.folder.glob("g13b.sqlite*"))
    values = {"wall_s": wall, "process_cpu_s": total_s, "store_bytes": held, "cost": cost}
    peak = cost["peak_memory_bytes"]
    return [
        Line(
            "G13B",
            "flows",
            f"{len(sizes):,} of {min(sizes) / MB:,.0f} to {max(sizes) / MB:,.0f} MB",
            "1,920 of 406 MB",
            len(sizes) == 1920 and {round(s / MB) for s in sizes} == {406},
        ),
        Line(
            "G13B",
            "whole process",
            f"{wall:.1f} s, CPU {total_s:.1f} s, run phase {cost['cpu_s']:.1f} s",
            "under 60 s",
            wall < G13B_WALL_S,
            values,
        ),
        Line("G13B", "peak memory", f"{peak / MB:,.0f} MB", "under 2,000 MB", peak < MEMORY_BYTES),
        Line(
            "G13B",
            "cost.frame_hops_represented",
            f"{cost['frame_hops_represented']:,}",
            "greater than frame_hops",
            cost["frame_hops_represented"] > cost["frame_hops"],
        ),
        Line("G13B", "cost.frame_hops", f"{cost['frame_hops']:,}"),
        Line(
            "G13B",
            "memo store",
            f"{held:,} B on disk, {cost['acceleration']['memo_bytes']:,} B of recordings",
            "under 100,000 B",
            held < G13B_STORE_BYTES,
        ),
    ]


ROWS = (
    Row("incast", row_incast, (20, 20)),
    Row("ring", row_ring, (20, 20)),
    Row("all-to-all", row_all_to_all, (12, 12)),
    Row("rings", row_rings, (10, 10)),
    Row("ring-1gb", row_gigabytes, (25, 550)),
    Row("w1", row_w1, (10, 110), REFERENCE),
    Row("w3", row_w3, (0, 1100), REFERENCE),
    Row("incast-50", row_hpcc_50, (45, 45)),
    Row("incast-dcqcn", row_dcqcn, (45, 45)),
    Row("flat", row_flat, (30, 30)),
    Row("g13b", row_g13b, (15, 15), G13B),
    Row("w1-packet", row_w1_reference, (0, 100), REFERENCE),
)
"""In the order of the table. A row with 0 s is not in --quick."""


def lines_of(row: Row, bench: Bench) -> list[Line]:
    """Measure a row, or say why not."""
    if row.needs is not None and not row.needs.exists():
        return skipped(row.name, "its files are not beside the checkout (../shared)")
    if bench.quick and not row.seconds[0]:
        return skipped(row.name, "takes minutes, not in --quick")
    return row.measure(bench)
