"""What must not be skipped or replayed blindly: each rule by a case that goes wrong without it.

Every test runs packet mode, then wormhole mode (within the bound), then wormhole mode with the rule
switched off (beyond the bound).
"""

from __future__ import annotations

import statistics
from typing import Any

import attrs
import pytest

from wormhole_core import add_link, add_switch, new_graph
from wormhole_core.accel import book, leaders, player, skipper, tails
from wormhole_core.builtin.forward_rate_window import RateWindow

GBPS = 10**9
US = 10**6


def worst(run: Any, base: Any) -> float:
    """Largest error of sorted FCTs."""
    mine, theirs = (sorted(r.fct_ps for r in x.records.flows) for x in (run, base))
    return max(abs(a / b - 1) for a, b in zip(mine, theirs, strict=True))


def test_slow_ramp(lab):
    """A DCQCN flow that has lost its rivals gains so slowly that every window looks flat."""
    flows = [lab.flow(0, 1, 0, 60_000_000)] + [lab.flow(n, n + 1, 0, 2_000_000) for n in range(1, 4)]
    case = lab.case(lambda: lab.stars(1, 5), flows, cca="dcqcn")
    base = lab.packet(case)
    assert worst(lab.worm(case, make_policy=lab.policy(), tails=True), base) < 0.0025
    blind = lab.policy(
        min_utilisation=0.0, drift_tolerance=1.0, first_skip_windows=10**6, reach=1e9, total_tolerance=0.05
    )
    assert worst(lab.worm(case, make_policy=blind, tails=True), base) > 0.01


class Fooled(RateWindow):
    """`rate-window` that is told bytes are acknowledged all the time."""

    def observe(self, sample: Any) -> Any:
        return super().observe(attrs.evolve(sample, acked_bytes=tuple(sample.now_ps for _ in sample.acked_bytes)))


def test_stuck_on_a_timeout(lab):
    """The link fails under a whole window: the flow waits for its timeout, at a rate that is constant."""

    def graph() -> Any:
        made = new_graph(4)
        a, b, left, right = (add_switch(made) for _ in range(4))
        for host, leaf in ((0, a), (1, a), (2, b), (3, b)):
            add_link(made, host, leaf, 100 * GBPS, US)
        for spine in (left, right):
            add_link(made, a, spine, 100 * GBPS, US)
            add_link(made, spine, b, 100 * GBPS, 40 * US)
        return made

    a, b, left = 4, 5, 6
    flows = [lab.flow(1, 1, 2, 3_000_000, path=(1, a, left, b, 2), ack_path=(2, b, left, a, 1))]
    network = {"link_failures": ((30 * US, left, b),), "rto_ps": 4000 * US}
    case = lab.case(graph, flows, cca="none", cca_options={"window": "100kB"}, network=network)
    base = lab.packet(case)
    assert max(r.retransmitted_bytes for r in base.records.flows) >= 100_000

    def policy(kind: type, **options: Any) -> Any:
        config = lab.component("fast-forward", "rate-window").config(samples=20, sample_interval_ps=20 * US, **options)
        return lambda info, _n: kind(config, info)

    for make in (policy(RateWindow), lab.policy()):
        assert worst(lab.worm(case, make_policy=make, tails=True), base) < 0.05
    assert worst(lab.worm(case, make_policy=policy(Fooled), tails=True), base) > 0.2


def hiding(what: str, real: Any) -> Any:
    """A method of (self, partition, now_ps) that finds this attribute of ports at nothing."""

    def call(self: Any, partition: Any, now_ps: int) -> Any:
        kept = [getattr(p, what) for p in partition.ports]
        for port in partition.ports:
            setattr(port, what, 0.0)
        try:
            return real(self, partition, now_ps)
        finally:
            for port, value in zip(partition.ports, kept, strict=True):
                setattr(port, what, value)

    return call


def test_loss(lab, monkeypatch):
    """Rare losses cost a window each; between two of them all is steady."""

    def graph() -> Any:
        made = lab.stars(1, 4)
        for _, _, data in made.edges(data=True):
            data["loss"] = 5e-5
        return made

    flows = [lab.flow(n, n + 1, 0, 30_000_000) for n in range(2)]
    case = lab.case(graph, flows, cca_options={"ai_rate_bps": 2 * GBPS}, seed=3)
    base = lab.packet(case)
    run = lab.worm(case, make_policy=lab.policy(), tails=True)
    assert run.times == base.times and run.did["skips"] == 0
    monkeypatch.setattr(skipper.Skipper, "watch", hiding("loss", skipper.Skipper.watch))
    run = lab.worm(case, make_policy=lab.policy(), tails=True)
    assert run.did["skips"] > 0
    retransmitted = [sum(r.retransmitted_bytes for r in x.records.flows) for x in (run, base)]
    assert retransmitted[0] < 0.7 * retransmitted[1]


# --- incasts on one switch ---

COPIES_ON_A_SWITCH = 16


