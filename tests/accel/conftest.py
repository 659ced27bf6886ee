"""Simulations under acceleration for tests: `lab.packet(case)`, `lab.worm(case)`, random cases."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest

import wormhole_core.builtin.plugin as builtin
from wormhole_core import Graph, Observer, Transfer, Workload, add_link, add_switch, new_graph, stream
from wormhole_core.accel.simulation import WormholeSimulation
from wormhole_core.component import make_config
from wormhole_core.plugins import load_plugins
from wormhole_core.sim.config import NetworkConfig
from wormhole_core.sim.simulation import Simulation

GBPS = 10**9
US = 10**6
CCAS = ("none", "hpcc", "dcqcn", "timely", "dctcp", "swift")


class Script(Workload):
    """Transfers as given; `after[id]` names those that must be done before `id` is emitted."""

    def __init__(self, transfers: Sequence[Transfer], after: dict[Any, Sequence[Any]]) -> None:
        self.left = {t.id: set(after.get(t.id, ())) for t in transfers}
        self.todo = {t.id: t for t in transfers}
        self.next: dict[Any, list[Any]] = {}
        for i, waits in self.left.items():
            for other in waits:
                self.next.setdefault(other, []).append(i)

    def advance(self, now_ps: int, done: Sequence[Any]) -> list[Transfer]:
        if not done:
            return [self.todo[i] for i in self.todo if not self.left[i]]
        out = []
        for other in done:
            for i in self.next.get(other, ()):
                self.left[i].discard(other)
                if not self.left[i]:
                    out.append(self.todo[i])
        return out


class Records(Observer):
    """Keeps finished flows and what acceleration said."""

    def __init__(self) -> None:
        self.flows: list[Any] = []
        self.hits = 0
        self.skips: list[tuple[int, int]] = []

    def flow_finished(self, record: Any) -> None:
        self.flows.append(record)

    def memo_hit(self, *_args: Any) -> None:
        self.hits += 1

    def skipped(self, _flows: tuple[int, ...], begin_ps: int, end_ps: int) -> None:
        self.skips.append((begin_ps, end_ps))


@attrs.define
class Case:
    """A scenario; `make_graph` is called for every run, so that runs share nothing."""

    make_graph: Callable[[], Graph]
    flows: list[Transfer]
    after: dict[Any, list[Any]] = attrs.field(factory=dict)
    cca: str = "hpcc"
    cca_options: dict[str, Any] = attrs.field(factory=dict)
    network: dict[str, Any] = attrs.field(factory=dict)
    routing: str = "ecmp"
    seed: int = 1
    workload: Callable[[], Workload] | None = None


class Outcome:
    """What a run gave."""

    def __init__(self, simulation: Any, records: Records) -> None:
        self.simulation, self.records = simulation, records

    def finish(self) -> Outcome:
        """Run to the end."""
        while not self.simulation.advance():
            pass
        return self

    @property
    def times(self) -> dict[int, tuple[int, int, int, int]]:
        """Flow index -> start, FCT, last byte at the receiver, bytes sent again."""
        return {r.index: (r.start_ps, r.fct_ps, r.rx_last_byte_ps, r.retransmitted_bytes) for r in self.records.flows}

    @property
    def fct(self) -> dict[Any, int]:
        """FCT by flow id."""
        return {r.id: r.fct_ps for r in self.records.flows}

    @property
    def makespan(self) -> int:
        return max(r.start_ps + r.fct_ps for r in self.records.flows)

    @property
    def links(self) -> list[tuple[int, ...]]:
        """Per direction of a link: bytes, frames, marks, drops, pauses."""
        return [(r.tx_bytes, r.tx_frames, r.marks, r.drops, r.pauses) for r in self.simulation.link_records()]

    @property
    def events(self) -> int:
        return int(self.simulation.counters.events)

    @property
    def did(self) -> dict[str, Any]:
        """Statistics of the acceleration."""
        return dict(self.simulation.statistics())

    def assert_clean(self) -> None:
        """Nothing is left anywhere once everything on its way has arrived."""
        sim = self.simulation
        assert not sim.controller.owners and not sim.controller.partitions
        assert not sim.motion.flows
        while not sim.motion.env.advance(100_000):
            pass
        for port in sim.network.port_list:
            assert not (port.fifo or port.waiting or port.arrivals), f"frames left at port {port.index}"
            assert not port.flows, f"port {port.index} thinks it has {port.flows} flows"
        for switch in sim.motion.switches.values():
            assert switch.exact or not switch.held, f"switch {switch.node} still counts {switch.held} B"


class Lab:
    """Builds runs from components by name."""

    def __init__(self) -> None:
        self.registry = load_plugins(builtin=(builtin,)).registry

    def component(self, kind: str, name: str) -> Any:
        return self.registry.get(kind, name).component

    def graph(self, name: str, **options: Any) -> Graph:
        kind = self.component("topology", name)
        return kind.build(make_config("topology", kind.config, options), stream(1, "topology"))

    def memo(self, name: str = "memory", **options: Any) -> Any:
        kind = self.component("memo-backend", name)
        return kind.build(make_config("memo", kind.config, options))

    def policy(self, name: str = "settled", **options: Any) -> Callable[[Any, int], Any]:
        kind = self.component("fast-forward", name)
        config = make_config("policy", kind.config, options)
        return lambda info, number: kind.build(config, info, stream(1, "policy", number))

    def preset(self, label: str) -> tuple[str, dict[str, Any]]:
        """(name of the CCA, options) of a preset."""
        for entry in self.registry.entries("cca"):
            if label in entry.component.presets:
                return entry.name, entry.component.presets[label]
        raise KeyError(label)

    def labels(self) -> list[str]:
        """Labels of all presets of CCAs."""
        return sorted(label for entry in self.registry.entries("cca") for label in entry.component.presets)

    def make(self, cls: type, case: Case, make_cca: Any = None, **options: Any) -> Outcome:
        kind, route = self.component("cca", case.cca), self.component("routing", case.routing)
        config = make_config("cca", kind.config, case.cca_options)
        records = Records()
        simulation = cls(
            case.make_graph(),
            make_config("network", NetworkConfig, case.network),
            make_cca=make_cca or (lambda info, rng: kind.build(config, info, rng)),
            workload=case.workload() if case.workload else Script(case.flows, case.after),
            routing=route.build(route.config(), stream(case.seed, "routing")),
            seed=case.seed,
            per_flow_routing=route.traits.get("per_flow", False),
            observers=[records, *options.pop("observers", ())],
            **options,
        )
        return Outcome(simulation, records)

    def packet(self, case: Case, **options: Any) -> Outcome:
        return self.make(Simulation, case, **options).finish()

    def worm(self, case: Case, *, dynamics: bytes = b"test", tails: bool = False, **options: Any) -> Outcome:
        """memo: a store, None: off. make_policy: None: never skip."""
        return self.make(WormholeSimulation, case, dynamics=dynamics, tails=tails, **options).finish()

    @staticmethod
    def flow(number: int, src: int, dst: int, size_bytes: int, start_ps: int = 0, **more: Any) -> Transfer:
        return Transfer(id=number, src=src, dst=dst, size_bytes=size_bytes, delay_ps=start_ps, **more)

    @staticmethod
    def stars(count: int, hosts: int, rate_bps: int = 100 * GBPS, delay_ps: int = US, core: bool = False) -> Graph:
        """`count` stars side by side, joined by a core switch or not; host i of star s is s * hosts + i."""
        graph = new_graph(count * hosts)
        leaves = [add_switch(graph) for _ in range(count)]
        for star, leaf in enumerate(leaves):
            for i in range(hosts):
                add_link(graph, star * hosts + i, leaf, rate_bps, delay_ps)
        if core:
            top = add_switch(graph, tier=2)
            for leaf in leaves:
                add_link(graph, leaf, top, rate_bps, delay_ps)
        return graph

    @staticmethod
    def case(make_graph: Callable[[], Graph], flows: list[Transfer], **more: Any) -> Case:
        return Case(make_graph, flows, **more)

    # --- random cases ---

    def random_case(self, seed: int, **fixed: Any) -> Case:
        """Patterns that repeat on several stars at several times, flows across that interrupt them,
        flows that wait for others; links slow and fast, buffers large and small."""
        rnd = random.Random(seed)
        stars, hosts = rnd.randint(2, 5), rnd.randint(2, 4)
        rate = rnd.choice([25, 100]) * GBPS
        delay = rnd.choice([1, 500_000, US, 5 * US])
        core = rnd.random() < 0.8
        nics = rnd.choice([1, 1, 2])

        def make_graph() -> Graph:
            graph = self.stars(stars, hosts, rate, delay, core)
            if nics == 2:
                second = [add_switch(graph) for _ in range(stars)]
                for star, leaf in enumerate(second):
                    for i in range(hosts):
                        add_link(graph, star * hosts + i, leaf, rate, delay)
            return graph

        sizes = [1, 1000, 1001, 3000, 20_000, 150_000, 777_777]
        patterns = []
        for _ in range(rnd.randint(1, 3)):
            pairs = [rnd.sample(range(hosts), 2) for _ in range(rnd.randint(1, 4))]
            if rnd.random() < 0.3:
                pairs.append(pairs[0])
            patterns.append([(a, b, rnd.choice(sizes)) for a, b in pairs])
        flows: list[Transfer] = []
        after: dict[Any, list[Any]] = {}

        def add(src: int, dst: int, size: int, delay_ps: int, waits: list[Any] | None = None) -> None:
            flows.append(self.flow(len(flows), src, dst, size, delay_ps))
            if waits:
                after[len(flows) - 1] = waits

        now = 0
        for _ in range(rnd.randint(3, 8)):
            now += rnd.choice([0, 1, 3 * US, 50 * US, 300 * US]) + rnd.choice([0, 0, rnd.randint(0, 10 * US)])
            pattern = rnd.choice(patterns)
            for star in rnd.sample(range(stars), rnd.randint(1, stars)):
                offset = rnd.choice([0, 0, 0, 1, 1000, rnd.randint(0, 2 * US)])
                for a, b, size in pattern:
                    add(star * hosts + a, star * hosts + b, size, now + offset)
            if core and rnd.random() < 0.4:
                one, two = rnd.sample(range(stars), 2)
                add(one * hosts + rnd.randrange(hosts), two * hosts + rnd.randrange(hosts),
                    rnd.choice([2000, 300_000]), now + rnd.randint(0, 60 * US))  # fmt: skip
            if rnd.random() < 0.5:
                star = rnd.randrange(stars)
                a, b = rnd.sample(range(hosts), 2)
                add(star * hosts + a, star * hosts + b, rnd.choice([1, 2000, 300_000]),
                    rnd.choice([0, 0, 1, 10 * US]), [rnd.randrange(len(flows))])  # fmt: skip
        network: dict[str, Any] = {
            "dependency": rnd.choice(["receiver", "sender"]),
            "ack_every_packets": rnd.choice([1, 1, 2, 4]),
        }
        buffer = rnd.random()
        if buffer < 0.2:
            network |= {
                "buffer_bytes": rnd.choice([100_000, 300_000]),
                "pfc_headroom_bytes": 1,
                "pfc_reserve_bytes": 1000,
            }
        elif buffer < 0.4:
            network |= {"buffer_bytes": 2_000_000, "pfc_headroom_bytes": 20_000, "pfc_reserve_bytes": 1000}
        elif buffer < 0.5:
            network |= {"buffer_bytes": 200_000, "pfc": False}
        if rnd.random() < 0.5:
            network |= {"ecn_kmin_bytes": 20_000, "ecn_kmax_bytes": 20_000, "ecn_pmax": 1.0}
        else:
            network |= {"ecn_kmin_bytes": 10**9, "ecn_kmax_bytes": 10**9}
        more = rnd.random()
        if more < 0.15:
            network["acks"] = "lane"
        elif more < 0.3:
            network["reliability"] = "selective-repeat"
        elif more < 0.4:
            network["clock_resolution_ps"] = 1000
        elif more < 0.5:
            network["nic_wake"] = "earliest"
        if core and rnd.random() < 0.1:
            # One star loses its way to the others.
            victim = stars * hosts + rnd.randrange(stars)
            inside = [f for f in flows if f.src // hosts == f.dst // hosts]
            if len(inside) == len(flows):
                network["link_failures"] = ((rnd.randint(1, 100 * US), victim, stars * hosts + stars),)
        cca = rnd.choice(CCAS)
        return attrs.evolve(Case(make_graph, flows, after, cca, {}, network), **fixed)


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab()
