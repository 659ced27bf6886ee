"""Skips: bytes are conserved, nothing ends sooner than the links allow, nothing is left behind."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest

from wormhole_core import FastForwardPolicy, Sample, SkipPlan
from wormhole_core.errors import PluginError

GBPS = 10**9
US = 10**6


def incast(lab: Any, fan_in: int = 4, size: int = 4_000_000, **more: Any) -> Any:
    flows = [lab.flow(n, n + 1, 0, size) for n in range(fan_in)]
    options = {"cca_options": {"ai_rate_bps": 5 * GBPS // fan_in}} if more.get("cca", "hpcc") == "hpcc" else {}
    return lab.case(lambda: lab.stars(1, fan_in + 2), flows, **(options | more))


def collective(lab: Any, name: str, hosts: int, size: int) -> Any:
    """A workload by name on a star."""
    kind = lab.component("workload", name)
    options = kind.config(size_bytes=size)
    case = lab.case(lambda: lab.stars(1, hosts), [], cca_options={"ai_rate_bps": 5 * GBPS // hosts})
    from wormhole_core import stream

    return attrs.evolve(case, workload=lambda: kind.build(options, tuple(range(hosts)), stream(1, "w")))


def assert_conserved(run: Any, base: Any, case: Any) -> None:
    """Every flow ends, not before its bytes could have been sent; ports have carried what they had to."""
    assert len(run.records.flows) == len(base.records.flows)
    network = run.simulation.network
    for record in run.records.flows:
        line = min(p.rate_bps for p in network.port_list)
        assert record.fct_ps >= record.size_bytes * 8 * 10**12 // line
        assert 0 < record.rx_last_byte_ps < record.fct_ps
    for mine, theirs in zip(run.links, base.links, strict=True):
        # Full frames are counted for what was skipped: within a few frames per flow and skip.
        slack = 3000 * (2 + run.did["skips"] + len(run.records.flows))
        assert abs(mine[0] - theirs[0]) <= slack, (mine, theirs)
    counters = run.simulation.counters
    assert counters.bytes_finished == sum(r.size_bytes for r in run.records.flows)
    run.assert_clean()


def errors(run: Any, base: Any) -> tuple[float, float, float]:
    """Largest error of sorted FCTs, of the mean FCT, of the makespan."""
    mine, theirs = (sorted(r.fct_ps for r in x.records.flows) for x in (run, base))
    worst = max(abs(a / b - 1) for a, b in zip(mine, theirs, strict=True))
    return worst, abs(sum(mine) / sum(theirs) - 1), abs(run.makespan / base.makespan - 1)


SMALL = {
    "incast": (lambda lab: incast(lab), 0.01),
    "ring": (lambda lab: collective(lab, "ring-all-reduce", 4, 4_000_000 * 4), 0.003),
    "all-to-all": (lambda lab: collective(lab, "all-to-all", 4, 4_000_000), 0.025),
}


@pytest.mark.parametrize("tails", [True, False])
@pytest.mark.parametrize("name", SMALL)
def test_within_the_stated_bounds(lab, name, tails):
    make, bound = SMALL[name]
    case = make(lab)
    base = lab.packet(case)
    memo = lab.memo()
    for _ in ("cold", "warm"):
        run = lab.worm(case, memo=memo, make_policy=lab.policy(), tails=tails)
        worst, mean, end = errors(run, base)
        assert worst < bound and mean < bound and end < bound, (worst, mean, end)
        assert run.did["skips"] + run.did["hits"] > 0
        assert_conserved(run, base, case)
    if tails:  # without them each step of a ring differs a little from the one before
        assert run.events < base.events / 20


@pytest.mark.parametrize(
    "acks", [{}, {"acks": "lane"}, {"ack_every_packets": 4}, {"reliability": "selective-repeat"}], ids=str
)
@pytest.mark.parametrize("start", [60, 151, 300])
def test_arrivals_end_a_skip(lab, start, acks):
    """A flow arrives whenever; it uses only one of the receivers' ports."""
    case = incast(lab, network=acks)
    flows = [*case.flows, lab.flow(9, 5, 0, 500_000, start * US), lab.flow(10, 5, 1, 1, start * US + 1)]
    case = attrs.evolve(case, flows=flows)
    base = lab.packet(case)
    run = lab.worm(case, memo=lab.memo(), make_policy=lab.policy())
    worst, mean, end = errors(run, base)
    assert mean < 0.02 and end < 0.02, (worst, mean, end)
    assert run.did["skips"] > 0
    assert_conserved(run, base, case)


