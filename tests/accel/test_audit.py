"""The audit: its chain, its budget, what it refuses, and whether it finds errors that are known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from wormhole_core import Compute, FastForwardPolicy, SkipPlan, Transfer, Workload
from wormhole_core.accel.busy import BusyPeriods, Causes, Timed
from wormhole_core.accel.estimate import Part, error_of, normal, outward
from wormhole_core.api import simulate
from wormhole_core.rng import stream

GBPS, US = 10**9, 10**6
SPEND_ANYTHING = 1000.0


# --- causes and chains ---


def member(number: int, src: int, dst: int, start_ps: int, end_ps: int, **more: Any) -> Any:
    """A finished flow as the auditor sees it."""
    transfer = Transfer(id=number, src=src, dst=dst, size_bytes=1000, **more)
    return SimpleNamespace(
        index=number, plan=SimpleNamespace(index=number, transfer=transfer), start_ps=start_ps, finished=True,
        source="simulated", rx_last_byte_ps=end_ps - start_ps - 1, fct_ps=end_ps - start_ps,
        partition=SimpleNamespace(recording=None),
    )  # fmt: skip


def periods(*partitions: list[Any], receiver: bool = False) -> BusyPeriods:
    busy = BusyPeriods(receiver)
    for members in partitions:
        busy.formed(members)
    busy.close()
    return busy


def chain_of(busy: BusyPeriods) -> list[list[int]]:
    last = max(busy.units, key=lambda u: u.end_ps)
    return [[f.index for f in link.unit.flights] for link in Causes(busy).chain(last)]


def test_the_chain_goes_back_over_what_ended_when_the_next_began():
    busy = periods(
        [member(0, 0, 1, 0, 10)], [member(1, 2, 3, 0, 25)], [member(2, 1, 4, 10, 30)], [member(3, 4, 5, 30, 50)]
    )
    assert chain_of(busy) == [[0], [2], [3]]


def test_a_pause_of_the_workload_is_part_of_the_chain():
    class Two(Workload):
        def advance(self, now_ps: int, done: Any) -> list[Any]:
            if not done:
                return [Transfer(id=0, src=0, dst=1, size_bytes=1)]
            if done[0] == 0:
                return [Compute(id="c", rank=0, duration_ps=7)]
            return [Transfer(id=1, src=0, dst=1, size_bytes=1)]

    busy = BusyPeriods(False)
    workload = Timed(Two(), busy)
    workload.advance(0, ())
    busy.formed([member(0, 0, 1, 0, 10)])
    workload.advance(10, (0,))
    workload.advance(17, ("c",))
    busy.formed([member(1, 0, 1, 17, 30)])
    busy.close()
    assert chain_of(busy) == [[0], [1]]


def test_what_starts_at_a_time_of_its_own_waits_for_nothing():
    busy = periods([member(0, 0, 1, 0, 10)], [member(1, 0, 1, 12, 30)])
    assert chain_of(busy) == [[1]]


def test_a_barrier_waits_for_all_and_a_dependence_for_its_rank_only():
    barrier, dependence = (Transfer(id=9, src=src, dst=9, size_bytes=1) for src in (7, 1))
    for item, waits in ((barrier, [0, 1]), (dependence, [1])):
        busy = BusyPeriods(False)
        flows = [member(0, 0, 3, 0, 10), member(1, 1, 3, 0, 20)]
        workload = Timed(Emits({10: [], 20: [item]}), busy)
        busy.formed(flows)
        workload._ends = {0: (0, 3), 1: (1, 3)}
        workload.advance(10, (0,))
        workload.advance(20, (1,))
        busy.formed([member(9, item.src, item.dst, 20, 40)])
        busy.close()
        found = Causes(busy).of(busy.units[-1].flights[0])
        assert [f.index for _, f in found] == waits


class Emits(Workload):
    """Items by time."""

    def __init__(self, items: dict[int, list[Any]]) -> None:
        self.items = items

    def advance(self, now_ps: int, done: Any) -> list[Any]:
        return self.items[now_ps]


def test_a_step_of_a_ring_waits_for_both_transfers_that_touch_its_rank():
    step0 = [member(i, i, (i + 1) % 3, 0, end, group="g", step=0) for i, end in enumerate((10, 12, 14))]
    busy = periods(step0, [member(3, 1, 2, 12, 30, group="g", step=1)])
    found = Causes(busy).of(busy.units[-1].flights[-1])
    assert sorted(f.index for _, f in found) == [0, 1]


def test_flows_that_join_make_one_busy_period():
    first, second = member(0, 0, 1, 0, 10), member(1, 2, 1, 5, 20)
    busy = BusyPeriods(False)
    busy.formed([first])
    busy.formed([first, second])
    busy.formed([member(2, 5, 6, 7, 9)])
    busy.close()
    assert [[f.index for f in unit.flights] for unit in busy.units] == [[0, 1], [2]]
    assert [unit.merged for unit in busy.units] == [True, False]


# --- drawing ---


def test_certain_parts_give_an_interval_as_narrow_as_what_is_printed():
    middle, low, high = error_of(1_010_000, 0, [[Part("a", [400_000.0], 2), Part("b", [200_000.0], 1)]], stream(1, "x"))
    assert middle == pytest.approx(0.01) and low <= 0.01 <= high and high - low <= 2.1e-6


def test_the_interval_of_a_sample_covers_the_next_draw():
    """Predictive coverage: 90 % of 150 further values of a normal law, from five samples each."""
    law, hits = stream(3, "law"), 0
    for case in range(150):
        samples = [1000 + 10 * normal(law) for _ in range(5)]
        _, low, high = error_of(1000, 0, [[Part("a", samples, 1)]], stream(case, "draws"))
        hits += low <= (1000 - (truth := 1000 + 10 * normal(law))) / truth <= high
    assert 125 <= hits <= 145


def test_the_last_of_several_chains_counts():
    one = [Part(("a", i), [1000.0, 1010.0, 990.0, 1005.0, 995.0], 1) for i in range(1)]
    many = [[Part(("a", i), [1000.0, 1010.0, 990.0, 1005.0, 995.0], 1)] for i in range(20)]
    alone, _, _ = error_of(1000, 0, [one], stream(1, "d"))
    together, _, _ = error_of(1000, 0, many, stream(1, "d"))
    assert abs(alone) < 0.003 and together < -0.008


def test_rounding_is_outward():
    assert outward(0.0012345678, 1) == 0.001235 and outward(0.0012345678, -1) == 0.001234
    assert outward(-0.0012345678, -1) == -0.001235


# --- whole runs ---


class Hasty:
    """A policy that claims rates 1 % too high."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def observe(self, sample: Any) -> Any:
        plan = self.inner.observe(sample)
        return plan and attrs.evolve(plan, bytes_per_ps=tuple(1.01 * rate for rate in plan.bytes_per_ps))


