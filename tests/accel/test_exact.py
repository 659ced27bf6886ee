"""With exact keys and tails off: memo off, cold, warm and stored give what packets give, to the bit."""

from __future__ import annotations

import random
from typing import Any

import attrs
import pytest


def check(lab: Any, seed: int, path: Any = None, **network: Any) -> dict[str, Any]:
    """One random case in all ways; returns what the cold and warm runs did."""
    case = lab.random_case(seed)
    case = attrs.evolve(case, network=case.network | network)
    try:
        base = lab.packet(case)
    except Exception as error:  # what packets cannot do (a dead end), acceleration cannot either
        with pytest.raises(type(error)):
            lab.worm(case, memo=lab.memo())
        return {}
    memo = lab.memo("sqlite", path=str(path)) if path else lab.memo()
    runs = {"off": lab.worm(case), "cold": lab.worm(case, memo=memo)}
    cold = runs["cold"].did
    if path:
        memo.close()
        memo = lab.memo("sqlite", path=str(path))
    runs["warm"] = lab.worm(case, memo=memo)
    for name, run in runs.items():
        assert run.times == base.times, f"case {seed}, {name}"
        assert run.links == base.links, f"case {seed}, {name}"
        run.assert_clean()
    warm = runs["warm"].did
    assert cold["damaged"] == warm["damaged"] == 0
    memo.close()
    return {"cold": cold, "warm": warm}


@pytest.mark.parametrize("seed", [n for n in range(33) if n not in (17, 25, 26)])
def test_random_cases(lab, seed):
    check(lab, seed)


@pytest.mark.parametrize("wake", ["any", "earliest"])
@pytest.mark.parametrize("seed", [2, 9, 1131])
def test_random_cases_in_the_order_of_scheduling(lab, seed, wake):
    check(lab, seed, order="scheduled", nic_wake=wake)


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_hundreds_in_the_order_of_scheduling(lab, block):
    for seed in range(2000 + 20 * block, 2020 + 20 * block):
        check(lab, seed, order="scheduled", nic_wake="earliest" if seed % 2 else "any")


def test_stored_and_opened_again(lab, tmp_path):
    for seed in range(100, 104):
        check(lab, seed, tmp_path / f"{seed}.sqlite")


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_hundreds_of_random_cases(lab, block, tmp_path):
    for seed in range(1000 + 40 * block, 1040 + 40 * block):
        check(lab, seed, tmp_path / f"{seed}.sqlite" if seed % 4 == 0 else None)


def test_the_cases_are_worth_something(lab):
    """Over the fast cases: hits, followers, and private re-simulations all occur."""
    total: dict[str, int] = {}
    for seed in range(4):
        for did in check(lab, seed).values():
            for name in ("hits", "followers", "resimulated", "misses"):
                total[name] = total.get(name, 0) + did[name]
    assert all(count > 5 for count in total.values()), total


# --- copies ---


def copies_case(lab: Any, seed: int, shared_switch: bool) -> tuple[Any, int, int]:
    """k copies of one pattern with small offsets, some interrupted; (case, copies, flows per copy)."""
    rnd = random.Random(seed)
    copies, hosts = rnd.randint(2, 6), rnd.randint(3, 5)
    rate, delay = rnd.choice([25, 100]) * 10**9, rnd.choice([500_000, 1_000_000, 20_000_000])
    pattern = [(*rnd.sample(range(hosts), 2), rnd.choice([1, 3000, 60_000, 200_000])) for _ in range(rnd.randint(1, 5))]
    flows, number = [], 0
    for copy in range(copies):
        offset = rnd.choice([0, 0, 1, 84_800, rnd.randint(0, 3_000_000)])
        for a, b, size in pattern:
            flows.append(lab.flow(number, copy * hosts + a, copy * hosts + b, size, offset))
            number += 1
    for copy in range(copies):
        if rnd.random() < 0.4:
            a, b = rnd.sample(range(hosts), 2)
            flows.append(
                lab.flow(
                    number,
                    copy * hosts + a,
                    copy * hosts + b,
                    5000,
                    rnd.choice([0, 1, 84_800, 2_000_000]) + rnd.randint(0, 9_000_000),
                )
            )
            number += 1
    make = (
        (lambda: lab.stars(1, copies * hosts, rate, delay))
        if shared_switch
        else (lambda: lab.stars(copies, hosts, rate, delay))
    )
    network = {
        "dependency": rnd.choice(["receiver", "sender"]),
        "ecn_kmin_bytes": 20_000,
        "ecn_kmax_bytes": 20_000,
        "ecn_pmax": 1.0,
    }
    if rnd.random() < 0.4:
        network |= {
            "buffer_bytes": rnd.choice([300_000, 2_000_000]) + copies * hosts * 21_000,
            "pfc_headroom_bytes": 20_000,
            "pfc_reserve_bytes": 1000,
        }
    cca = rnd.choice(["none", "hpcc", "dcqcn", "timely", "dctcp", "swift"])
    return lab.case(make, flows, cca=cca, network=network), copies, hosts