def test_a_flow_that_waits_for_one_that_is_skipped(lab):
    case = incast(lab, size=2_000_000)
    chain = [lab.flow(10 + n, 1 + n % 4, 0, 2_000_000) for n in range(8)]
    case = attrs.evolve(case, flows=[*case.flows, *chain], after={10 + n: [n if n < 4 else 6 + n] for n in range(8)})
    base = lab.packet(case)
    run = lab.worm(case, memo=lab.memo(), make_policy=lab.policy())
    assert errors(run, base)[2] < 0.01
    assert_conserved(run, base, case)


@pytest.mark.parametrize("at", [800, 950])
def test_a_link_fails_during_a_skip(lab, at):
    """Two ways between leaves: one fails, the flows on it move to the other."""

    def graph() -> Any:
        return lab.graph("leaf-spine", leaves=2, hosts_per_leaf=3, spines=2)

    nodes = graph()
    leaves = [n for n, d in nodes.nodes(data=True) if d["kind"] == "switch" and any(m < 6 for m in nodes[n])]
    spine = next(n for n, d in nodes.nodes(data=True) if d["kind"] == "switch" and n not in leaves)
    flows = [lab.flow(n, n, 3 + n, 12_000_000) for n in range(3)]
    case = lab.case(
        graph, flows, cca_options={"ai_rate_bps": GBPS}, network={"link_failures": ((at * US, leaves[0], spine),)}
    )
    base = lab.packet(case)
    run = lab.worm(case, memo=lab.memo(), make_policy=lab.policy())
    assert len(run.records.flows) == 3
    assert run.did["skips"] > 0
    assert abs(run.makespan / base.makespan - 1) < 0.03
    assert not run.simulation.controller.owners and not run.simulation.motion.flows


@pytest.mark.parametrize("coarsen", ["switches", "whole"])
def test_with_coarser_partitions(lab, coarsen):
    kind = lab.component("partitioner", coarsen)
    partitioner = kind.build(kind.config())
    case = incast(lab, size=2_000_000)
    flows = [*case.flows, lab.flow(9, 5, 3, 1_000_000, 70 * US), lab.flow(11, 0, 5, 400_000, 160 * US)]
    case = attrs.evolve(case, flows=flows)
    base = lab.packet(case)
    run = lab.worm(
        case,
        memo=lab.memo(),
        make_policy=lab.policy(),
        coarsen=lambda ports: partitioner.resources(tuple((p.node, p.link_index) for p in ports)),
    )
    assert errors(run, base)[1] < 0.02
    assert_conserved(run, base, case)


# --- policies that want the impossible ---


class Wishes(FastForwardPolicy):
    """Asks for the same senseless thing at every sample."""

    def __init__(self, info: Any, wish: Any) -> None:
        self.info, self.wish = info, wish

    def interval_ps(self) -> int:
        return 20 * US

    def observe(self, sample: Sample) -> SkipPlan | None:
        until, rates = self.wish(sample, self.info)
        return SkipPlan(until_ps=until, bytes_per_ps=rates)