class Blunt(FastForwardPolicy):
    """A policy that skips once, in the middle, at equal shares."""

    def __init__(self, info: Any) -> None:
        self.info, self.seen = info, 0

    def interval_ps(self) -> int:
        return 100 * US

    def observe(self, sample: Any) -> Any:
        self.seen += 1
        if self.seen != 4:
            return None
        share = 0.9 * min(self.info.port_rate_bps) / 8e12 / self.info.flows
        return SkipPlan(until_ps=sample.now_ps + 200 * US, bytes_per_ps=(share,) * self.info.flows)


def incast(lab: Any, size_bytes: int = 6_000_000, senders: int = 4, **more: Any) -> Any:
    flows = [lab.flow(i, i, senders, size_bytes) for i in range(senders)]
    more = {"cca_options": {"ai_rate_bps": 312_500_000}} | more
    return lab.case(lambda: lab.stars(1, senders + 1, 25 * GBPS), flows, **more)


def ring(lab: Any, hosts: int = 4, steps: int = 7, size_bytes: int = 300_000) -> Any:
    flows, after = [], {}
    for step in range(steps):
        for rank in range(hosts):
            number = step * hosts + rank
            flows.append(lab.flow(number, rank, (rank + 1) % hosts, size_bytes))
            if step:
                after[number] = [number - hosts, number - hosts + (hosts - 1 if rank == 0 else -1)]
    return lab.case(lambda: lab.stars(1, hosts), flows, after=after)


def audited(lab: Any, case: Any, share: float = SPEND_ANYTHING, policy: Any = None, **options: Any) -> Any:
    options = {"memo": lab.memo(), "tails": True} | options
    return lab.worm(case, make_policy=policy or lab.policy(), audit=share, **options)


def true_error(run: Any, packet: Any) -> float:
    return float((run.makespan - packet.makespan) / packet.makespan)


def test_an_error_put_in_is_found_with_its_sign_and_size(lab):
    case = incast(lab)
    usual = lab.policy()
    packet = lab.packet(case)
    run = audited(lab, case, policy=lambda info, number: Hasty(usual(info, number)))
    record, error = run.simulation.audit(), true_error(run, packet)
    assert run.did["skips"] and -0.011 < error < -0.005
    assert record["estimated"] and record["makespan_error"] == pytest.approx(error, abs=1e-6)
    assert record["interval"][0] <= error <= record["interval"][1]
    honest = audited(lab, case)
    assert abs(honest.simulation.audit()["makespan_error"] - record["makespan_error"]) > 0.005


