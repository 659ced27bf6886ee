"""Everything at once: random cases under partitioners, failing links, random marks, and a policy that
skips whenever it can. Where exactness is claimed it is checked, elsewhere that nothing is lost."""

from __future__ import annotations

import random
from typing import Any

import attrs
import pytest

from wormhole_core import FastForwardPolicy, Sample, SkipPlan

US = 10**6


class Restless(FastForwardPolicy):
    """Skips at random moments, for random times, at rates that the links could carry."""

    def __init__(self, info: Any, seed: int) -> None:
        self.info, self.random = info, random.Random(seed)
        users = [0] * len(info.port_rate_bps)
        for ports in info.flow_ports:
            for port in ports:
                users[port] += 1
        self.fair = [min(info.port_rate_bps[p] / users[p] for p in ports) / 8e12 * 0.9 for ports in info.flow_ports]

    def interval_ps(self) -> int:
        return 7 * US

    def observe(self, sample: Sample) -> SkipPlan | None:
        draw = self.random.random()
        if draw < 0.3:
            return None
        until = sample.now_ps + (self.random.randint(1, 60 * US) if draw < 0.8 else 1 << 60)
        return SkipPlan(until_ps=until, bytes_per_ps=tuple(f * self.random.uniform(0.5, 1) for f in self.fair))


def check_chaos(lab: Any, seed: int) -> dict[str, Any]:
    """Skips at any moment: all flows end, in order of their dependencies, none too soon, nothing is left."""
    case = lab.random_case(seed)
    rnd = random.Random(seed + 1)
    if rnd.random() < 0.3:
        case.network.update(ecn_kmin_bytes=2_000, ecn_kmax_bytes=300_000, ecn_pmax=0.5)
    coarsen = None
    if rnd.random() < 0.3:
        kind = lab.component("partitioner", rnd.choice(["switches", "whole"]))
        partitioner = kind.build(kind.config())
        coarsen = lambda ports: partitioner.resources(tuple((p.node, p.link_index) for p in ports))  # noqa: E731
    memo = lab.memo()
    done: dict[str, Any] = {}
    for _ in range(2):
        run = lab.worm(
            case, memo=memo, tails=rnd.random() < 0.7, coarsen=coarsen, make_policy=lambda info, n: Restless(info, n)
        )
        records = {r.id: r for r in run.records.flows}
        assert len(records) == len(run.records.flows) == len(case.flows), f"case {seed}"
        sender = case.network["dependency"] == "sender"
        for record in records.values():
            assert 0 < record.rx_last_byte_ps < record.fct_ps
            assert record.fct_ps >= record.size_bytes * 8 * 1000 // 100, f"case {seed}, flow {record.id}"
            for other in case.after.get(record.id, ()):
                before = records[other]
                end = before.start_ps + (before.fct_ps if sender else before.rx_last_byte_ps)
                assert record.start_ps >= end, f"case {seed}, flow {record.id}"
        assert run.did["damaged"] == 0
        run.assert_clean()
        for name, value in run.did.items():
            if isinstance(value, int):
                done[name] = done.get(name, 0) + value
    memo.close()
    return done


def test_chaos(lab):
    total: dict[str, int] = {}
    for seed in range(500, 514):
        for name, value in check_chaos(lab, seed).items():
            total[name] = total.get(name, 0) + value
    assert min(total[n] for n in ("skips", "hits", "followers", "resimulated")) > 3, total


@pytest.mark.long
@pytest.mark.parametrize("block", range(8))
def test_much_chaos(lab, block):
    for seed in range(2000 + 40 * block, 2040 + 40 * block):
        check_chaos(lab, seed)


# --- exact under other partitioners and failing links ---


def check_exact(lab: Any, seed: int) -> None:
    rnd = random.Random(seed)
    leaves, per_leaf = rnd.randint(2, 3), rnd.randint(2, 4)
    hosts = leaves * per_leaf

    def graph() -> Any:
        return lab.graph("leaf-spine", leaves=leaves, hosts_per_leaf=per_leaf, spines=2)

    nodes = graph()
    leaf = next(iter(nodes[0]))
    spine = next(n for n in nodes[leaf] if n >= hosts)
    pattern = [(*rnd.sample(range(hosts), 2), rnd.choice([1, 3000, 60_000, 300_000])) for _ in range(rnd.randint(2, 6))]
    flows, now = [], 0
    for _ in range(5):
        for a, b, size in pattern:
            flows.append(lab.flow(len(flows), a, b, size, now))
        now += rnd.choice([0, 20 * US, 100 * US, rnd.randint(0, 60 * US)])
    network: dict[str, Any] = {
        "dependency": "sender",
        "ecn_kmin_bytes": 20_000,
        "ecn_kmax_bytes": 20_000,
        "ecn_pmax": 1.0,
    }
    if rnd.random() < 0.7:
        network["link_failures"] = ((rnd.choice([1, 20 * US, rnd.randint(1, now + 1)]), leaf, spine),)
    if rnd.random() < 0.3:
        network["acks"] = "lane"
    after = {n: [rnd.randrange(n)] for n in range(1, len(flows)) if rnd.random() < 0.2}
    case = lab.case(graph, flows, after=after, cca=rnd.choice(["hpcc", "dcqcn", "none", "swift"]), network=network)
    base = lab.packet(case)
    kind = lab.component("partitioner", rnd.choice(["ports", "switches", "whole"]))
    partitioner = kind.build(kind.config())
    memo = lab.memo()
    for _ in range(2):
        run = lab.worm(
            case, memo=memo, coarsen=lambda ports: partitioner.resources(tuple((p.node, p.link_index) for p in ports))
        )
        assert run.times == base.times and run.links == base.links, f"case {seed}"
        assert not run.simulation.controller.owners and not run.simulation.motion.flows


def test_exact_under_failures_and_partitioners(lab):
    for seed in range(10):
        check_exact(lab, seed)


@pytest.mark.long
def test_exact_under_many_failures_and_partitioners(lab):
    for seed in range(100, 400):
        check_exact(lab, seed)


def test_random_marks_with_any_memo(lab):
    """Where marks are drawn a memo changes luck, not the kind of result."""
    hits = 0
    for seed in range(40, 45):
        case = lab.random_case(seed)
        case = attrs.evolve(
            case,
            cca="dcqcn",
            network=case.network | {"ecn_kmin_bytes": 2_000, "ecn_kmax_bytes": 300_000, "ecn_pmax": 0.3},
        )
        memo = lab.memo()
        runs = [lab.worm(case, memo=memo) for _ in range(2)]
        base = lab.packet(case)
        for run in runs:
            assert run.times.keys() == base.times.keys()
            assert sum(run.fct.values()) == pytest.approx(sum(base.fct.values()), rel=0.1)
            run.assert_clean()
        hits += runs[1].did["hits"]
    assert hits > 3