def incasts(lab: Any, copies: int, delay_ps: int, start_ps: int = 0, fan_in: int = 2) -> Any:
    """Copies of an incast on one switch; one of them never pauses anybody, all together do."""
    hosts = fan_in + 1

    def graph() -> Any:
        made = new_graph(hosts * copies)
        switch = add_switch(made)
        for host in range(hosts * copies):
            add_link(made, host, switch, 100 * GBPS, US if host % hosts else delay_ps)
        return made

    flows = [
        lab.flow(fan_in * c + n, hosts * c + n + 1, hosts * c, 250_000, start_ps)
        for c in range(copies)
        for n in range(fan_in)
    ]
    network = {
        "buffer_bytes": 3_500_000 + COPIES_ON_A_SWITCH * hosts * 21_000,
        "pfc_headroom_bytes": 20_000,
        "pfc_reserve_bytes": 1000,
        "ecn": False,
    }
    return lab.case(graph, flows, cca="none", network=network)


@pytest.mark.parametrize("delay", [US, 30 * US])
def test_incasts_that_pause_only_together(lab, delay):
    alone, together = incasts(lab, 1, delay), incasts(lab, COPIES_ON_A_SWITCH, delay)
    alone = attrs.evolve(alone, make_graph=together.make_graph)
    assert lab.packet(alone).simulation.counters.pauses == 0
    base = lab.packet(together)
    assert base.simulation.counters.pauses > 0
    memo = lab.memo()
    lab.worm(alone, memo=memo)
    for store in (lab.memo(), memo):
        run = lab.worm(together, memo=store)
        assert run.times == base.times and run.links == base.links


@pytest.mark.parametrize("rule", ["room", "peaks"])
def test_incasts_without_a_rule(lab, monkeypatch, rule):
    alone, together = incasts(lab, 1, US), incasts(lab, COPIES_ON_A_SWITCH, US)
    memo = lab.memo()
    if rule == "peaks":
        lab.worm(attrs.evolve(alone, make_graph=together.make_graph), memo=memo)
    for module in (leaders, player):
        monkeypatch.setattr(module, "fits", lambda _switch, _more: True)
    monkeypatch.setattr(leaders.Leaders, "queue_grew", lambda *_a: None)
    monkeypatch.setattr(leaders, "growth_unseen", lambda partition, *_a: [0] * len(partition.ports))
    monkeypatch.setattr(leaders, "FIRST_ROOM_BYTES", 1)
    run, base = lab.worm(together, memo=memo), lab.packet(together)
    assert run.simulation.counters.pauses != base.simulation.counters.pauses
    assert run.times != base.times


def test_queues_that_grow_unseen(lab, monkeypatch):
    """A queue's length is known when a frame arrives beyond its link: a long link tells late."""

    def graph() -> Any:
        made = new_graph(16)
        switch = add_switch(made)
        for pair in range(8):
            add_link(made, 2 * pair, switch, 400 * GBPS, US)
            add_link(made, 2 * pair + 1, switch, 100 * GBPS, 20 * US)
        return made

    flows = [lab.flow(n, 2 * n, 2 * n + 1, 2_000_000) for n in range(8)]
    network = {
        "buffer_bytes": 4_000_000 + 16 * 101_000,
        "pfc_headroom_bytes": 100_000,
        "pfc_reserve_bytes": 1000,
        "ecn": False,
    }
    case = lab.case(graph, flows, cca="none", network=network)
    base = lab.packet(case)
    run = lab.worm(case, memo=lab.memo())
    assert base.simulation.counters.pauses > 0
    assert run.times == base.times and run.links == base.links
    monkeypatch.setattr(leaders, "growth_unseen", lambda partition, *_a: [0] * len(partition.ports))
    assert lab.worm(case, memo=lab.memo()).times != base.times


# --- tails ---