def test_a_ring_simulated_in_part_stands_for_the_rest(lab):
    case = ring(lab)
    packet, run = lab.packet(case), audited(lab, case)
    assert run.did["hits"] and run.did["tails"]
    simulation = run.simulation
    whole = simulation.audit()
    assert whole["samples"] == 7 and whole["events"] == pytest.approx(packet.events, abs=3)
    simulation.audit_share = 0.7 * packet.events / run.events
    part = simulation.audit(again=True)
    assert part["samples"] == 4 and part["events"] < 0.6 * packet.events
    for record in (whole, part):
        low, high = record["interval"]
        assert record["estimated"] and low <= true_error(run, packet) <= high and high - low < 1e-4


def test_a_budget_is_kept_and_what_would_do_is_told(lab):
    run = audited(lab, incast(lab), share=0.1)
    record = run.simulation.audit()
    assert not record["estimated"] and record["interval"] is None and record["makespan_error"] is None
    assert record["events"] <= record["budget"] == int(0.1 * run.events)
    percent = 100 * record["needed"] // run.events
    assert "too few samples" in record["text"] and f"--audit {percent}%" in record["text"]
    run.simulation.audit_share = record["needed"] / run.events
    enough = run.simulation.audit(again=True)
    assert enough["estimated"] and enough["events"] <= enough["budget"]


def test_random_numbers_take_several_trials(lab):
    case = incast(lab, 1_000_000, 3, cca="dcqcn", cca_options={})
    run = audited(lab, case, policy=lambda info, number: Blunt(info))
    assert run.did["skips"]
    record = run.simulation.audit()
    assert record["samples"] == 12 and record["interval"][1] - record["interval"][0] > 1e-3
    run.simulation.audit_share = 2.5 * record["events"] / 12 / run.events
    fewer = run.simulation.audit(again=True)
    assert not fewer["estimated"] and fewer["samples"] == 2 and fewer["needed"] > fewer["budget"]


def test_flows_that_join_and_wait_are_simulated_as_they_were(lab):
    """A late flow joins an incast, and one waits for a flow of it: one busy period, merged."""
    flows = [lab.flow(0, 0, 3, 5_000_000), lab.flow(1, 1, 3, 6_000_000), lab.flow(2, 2, 3, 3_000_000, 900 * US)]
    flows.append(lab.flow(3, 0, 3, 2_000_000))
    case = lab.case(lambda: lab.stars(1, 4, 25 * GBPS), flows, after={3: [0]}, cca_options={"ai_rate_bps": 312_500_000})
    packet, run = lab.packet(case), audited(lab, case)
    assert run.did["skips"] and [u.merged for u in run.simulation.controller.busy.close()] == [True]
    record = run.simulation.audit()
    assert record["makespan_error"] == pytest.approx(true_error(run, packet), abs=1e-6)


def test_nothing_estimated_is_no_error_and_costs_nothing(lab):
    run = lab.worm(incast(lab, 100_000), memo=lab.memo(), make_policy=None, tails=False, audit=1.0)
    record = run.simulation.audit()
    assert (
        record["estimated"] and record["makespan_error"] == 0 and record["interval"] == [0, 0] and not record["events"]
    )


def test_the_same_run_gives_the_same_record(lab):
    records = [audited(lab, ring(lab, steps=4)).simulation.audit() for _ in range(2)]
    assert records[0] == records[1]


def test_the_run_itself_is_not_changed(lab):
    case = ring(lab, steps=4)
    assert audited(lab, case).times == audited(lab, case, share=0.0).times


def test_failed_links_are_not_audited(lab):
    case = incast(lab, 200_000, network={"link_failures": ((10**12, 0, 4),)})
    record = audited(lab, case).simulation.audit()
    assert not record["estimated"] and "links failed" in record["text"] and record["needed"] is None


def test_the_option_reaches_the_result():
    experiment = {
        "topology": {"plugin": "leaf-spine"}, "workload": {"plugin": "ring-all-reduce", "size_bytes": 80_000},
        "acceleration": {"audit": "20000%"},
    }  # fmt: skip
    trust = simulate(experiment).summary["cost"]["trust"]
    assert trust["audit"]["estimated"] and trust["audit"]["confidence"] == 0.9
    experiment["acceleration"] = {}
    assert simulate(experiment).summary["cost"]["trust"]["audit"] is None
