"""Lines of the table of `bench_wormhole.py`: what was measured, what is required, whether it is met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wormhole_cases import Case
from wormhole_measure import SHORT, Accelerated, Bench, cpu_s, errors, per_hop_s, worse

US_PER_FLOW = 60.0
"""A remembered flow may cost so much."""


@dataclass
class Line:
    """A line of the table. ok: None where nothing is required."""

    row: str
    what: str
    measured: str
    expected: str = ""
    ok: bool | None = None
    values: Mapping[str, Any] | None = None


def percent(value: float) -> str:
    """Of an error."""
    return f"{100 * value:.3f} %"


def told(found: Mapping[str, float], names: Mapping[str, float] | None = None) -> str:
    """Errors in words: those named, or all."""
    return ", ".join(f"{SHORT[name]} {percent(found[name])}" for name in (names or SHORT))


def bounded(row: str, found: Mapping[str, float], bounds: Mapping[str, float], what: str = "error") -> Line:
    """A line that passes if every error is under its bound."""
    expected = ", ".join(f"{SHORT[name]} < {100 * bound:g} %" for name, bound in bounds.items())
    ok = all(found[name] < bound for name, bound in bounds.items())
    return Line(row, what, told(found, bounds), expected, ok, dict(found))


def at_least(row: str, what: str, value: float, bound: float, values: Mapping[str, Any], unit: str = "x") -> Line:
    """A line that passes from `bound` on."""
    return Line(row, what, f"{value:,.2f} {unit}", f">= {bound:g} {unit}", value >= bound, values)


def at_most(row: str, what: str, value: float, bound: float, values: Mapping[str, Any], unit: str) -> Line:
    """A line that passes up to `bound`."""
    return Line(row, what, f"{value:,.2f} {unit}", f"<= {bound:g} {unit}", value <= bound, values)


def skipped(row: str, why: str) -> list[Line]:
    """A row that cannot be measured here."""
    return [Line(row, "", f"skipped: {why}")]


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