def ring(lab: Any, hosts: int = 4, step: int = 400_000) -> Any:
    kind = lab.component("workload", "ring-all-reduce")
    options = kind.config(size_bytes=step * hosts)
    from wormhole_core import stream

    case = lab.case(lambda: lab.stars(1, hosts), [], cca_options={"ai_rate_bps": 5 * GBPS // hosts})
    return attrs.evolve(case, workload=lambda: kind.build(options, tuple(range(hosts)), stream(1, "w")))


def test_tail_of_a_chain(lab):
    """The last ACKs of a step are under way when the next begins: without the rule nothing repeats."""
    case = ring(lab)
    base = lab.packet(case)
    with_rule = lab.worm(case, memo=lab.memo(), tails=True)
    without = lab.worm(case, memo=lab.memo(), tails=False)
    assert with_rule.did["hits"] + with_rule.did["followers"] >= 3
    assert without.did["hits"] + without.did["followers"] == 0
    assert without.times == base.times
    assert with_rule.events < base.events / 2
    assert worst(with_rule, base) < 0.001 and abs(with_rule.makespan / base.makespan - 1) < 0.0025


def test_ends_whose_bandwidth_is_not_given_away(lab, monkeypatch):
    """Flows in a row share ports two by two: what an early end frees is not small for its neighbour."""
    pairs = [(0, 1), (0, 2), (3, 2), (3, 4)]
    sizes = [6_000_000, 9_000_000, 12_000_000, 15_000_000]
    flows = [lab.flow(n, a, b, size) for n, ((a, b), size) in enumerate(zip(pairs, sizes, strict=True))]
    case = lab.case(lambda: lab.stars(1, 6), flows, cca_options={"ai_rate_bps": 2 * GBPS})
    base = lab.packet(case)
    policy = lab.policy()
    assert worst(lab.worm(case, make_policy=policy, tails=True), base) < 0.02
    monkeypatch.setattr(skipper, "TAIL_SHARE", 10.0)
    monkeypatch.setattr(skipper, "TAIL_DEBT", 10.0)
    assert worst(lab.worm(case, make_policy=policy, tails=True), base) > 0.03


# --- unlucky copies ---

COPIES = 64
MARKS = {"ecn_kmin_bytes": 5_000, "ecn_kmax_bytes": 200_000, "ecn_pmax": 0.5}


def ends(run: Any) -> list[int]:
    """When each copy of the incast ended."""
    return sorted(max(run.fct[4 * c + n] for n in range(4)) for c in range(COPIES))


def test_unlucky_copies(lab, monkeypatch):
    """Copies of an incast with random marks: each of several variants is simulated once, so that not
    all get the same luck, nor always the same flow."""
    flows = [lab.flow(4 * c + n, 5 * c + n + 1, 5 * c, 200_000) for c in range(COPIES) for n in range(4)]
    case = lab.case(lambda: lab.stars(COPIES, 5), flows, cca="dcqcn", network=MARKS)
    base = ends(lab.packet(case))
    run = lab.worm(case, memo=lab.memo())
    mine = ends(run)
    assert run.did["misses"] <= book.VARIANTS + 1
    assert len(set(mine)) > 4
    mean, spread = statistics.mean(base), statistics.stdev(base)
    assert abs(statistics.mean(mine) - mean) < 3 * spread / book.VARIANTS**0.5
    assert 0.3 * spread < statistics.stdev(mine) < 2 * spread
    assert base[0] - spread < mine[0] and mine[-1] < base[-1] + spread
    losers = {max(range(4), key=lambda n: run.fct[4 * c + n]) for c in range(COPIES)}
    assert len(losers) > 1
    monkeypatch.setattr(book, "VARIANTS", 1)
    alike = lab.worm(case, memo=lab.memo())
    assert statistics.stdev(ends(alike)) < 0.3 * spread


def test_copies_get_other_luck_with_another_seed(lab):
    flows = [lab.flow(4 * c + n, 5 * c + n + 1, 5 * c, 200_000) for c in range(8) for n in range(4)]
    case = lab.case(lambda: lab.stars(8, 5), flows, cca="dcqcn", network=MARKS)
    memo = lab.memo()
    times = [lab.worm(attrs.evolve(case, seed=seed), memo=memo).times for seed in (1, 2, 1)]
    assert times[0] != times[1]


# --- what is not a tail ---


def overlapping(lab: Any, gap_ps: int) -> Any:
    """A flow into a receiver and, while it lasts, another: each known from when it was alone."""
    flows: list[Any] = []

    def add(src: int, start_ps: int) -> None:
        flows.append(lab.flow(len(flows), src, 1, 200_000, start_ps))

    for turn in range(6):
        add(0 if turn < 3 else 2, turn * 1000 * US)
    for turn in range(6, 9):
        add(0, turn * 1000 * US)
        add(2, turn * 1000 * US + gap_ps)
    return lab.case(lambda: lab.stars(1, 4), flows)


@pytest.mark.parametrize("gap", [12 * US, 16 * US, 18 * US])
def test_data_under_way_is_no_tail(lab, monkeypatch, gap):
    """A flow that ends within three RTTs but still sends shares the port with what starts."""
    case = overlapping(lab, gap)
    base = lab.packet(case)
    assert worst(lab.worm(case, memo=lab.memo(), tails=True), base) < 0.001
    monkeypatch.setattr(tails, "TAIL_SHARE", 1.0)
    assert worst(lab.worm(case, memo=lab.memo(), tails=True), base) > 0.01


def test_short_steps_have_no_tails(lab, monkeypatch):
    """Every step of a ring gains the time of an ACK: little, unless the steps are short; the sign repeats."""
    case = ring(lab, 8, 1000)
    base = lab.packet(case)
    assert abs(lab.worm(case, memo=lab.memo(), tails=True).makespan / base.makespan - 1) < 0.001
    monkeypatch.setattr(tails, "TAIL_SHARE", 1.0)
    assert abs(lab.worm(case, memo=lab.memo(), tails=True).makespan / base.makespan - 1) > 0.0025
