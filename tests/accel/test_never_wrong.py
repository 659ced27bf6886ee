"""Never a wrong hit: what differs in one thing that shapes dynamics must miss; what differs only in where
it happens must hit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import networkx as nx
import pytest

import wormhole_core.builtin.plugin as builtin
from wormhole_core import add_link, add_switch, new_graph
from wormhole_core.plugins import load_plugins
from wormhole_core.run.acceleration import Acceleration
from wormhole_core.run.build import Choice

GBPS = 10**9
US = 10**6


def star(rate: int = 100 * GBPS, delay: int = US, hosts: int = 5, loss: float = 0.0, **last: Any) -> Any:
    """A star; `last` overrides attributes of the link to host 0."""
    graph = new_graph(hosts)
    switch = add_switch(graph)
    for host in range(hosts):
        values = {"rate_bps": rate, "delay_ps": delay, "loss": loss} | (last if host == 0 else {})
        add_link(graph, host, switch, **values)
    return graph


def case_of(lab: Any, graph: Any = star, sizes: tuple[int, ...] = (50_000, 50_000, 20_000), **more: Any) -> Any:
    flows = [lab.flow(n, n + 1, 0, size) for n, size in enumerate(sizes)]
    return lab.case(graph, flows, **more)


def hits(run: Any) -> int:
    return int(run.did["hits"] + run.did["followers"])


def assert_miss(lab: Any, one: Any, other: Any, one_options: Any = None, other_options: Any = None) -> None:
    """A memo filled by one case has nothing for the other, and each still knows itself."""
    memo = lab.memo()
    lab.worm(one, memo=memo, **(one_options or {}))
    run = lab.worm(other, memo=memo, **(other_options or {}))
    assert hits(run) == 0
    assert run.times == lab.packet(other).times
    assert hits(lab.worm(one, memo=memo, **(one_options or {}))) >= 1
    assert hits(lab.worm(other, memo=memo, **(other_options or {}))) >= 1


NETWORKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ack model": ({}, {"acks": "lane"}),
    "ack interval": ({}, {"ack_every_packets": 2}),
    "ack size": ({}, {"ack_bytes": 64}),
    "payload": ({}, {"payload_bytes": 1500}),
    "header": ({}, {"header_bytes": 60}),
    "buffer": ({}, {"buffer_bytes": 16 * 2**20}),
    "kmin": ({}, {"ecn_kmin_bytes": 30_000, "ecn_kmax_bytes": 400_000}),
    "kmax": (
        {"ecn_kmin_bytes": 10**8, "ecn_kmax_bytes": 10**9},
        {"ecn_kmin_bytes": 10**8, "ecn_kmax_bytes": 10**9 + 1},
    ),
    "pmax": (
        {"ecn_kmin_bytes": 10**8, "ecn_kmax_bytes": 10**9},
        {"ecn_kmin_bytes": 10**8, "ecn_kmax_bytes": 10**9, "ecn_pmax": 0.3},
    ),
    "no ecn": ({}, {"ecn": False}),
    "clock": ({}, {"clock_resolution_ps": 1000}),
    "pfc": ({}, {"pfc": False}),
    "pfc threshold": ({}, {"pfc_alpha_shift": 2}),
    "rto": ({}, {"rto_ps": 10**9}),
    "reliability": ({}, {"reliability": "selective-repeat"}),
    "reorder window": (
        {"reliability": "selective-repeat"},
        {"reliability": "selective-repeat", "reorder_window_packets": 9},
    ),
    "int unit": ({}, {"int_tx_unit_bytes": 128}),
    "nic wake": ({}, {"nic_wake": "earliest"}),
    "order": ({}, {"order": "scheduled"}),
}


@pytest.mark.parametrize("what", NETWORKS)
def test_network_options(lab, what):
    one, other = NETWORKS[what]
    assert_miss(lab, case_of(lab, network=one), case_of(lab, network=other))


def test_global_base_rtt(lab):
    """The same five hosts, and two more far away: only the largest RTT of the network differs."""

    def wide(delay: int) -> Any:
        graph = star()
        far = graph.number_of_nodes()
        new = new_graph(7)
        switch, other = add_switch(new), add_switch(new)
        for host in range(5):
            add_link(new, host, switch, 100 * GBPS, US)
        for host in (5, 6):
            add_link(new, host, other, 100 * GBPS, delay)
        add_link(new, switch, other, 100 * GBPS, US)
        assert far == 6
        return new

    network = {"base_rtt": "global"}
    assert_miss(
        lab, case_of(lab, lambda: wide(US), network=network), case_of(lab, lambda: wide(9 * US), network=network)
    )


@pytest.mark.parametrize("last", [{"rate_bps": 50 * GBPS}, {"delay_ps": US + 1}, {"loss": 1e-9}], ids=str)
def test_links(lab, last):
    memo = lab.memo()
    lab.worm(case_of(lab), memo=memo)
    other = case_of(lab, lambda: star(**last))
    run = lab.worm(other, memo=memo)
    assert hits(run) == 0
    assert run.times == lab.packet(other).times


def test_a_lossy_link_is_never_remembered(lab):
    case = case_of(lab, lambda: star(loss=0.01))
    memo = lab.memo()
    for _ in range(2):
        run = lab.worm(case, memo=memo)
        assert run.did["looks"] == 0 and run.times == lab.packet(case).times


@pytest.mark.parametrize("sizes", [(50_000, 50_000, 20_001), (50_000, 20_000, 50_000), (50_000, 50_000)], ids=str)
def test_sizes(lab, sizes):
    assert_miss(lab, case_of(lab), case_of(lab, sizes=sizes))


def test_same_conflict_graph(lab):
    """Three flows on one link, or pairwise on three links: the conflict graphs are the same."""

    def three(pairwise: bool) -> Any:
        graph = new_graph(6)
        a, b, c = (add_switch(graph) for _ in range(3))
        for host in range(6):
            add_link(graph, host, (a, b, c)[host % 3], 400 * GBPS, US)
        for x, y in ((a, b), (b, c), (c, a)):
            add_link(graph, x, y, 100 * GBPS, US)
        ways = ((a, b, c), (b, c, a), (c, a, b)) if pairwise else ((a, b, c),) * 3
        pairs = ((0, 5), (1, 3), (2, 4)) if pairwise else ((0, 2), (0, 5), (3, 5))
        return graph, [
            lab.flow(n, src, dst, 100_000, path=(src, *way, dst), ack_path=(dst, *reversed(way), src))
            for n, ((src, dst), way) in enumerate(zip(pairs, ways, strict=True))
        ]

    one, other = [lab.case(lambda p=p: three(p)[0], three(p)[1]) for p in (False, True)]
    assert_miss(lab, one, other)


def test_order_of_links(lab):
    """The same star with its links in another order: what arrives first in one instant differs."""

    def permuted(order: tuple[int, ...]) -> Any:
        graph = new_graph(5)
        switch = add_switch(graph)
        for host in order:
            add_link(graph, host, switch, 100 * GBPS, US)
        return graph

    assert_miss(lab, case_of(lab, lambda: permuted((0, 1, 2, 3, 4))), case_of(lab, lambda: permuted((0, 3, 1, 2, 4))))
    # Another place, the same ranks: a hit.
    memo = lab.memo()
    lab.worm(case_of(lab, lambda: permuted((0, 1, 2, 3, 4))), memo=memo)
    assert hits(lab.worm(case_of(lab, lambda: permuted((4, 0, 1, 2, 3))), memo=memo)) == 1


def test_order_of_queue_pairs(lab):
    """Two flows of one NIC that change places in its round robin."""
    flows = [lab.flow(0, 1, 0, 50_000), lab.flow(1, 1, 2, 50_000), lab.flow(2, 3, 0, 50_000)]
    swapped = [lab.flow(0, 1, 2, 50_000), lab.flow(1, 1, 0, 50_000), lab.flow(2, 3, 0, 50_000)]
    one, other = lab.case(star, flows), lab.case(star, swapped)
    memo = lab.memo()
    lab.worm(one, memo=memo)
    run = lab.worm(other, memo=memo)
    assert run.times == lab.packet(other).times


def test_elsewhere_hits(lab):
    """Identical partitions anywhere, at any time, with ranks in the same order."""
    place = [0, 5, 10, 15]
    flows = []
    for n, (base, start) in enumerate([(0, 0), (5, 900 * US), (10, 900 * US + 7), (15, 2500 * US)]):
        for k, size in enumerate((50_000, 30_000, 50_000)):
            flows.append(lab.flow(3 * n + k, base + k + 1, base, size, start))
    case = lab.case(lambda: lab.stars(4, 5), flows)
    run = lab.worm(case, memo=lab.memo())
    assert run.did["misses"] == 1 and hits(run) == len(place) - 1
    assert run.times == lab.packet(case).times
    # In a network around it, and with other flows elsewhere.
    memo = lab.memo()
    lab.worm(lab.case(lambda: lab.stars(1, 5), flows[:3]), memo=memo)
    assert hits(lab.worm(case, memo=memo)) == 4


# --- congestion control, policies, code ---


def choice_of(plugins: Any, kind: str, name: str, **options: Any) -> Choice:
    return Choice(
        kind=kind, name=name, entry=plugins.registry.get(kind, name), config=plugins.make_config(kind, name, options)
    )


def other_values(field: Any, value: Any) -> list[Any]:
    """Values near one of an option, of its type."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [value * 0.99, value * 1.01]
    if isinstance(value, str):
        return ["fixed", "variable", "bdp"]
    if value is None:
        return [12_345_678, 3, 0.5, 10**9]
    return []