FAIR = 100 * GBPS / 8e12 / 4 * 0.9
REFUSED: dict[str, Any] = {
    "zero": lambda s, i: (s.now_ps + 10**10, (0.0,) * i.flows),
    "one zero": lambda s, i: (s.now_ps + 10**10, (0.0,) + (FAIR,) * (i.flows - 1)),
    "faster than the links": lambda s, i: (s.now_ps + 10**10, (FAIR * 4.5,) * i.flows),
    "in the past": lambda s, i: (s.now_ps - 10**9, (FAIR,) * i.flows),
    "at once": lambda s, i: (s.now_ps, (FAIR,) * i.flows),
    "before time": lambda s, i: (-1, (FAIR,) * i.flows),
}
ERRORS: dict[str, Any] = {
    "negative": lambda s, i: (s.now_ps + 10**10, (-FAIR,) * i.flows),
    "nan": lambda s, i: (s.now_ps + 10**10, (FAIR,) * (i.flows - 1) + (math.nan,)),
    "infinite": lambda s, i: (s.now_ps + 10**10, (math.inf,) * i.flows),
    "too few": lambda s, i: (s.now_ps + 10**10, (FAIR,) * (i.flows - 1)),
    "too many": lambda s, i: (s.now_ps + 10**10, (FAIR,) * (i.flows + 1)),
    "none": lambda s, i: (s.now_ps + 10**10, ()),
}
CARRIED_OUT: dict[str, Any] = {
    "beyond the end": lambda s, i: (1 << 80, (FAIR,) * i.flows),
    "for ever": lambda s, i: (math.inf, (FAIR,) * i.flows),
    "very slow": lambda s, i: (s.now_ps + 100 * US, (1e-9,) * i.flows),
    "all the time": lambda s, i: (s.now_ps + 50 * US, (FAIR,) * i.flows),
    "unequal": lambda s, i: (1 << 80, tuple(FAIR * (1 - 0.2 * k) for k in range(i.flows))),
}


@pytest.mark.parametrize("wish", REFUSED)
def test_plans_not_carried_out(lab, wish):
    case = incast(lab, size=1_000_000)
    run = lab.worm(case, make_policy=lambda info, _n: Wishes(info, REFUSED[wish]))
    assert run.did["skips"] == 0 and run.times == lab.packet(case).times


@pytest.mark.parametrize("wish", ERRORS)
def test_senseless_plans(lab, wish):
    with pytest.raises(PluginError, match="policy Wishes"):
        lab.worm(incast(lab, size=1_000_000), make_policy=lambda info, _n: Wishes(info, ERRORS[wish]))


@pytest.mark.parametrize("tails", [True, False])
@pytest.mark.parametrize("wish", CARRIED_OUT)
def test_plans_carried_out_whatever_they_are(lab, wish, tails):
    case = incast(lab, size=1_000_000)
    # Flows that come and go meanwhile, at every moment of the skips.
    flows = [
        *case.flows,
        *(lab.flow(10 + n, 5, n % 4 + 1, 3000, 37 * US * n + n) for n in range(8)),
        lab.flow(30, 5, 0, 1, 150 * US),
    ]
    case = attrs.evolve(case, flows=flows)
    memo = lab.memo()
    for _ in range(2):
        run = lab.worm(case, memo=memo, tails=tails, make_policy=lambda info, _n: Wishes(info, CARRIED_OUT[wish]))
        assert run.did["skips"] > 0
        assert_conserved(run, lab.packet(case), case)


@pytest.mark.parametrize("moment", range(0, 340, 17))
def test_interrupted_between_foreseen_ends(lab, moment):
    """The end of a partition is foreseen from rates; an arrival finds some of its flows ended."""
    case = incast(lab, size=1_000_000)
    sizes = [1_000_000, 1_000_500, 1_001_000, 1_002_000]
    flows = [lab.flow(n, n + 1, 0, sizes[n]) for n in range(4)] + [lab.flow(30, 5, 0, 1000, (moment + 60) * US)]
    case = attrs.evolve(case, flows=flows)
    wish = CARRIED_OUT["beyond the end"]
    run = lab.worm(case, memo=lab.memo(), tails=True, make_policy=lambda info, _n: Wishes(info, wish))
    assert_conserved(run, lab.packet(case), case)
