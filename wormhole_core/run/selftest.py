"""Is this installation as true as the reference? Runs scenarios whose completion times are known.

The reference is an independently built C++ simulator of RDMA networks; `selftest_data.json` carries
its completion times in ns (`[value, n]` stands for n equal ones), `selftest_scenarios.py` the
scenarios, `selftest_bounds.py` how close a row must come. Networks and congestion control come from
the presets `reference:LABEL` of the installed algorithms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, cast

import attrs

from ..contracts.observer import Observer
from ..contracts.result import FlowRecord
from ..rng import stream
from ..sim.config import NetworkConfig
from ..sim.simulation import Simulation
from .build import find_preset
from .experiment import Origin
from .selftest_bounds import PAUSE_COUNT, SEEDS, Bound, bound_of
from .selftest_scenarios import scenario
from .wording import counted
from .workload_flows import FlowRecord as FlowLine
from .workload_flows import FlowsWorkload

SEED_COUNT = 10
"""Runs averaged where marking is random; with five, luck moves the last end of eight flows by 0.5 %."""
SHORT = (
    ("s1_single_1KB", "hpcc"), ("s1_single_1MB", "nocc_win"), ("s1_single_10MB", "dcqcn"), ("s1_single_10MB", "hpcc"),
    ("s5_ring8_10MB", "hpcc"), ("d3_alltoall8_100KB_x5", "hpcc"),
    ("d3_alltoall8_100KB_x5", "dcqcn_step"), ("d1_ringallreduce8_10MB", "hpcc"), ("s6_alltoall8_1MB", "hpcc"),
    ("s7_leafspine16_ring_10MB", "dctcp"),
    ("s2_incast4_1MB", "hpcc"), ("s2_incast4_1MB", "timely"), ("s2_incast4_1MB", "dcqcn"),
    ("s2_incast4_1MB", "dcqcn_step"),
    ("s2_incast8_1MB", "hpcc_perrtt"), ("s2_incast8_1MB", "nocc_buf2"), ("s2_incast8_1MB", "dcqcn_step_buf2"),
    ("s2_incast16_1MB", "dctcp"), ("s2_incast8_1MB", "timely_vwin"), ("s2_incast16_1MB", "dcqcn_paper_step"),
    ("s2_incast2_1MB", "timely_buf2"), ("s3_staggered4_10MB", "dcqcn_step"), ("s3_staggered4_10MB", "dctcp"),
)  # fmt: skip
"""Rows of the default self-test and of every test run: each kind of scenario, label and bound once."""


@attrs.frozen(kw_only=True)
class Row:
    """What the reference says of one scenario and label; times in ns, flows by id.

    seeds_mean_ns, seeds_last_ns: instead of fct_ns where marking is random, one entry per seed."""

    scenario: str
    label: str
    fct_ns: tuple[int, ...] = ()
    pauses: int = 0
    seeds_mean_ns: tuple[int, ...] = ()
    seeds_last_ns: tuple[int, ...] = ()

    @property
    def bound(self) -> Bound:
        """How close a run must come."""
        return SEEDS if self.seeds_mean_ns else bound_of(self.scenario, self.label)


@attrs.frozen(kw_only=True)
class Run:
    """One simulated run: completion times by flow id, in ps; counters; ports still paused at its end."""

    fct_ps: tuple[int, ...]
    rx_last_byte_ps: tuple[int, ...]
    pauses: int
    marks: int
    drops: int
    frame_hops: int
    max_queue_bytes: int
    still_paused: int
    pause_log: tuple[tuple[int, int, bool], ...]
    """(time_ps, node that was paused or resumed, paused)"""


@attrs.frozen(kw_only=True)
class Verdict:
    """A row, what was measured in words, and what is wrong (nothing if it passed)."""

    row: Row
    measured: str
    faults: tuple[str, ...]
    equal_flows: int

    @property
    def passed(self) -> bool:
        """Whether the row is within its bound."""
        return not self.faults


class _Recorder(Observer):
    def __init__(self) -> None:
        self.records: list[FlowRecord] = []
        self.pauses: list[tuple[int, int, bool]] = []

    def flow_finished(self, record: FlowRecord) -> None:
        self.records.append(record)

    def port_paused(self, now_ps: int, node: int, link_index: int, paused: bool) -> None:
        self.pauses.append((now_ps, node, paused))


def rows() -> list[Row]:
    """All rows shipped with the package."""
    text = files(__package__).joinpath("selftest_data.json").read_text(encoding="utf-8")
    return [Row(**{key: _expand(value) for key, value in entry.items()}) for entry in json.loads(text)]


def _expand(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return tuple(v for item in value for v in ([item[0]] * item[1] if isinstance(item, list) else [item]))


def short_rows() -> list[Row]:
    """The rows of the default self-test, in its order."""
    known = {(row.scenario, row.label): row for row in rows()}
    return [known[name] for name in SHORT]


def simulate_row(plugins: Any, name: str, label: str, *, seed: int = 1, model: str = "event") -> Run:
    """Run one scenario under `reference:LABEL`. Raises ConfigError if no algorithm offers the preset."""
    cca_name, preset = find_preset(plugins, f"reference:{label}", Origin(text="selftest"))
    cca = plugins.registry.get("cca", cca_name)
    config = plugins.make_config("cca", cca_name, dict(preset["cca"]))
    routing = plugins.registry.get("routing", "ecmp")
    graph, flows = scenario(name)
    recorder = _Recorder()
    simulation = Simulation(
        graph,
        NetworkConfig(**preset["network"]),
        make_cca=lambda flow, rng: cca.build(config, flow, rng),
        workload=FlowsWorkload(cast("list[FlowLine]", flows)),
        routing=routing.build(plugins.make_config("routing", "ecmp", {}), stream(seed, "routing")),
        seed=seed,
        model=model,
        observers=[recorder],
    )
    while not simulation.advance():
        pass
    records = sorted(recorder.records, key=lambda record: record.id)
    counters = simulation.counters
    switches = {node for node, data in graph.nodes(data=True) if data["kind"] == "switch"}
    return Run(
        fct_ps=tuple(record.fct_ps for record in records),
        rx_last_byte_ps=tuple(record.rx_last_byte_ps for record in records),
        pauses=counters.pauses, marks=counters.marks, drops=counters.drops, frame_hops=counters.frame_hops,
        max_queue_bytes=max(p.max_queue_bytes for p in simulation.link_records() if p.node in switches),
        still_paused=_unresumed(recorder.pauses), pause_log=tuple(recorder.pauses),
    )  # fmt: skip


def _unresumed(log: Sequence[tuple[int, int, bool]]) -> int:
    return sum(1 if paused else -1 for _, _, paused in log)


def judge(row: Row, runs: Sequence[Run]) -> Verdict:
    """Compare runs (one, or one per seed) with a row."""
    faults = []
    if any(run.drops for run in runs):
        faults.append(f"{sum(run.drops for run in runs)} frames dropped, expected none")
    if row.seeds_mean_ns:
        measured = _judge_seeds(row, runs, faults)
        return Verdict(row=row, measured=measured, faults=tuple(faults), equal_flows=0)
    run = runs[0]
    ours, theirs = [value / 1000 for value in run.fct_ps], row.fct_ns
    equal = sum(a == b for a, b in zip(ours, theirs, strict=True))
    bound = row.bound
    found = {
        "mean": sum(ours) / sum(theirs) - 1,
        "last": max(ours) / max(theirs) - 1,
        "sorted": max(abs(a / b - 1) for a, b in zip(sorted(ours), sorted(theirs), strict=True)),
    }
    if bound.exact and equal < len(theirs):
        faults.append(f"{len(theirs) - equal} of {counted(len(theirs), 'flow')} not equal")
    for name, value in found.items():
        limit = getattr(bound, name)
        if limit is not None and abs(value) > limit:
            faults.append(f"{name} {value:+.3%} is beyond {limit:.2%}")
    measured = (
        f"{equal}/{len(theirs)} equal"
        if equal == len(theirs)
        else ", ".join([f"{equal}/{len(theirs)} equal", *(f"{name} {value:+.3%}" for name, value in found.items())])
    )
    if row.pauses or run.pauses:
        measured += f", {run.pauses} pauses of {row.pauses}"
        if abs(run.pauses - row.pauses) > PAUSE_COUNT * row.pauses:
            faults.append(f"{run.pauses} pauses, expected {row.pauses} within {PAUSE_COUNT:.0%}")
        if run.still_paused:
            faults.append(f"{run.still_paused} pauses were not followed by a resume")
    return Verdict(row=row, measured=measured, faults=tuple(faults), equal_flows=equal)


def _judge_seeds(row: Row, runs: Sequence[Run], faults: list[str]) -> str:
    parts = []
    for name, values, theirs, slack in (
        ("mean", [sum(run.fct_ps) / len(run.fct_ps) for run in runs], row.seeds_mean_ns, row.bound.mean or 0.0),
        ("last", [max(run.fct_ps) for run in runs], row.seeds_last_ns, row.bound.last or 0.0),
    ):
        average = sum(values) / len(values) / 1000
        low, high = min(theirs) * (1 - slack), max(theirs) * (1 + slack)
        parts.append(f"{name} {average / 1000:.1f} us in {low / 1000:.1f} to {high / 1000:.1f}")
        if not low <= average <= high:
            faults.append(f"{name} {average / 1000:.1f} us is outside {low / 1000:.1f} to {high / 1000:.1f} us")
    return ", ".join(parts)


def check_row(plugins: Any, row: Row, model: str = "event") -> Verdict:
    """Simulate a row (SEED_COUNT seeds where marking is random) and judge it."""
    seeds = range(1, SEED_COUNT + 1) if row.seeds_mean_ns else (1,)
    return judge(row, [simulate_row(plugins, row.scenario, row.label, seed=seed, model=model) for seed in seeds])


def selftest(plugins: Any, long: bool = False) -> Iterator[Verdict]:
    """Verdicts as they come: the short list, or every row."""
    for row in rows() if long else short_rows():
        yield check_row(plugins, row)