@pytest.fixture(scope="module")
def plugins() -> Any:
    return load_plugins(builtin=(builtin,))


@pytest.mark.parametrize("cca", ["none", "hpcc", "dcqcn", "timely", "dctcp", "swift"])
def test_every_option_of_a_cca(lab, plugins, cca):
    base = choice_of(plugins, "cca", cca)
    digest = Acceleration().dynamics([base])
    assert digest == Acceleration().dynamics([choice_of(plugins, "cca", cca)])
    case = case_of(lab, cca=cca)
    memo = lab.memo()
    lab.worm(case, memo=memo, dynamics=digest)
    for field in attrs.fields(type(base.config)):
        changed = None
        for value in other_values(field, getattr(base.config, field.name)):
            try:
                changed = choice_of(plugins, "cca", cca, **{field.name: value})
                break
            except Exception:
                continue
        assert changed is not None, f"no other value for {field.name}"
        other = attrs.evolve(case, cca_options={field.name: getattr(changed.config, field.name)})
        assert hits(lab.worm(other, memo=memo, dynamics=Acceleration().dynamics([changed]))) == 0, field.name
    assert hits(lab.worm(case, memo=memo, dynamics=digest)) == 1


@pytest.mark.parametrize("option", ["flow_tolerance", "window_rtts", "drift_tolerance", "force"])
def test_options_of_a_policy(plugins, option):
    base = choice_of(plugins, "fast-forward", "settled")
    value = other_values(None, getattr(base.config, option))[0]
    other = choice_of(plugins, "fast-forward", "settled", **{option: value})
    digests = {Acceleration(fast_forward=c).dynamics([]) for c in (base, other, None)}
    assert len(digests) == 3


