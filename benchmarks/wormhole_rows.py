"""The rows of `bench_wormhole.py`: what is run, what is compared, what is required.

A row is a function of the bench that returns lines of the table. Bounds stand where they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import attrs
from wormhole_cases import DCQCN, G13B, GB, HPCC_50, MB, REFERENCE, all_to_all, hpcc, incast, rails, ring
from wormhole_lines import (
    US_PER_FLOW,
    Line,
    against,
    at_least,
    at_most,
    bounded,
    computed_packet_s,
    skipped,
    speeds,
    told,
    with_packet,
)
from wormhole_measure import Bench, cpu_s, errors
from wormhole_training import row_g13b, row_w1, row_w1_reference, row_w3_dcqcn, row_w3_hpcc

from wormhole_core.api import Result

FLAT = 1.25
"""Cost per flow with 1024 hosts over that with 128, for equally many flows: more is not flat."""
RINGS = 64
CHECKED_STEPS = 4
"""Of the 30 steps of 100 MB; all with --long (a quarter of an hour)."""


@dataclass(frozen=True)
class Row:
    """measure: lines of the table. seconds: about how long it takes, (quick, full)."""

    name: str
    measure: Callable[[Bench], Iterable[Line]]
    seconds: tuple[float, float]
    needs: Path | None = None


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


def timings(result: Result, stride: int) -> dict[tuple[int, int | None], list[tuple[int, ...]]]:
    """(place in the ring, step) -> (start, FCT, receiver's last byte) of each ring."""
    found: dict[tuple[int, int | None], list[tuple[int, ...]]] = {}
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
    end_ps = max(f.start_ps + f.fct_ps for f in check.cold.flows if (f.step or 0) < CHECKED_STEPS)
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
    """Cost of a remembered flow with 128, 512, 1024 hosts, the same number of flows each."""
    cost = {}
    for hosts in (128, 512, 1024):
        times = 1024 // hosts
        runs = bench.accelerated(rails(hosts // 8, 8, 16, MB, f"rails of {hosts} hosts, {times} times", times))
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


ROWS = (
    Row("incast", row_incast, (20, 20)),
    Row("ring", row_ring, (20, 20)),
    Row("all-to-all", row_all_to_all, (12, 12)),
    Row("rings", row_rings, (10, 10)),
    Row("ring-1gb", row_gigabytes, (25, 100)),
    Row("w1", row_w1, (10, 110), REFERENCE),
    Row("w3-hpcc", row_w3_hpcc, (0, 400), REFERENCE),
    Row("w3-dcqcn", row_w3_dcqcn, (0, 400), REFERENCE),
    Row("incast-50", row_hpcc_50, (45, 45)),
    Row("incast-dcqcn", row_dcqcn, (45, 45)),
    Row("flat", row_flat, (30, 30)),
    Row("g13b", row_g13b, (15, 15), G13B),
    Row("w1-packet", row_w1_reference, (0, 100), REFERENCE),
)
"""In the order of the table. A row with 0 s is not in --quick."""


def lines_of(row: Row, bench: Bench) -> Iterable[Line]:
    """Measure a row, or say why not."""
    if row.needs is not None and not row.needs.exists():
        return skipped(row.name, "its files are not beside the checkout (../shared)")
    if bench.quick and not row.seconds[0]:
        return skipped(row.name, "takes minutes, not in --quick")
    return row.measure(bench)