def check_copies(lab: Any, seed: int) -> int:
    """Copies alive at once, on one switch and on several, give what each gives by itself."""
    followers = 0
    for shared in (False, True):
        case, copies, hosts = copies_case(lab, seed, shared)
        base = lab.packet(case)
        run = lab.worm(case, memo=lab.memo())
        assert run.times == base.times and run.links == base.links, f"case {seed}, shared {shared}"
        run.assert_clean()
        followers += run.did["followers"]
        if not shared:
            for copy in range(copies):
                own = [f for f in case.flows if f.src // hosts == copy]
                alone = lab.worm(attrs.evolve(case, flows=own))
                assert {f.id: run.fct[f.id] for f in own} == alone.fct
    return followers


def test_copies_at_once(lab):
    assert sum(check_copies(lab, seed) for seed in range(20)) > 40


@pytest.mark.long
@pytest.mark.parametrize("block", range(8))
def test_hundreds_of_copies_at_once(lab, block):
    assert sum(check_copies(lab, seed) for seed in range(100 + 50 * block, 150 + 50 * block)) > 100


def test_copies_cost_nothing(lab):
    """Exactly as many events are avoided as the copies would have taken."""
    flows = [lab.flow(10 * c + n, 6 * c + n + 1, 6 * c, 300_000) for c in range(8) for n in range(5)]
    one = lab.packet(lab.case(lambda: lab.stars(1, 6), flows[:5]))
    run = lab.worm(lab.case(lambda: lab.stars(8, 6), flows), memo=lab.memo())
    assert run.did["followers"] == 7
    assert run.events < one.events + 8 * 5 * 4


# --- loss, failures, routing per packet ---


@pytest.mark.parametrize(
    ("cca", "routing"), [("hpcc", "ecmp"), ("none", "ecmp"), ("dcqcn", "spray"), ("hpcc", "flowlet")]
)
@pytest.mark.parametrize("loss", [0.0, 0.01])
@pytest.mark.parametrize("fails", [False, True])
def test_what_is_not_remembered_is_simulated(lab, cca, routing, loss, fails):
    def graph() -> Any:
        made = lab.graph("leaf-spine", leaves=2, hosts_per_leaf=4, spines=2)
        for _, _, data in made.edges(data=True):
            data["loss"] = loss
        return made

    nodes = graph()
    leaf = next(n for n in nodes[0])
    spine = next(n for n in nodes[leaf] if n >= 8)
    flows = [lab.flow(n, n % 4, 4 + (n + 1) % 4, 60_000, 10**8 * (n // 6)) for n in range(18)]
    network = {"link_failures": ((110_000_001, leaf, spine),)} if fails else {}
    case = lab.case(graph, flows, cca=cca, routing=routing, network=network)
    base = lab.packet(case)
    for options in ({}, {"memo": lab.memo()}, {"memo": lab.memo(), "make_policy": lab.policy()}):
        assert lab.worm(case, **options).times == base.times


# --- where nothing repeats and nothing settles ---


def test_degrades_well(lab):
    """Flows that all differ: the same answer to the bit, hardly an event more."""
    rnd = random.Random(5)
    flows = [
        lab.flow(n, *rnd.sample(range(8), 2), rnd.randint(1, 300_000), rnd.randint(0, 400_000_000)) for n in range(200)
    ]
    for cca in ("hpcc", "dcqcn"):
        case = lab.case(lambda: lab.stars(1, 8), flows, cca=cca)
        base = lab.packet(case)
        run = lab.worm(case, memo=lab.memo(), make_policy=lab.policy())
        assert run.did["skips"] == run.did["hits"] == run.did["followers"] == 0
        assert run.times == base.times and run.links == base.links
        assert run.events <= 1.05 * base.events
        run.assert_clean()


# --- the same twice ---


def test_the_same_seed_twice(lab, tmp_path):
    case = attrs.evolve(lab.random_case(3), cca="dcqcn", network={"ecn_kmin_bytes": 5000, "ecn_kmax_bytes": 200_000})
    stores = []
    for n in range(2):
        memo = lab.memo("sqlite", path=str(tmp_path / f"{n}.sqlite"))
        runs = [lab.worm(case, memo=memo, make_policy=lab.policy(), tails=True) for _ in range(2)]
        stores.append(
            (
                [r.times for r in runs],
                [r.links for r in runs],
                [r.did | {"memo_bytes": 0} for r in runs],
                list(memo.scan()),
            )
        )
        memo.close()
    assert stores[0] == stores[1]


def test_partitions_touched_do_not_grow_with_the_network(lab, monkeypatch):
    """What a change costs: flows and ports of the touched partitions, however many others there are."""
    import wormhole_core.accel.partitions as module

    def looked_at(stars: int) -> int:
        count = 0

        def counted(member: Any, coarsen: Any) -> Any:
            nonlocal count
            count += 1
            return real(member, coarsen)

        real = module._resources
        monkeypatch.setattr(module, "_resources", counted)
        flows = [lab.flow(n, 4 * (n % stars), 4 * (n % stars) + 1, 200_000 + n) for n in range(stars)]
        flows += [lab.flow(1000 + n, 2, 1, 3000, 1_000_000 + 40_000 * n) for n in range(40)]
        lab.worm(lab.case(lambda: lab.stars(stars, 4), flows), memo=lab.memo())
        monkeypatch.setattr(module, "_resources", real)
        return count - stars

    assert looked_at(2) == looked_at(60)


@pytest.mark.parametrize("seed", [2, 4, 9, 13])
def test_run_in_slices(lab, seed):
    """Stopped at any time, everything has the packet state of that time; the end is the same."""
    from wormhole_core.accel.simulation import WormholeSimulation

    case = lab.random_case(seed)
    base = lab.packet(case)
    run = lab.make(WormholeSimulation, case, dynamics=b"test", tails=False, memo=lab.memo())
    packets = lab.make(lab.packet(case).simulation.__class__, case)
    step = base.makespan // 23 + 1
    until = 0
    while not run.simulation.finished:
        until += step
        for sim in (run.simulation, packets.simulation):
            while not sim.advance(997, until):
                pass
        mine, theirs = run.simulation.counters, packets.simulation.counters
        assert (mine.flows_finished, mine.bytes_acked) == (theirs.flows_finished, theirs.bytes_acked)
    assert run.times == base.times and run.links == base.links
    run.assert_clean()