def test_partitioner_and_routing(plugins):
    digests = {
        Acceleration(partitioner=choice_of(plugins, "partitioner", n)).dynamics([])
        for n in ("ports", "switches", "whole")
    }
    digests |= {Acceleration().dynamics([choice_of(plugins, "routing", n)]) for n in ("ecmp", "flowlet", "spray")}
    assert len(digests) == 6


PLUGIN = """
from wormhole_core import Cca, Component, NoConfig, hookimpl

class Mine(Cca):
    window_bytes = {window}
    rate_bps = None
    def __init__(self, config, flow, rng):
        self.rng = rng
    def on_ack(self, fb):
        {on_ack}
    def snapshot(self, now_ps, snd_una):
        return (self.window_bytes,)
    def restore(self, state, now_ps, snd_una):
        (self.window_bytes,) = state

@hookimpl
def wormhole_ccas():
    return [Component(name="mine", build=Mine, summary="for a test", config=NoConfig)]
"""


def written(folder: Path, window: int = 20_000, on_ack: str = "pass") -> Any:
    """A plugin file with one CCA, loaded."""
    file = folder / "mine.py"
    file.write_text(PLUGIN.format(window=window, on_ack=on_ack), encoding="utf-8")
    return load_plugins(builtin=(builtin,), files=[file])


