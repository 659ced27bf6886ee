"""Rows of `bench_wormhole.py` on files beside the checkout: training scenarios of the reference, and a
SimAI workload at full volume."""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from wormhole_cases import G13B, MB, REFERENCE, SPECTRUM_X, W1, W3, reference, ring
from wormhole_lines import Line, against, at_most, bounded, computed_packet_s, speeds, told
from wormhole_measure import SHORT, Bench, cpu_s, did, errors

MEMORY_BYTES, G13B_WALL_S, G13B_STORE_BYTES = 2 * 10**9, 60.0, 100_000


def row_w1(bench: Bench) -> list[Line]:
    """Data-parallel rings of GPT-13B on 128 GPUs, of the reference."""
    case = reference(W1, "hpcc")
    runs = bench.accelerated(case)
    if bench.quick:
        # Under the same preset: its order within an instant makes every hop of packet mode dearer.
        probe = replace(ring(16, MB, "ring 16 x 1 MB, preset"), preset=case.preset)
        packet_s, lines = computed_packet_s("w1", bench, probe, runs)
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


def row_w3(bench: Bench, cca: str) -> Iterator[Line]:
    """Pipeline and data parallelism that overlap: little repeats, nothing settles. Lines as they come."""
    name, case = f"w3 {cca}", reference(W3, cca)
    packet, cold = bench.packet(case), bench.cold(case)
    values = {"packet_s": cpu_s(packet), "cold_s": cpu_s(cold)}
    yield at_most(name, "CPU over packet, cold", cpu_s(cold) / cpu_s(packet), 1.2, values, "x")
    yield Line(name, "CPU of packet, cold", f"{cpu_s(packet):,.1f} s, {cpu_s(cold):,.1f} s", values=values)
    yield Line(name, "acceleration", did("cold", cold))
    bounds = {"makespan_error": 0.02, "sorted_fct_error.mean": 0.02}
    found, fluid = errors(packet, cold), errors(packet, bench.fluid(case))
    yield bounded(name, found, bounds)
    yield Line(name, "    all errors", told(found), values=found)
    yield Line(name, "    fluid", told(fluid), values=fluid)
    if cca == "dcqcn":
        closer = {SHORT[m]: fluid[m] / found[m] if found[m] else float("inf") for m in bounds}
        shown = ", ".join(f"{what} {times:.1f} x" for what, times in closer.items())
        yield Line(name, "closer than fluid", shown, "each >= 5 x", min(closer.values()) >= 5, closer)
    noise = bench.floor(case)
    yield Line(name, "    noise floor", told(noise), values=noise)


def row_w3_hpcc(bench: Bench) -> Iterator[Line]:
    """With HPCC."""
    return row_w3(bench, "hpcc")


def row_w3_dcqcn(bench: Bench) -> Iterator[Line]:
    """With DCQCN."""
    return row_w3(bench, "dcqcn")


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