def test_edited_source(lab, tmp_path):
    case = case_of(lab)
    memo = lab.memo()
    seen = []
    for window in (20_000, 20_001, 20_000):
        mine = choice_of(written(tmp_path, window), "cca", "mine")
        run = lab.worm(case, memo=memo, dynamics=Acceleration().dynamics([mine]), make_cca=mine.build)
        seen.append(hits(run))
        assert run.times == lab.packet(case, make_cca=mine.build).times
    assert seen == [0, 0, 1]


# --- random numbers ---

RANDOM_MARKS = {"ecn_kmin_bytes": 2_000, "ecn_kmax_bytes": 400_000, "ecn_pmax": 0.5}


def test_seed_where_draws_happen(lab):
    case = case_of(lab, cca="dctcp", network=RANDOM_MARKS)
    assert_miss(lab, case, attrs.evolve(case, seed=2))
    quiet = case_of(lab, cca="dctcp", network={"ecn_kmin_bytes": 10**8, "ecn_kmax_bytes": 10**9})
    memo = lab.memo()
    lab.worm(quiet, memo=memo)
    assert hits(lab.worm(attrs.evolve(quiet, seed=2), memo=memo)) == 1


def test_seed_where_congestion_control_draws(lab, tmp_path):
    """A CCA may draw from its own stream, when it is built or at any ACK."""
    code = "self.window_bytes = 8000 + self.rng.below(20_000)"
    mine = choice_of(written(tmp_path, on_ack=code), "cca", "mine")
    case = case_of(lab)
    options = {"make_cca": mine.build}
    memo = lab.memo()
    first = lab.worm(case, memo=memo, **options)
    assert first.times == lab.packet(case, **options).times
    other = attrs.evolve(case, seed=2)
    run = lab.worm(other, memo=memo, **options)
    assert hits(run) == 0
    assert run.times == lab.packet(other, **options).times


def test_copies_where_congestion_control_draws(lab, tmp_path):
    """Copies alive at once do not all get the luck of the first."""
    code = "self.window_bytes = 8000 + self.rng.below(20_000)"
    mine = choice_of(written(tmp_path, on_ack=code), "cca", "mine")
    flows = [lab.flow(3 * n + k, 5 * n + k + 1, 5 * n, 50_000) for n in range(12) for k in range(3)]
    run = lab.worm(lab.case(lambda: lab.stars(12, 5), flows), memo=lab.memo(), make_cca=mine.build)
    ends = {tuple(run.fct[3 * n + k] for k in range(3)) for n in range(12)}
    assert len(ends) > 4


def test_graph_has_no_say(lab):
    """Names and tiers of nodes, and links nobody uses, are not part of how flows move."""

    def other() -> Any:
        graph = star()
        nx.set_node_attributes(graph, {5: 3}, "tier")
        return graph

    memo = lab.memo()
    lab.worm(case_of(lab), memo=memo)
    assert hits(lab.worm(case_of(lab, other), memo=memo)) == 1
