"""Runs of the packet model for tests: `kit.run(graph, flows, ...)` gives records and the simulation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import pytest

import wormhole_core.builtin.plugin as builtin
from wormhole_core import Graph, Observer, Transfer, Workload, add_link, add_switch, new_graph, stream
from wormhole_core.component import make_config
from wormhole_core.contracts.result import FlowRecord
from wormhole_core.plugins import load_plugins
from wormhole_core.sim.config import NetworkConfig
from wormhole_core.sim.simulation import Simulation

GBPS = 10**9
US = 10**6


class Script(Workload):
    """Transfers as given; `after[id]` names those that must be done before `id` is emitted."""

    def __init__(self, transfers: Sequence[Transfer], after: dict[Any, Iterable[Any]] | None = None) -> None:
        self.left = {t.id: set((after or {}).get(t.id, ())) for t in transfers}
        self.todo = {t.id: t for t in transfers}

    def advance(self, now_ps: int, done: Sequence[Any]) -> list[Transfer]:
        for waits in self.left.values():
            waits.difference_update(done)
        return [self.todo.pop(i) for i in [i for i in self.todo if not self.left[i]]]

    def waiting(self) -> list[str]:
        return [f"flow {i} waits for {sorted(self.left[i])}" for i in self.todo]


class Records(Observer):
    """Keeps finished flows."""

    def __init__(self) -> None:
        self.flows: dict[Any, FlowRecord] = {}

    def flow_finished(self, record: FlowRecord) -> None:
        self.flows[record.id] = record


class Run:
    """A simulation with its records."""

    def __init__(self, simulation: Simulation, records: Records) -> None:
        self.simulation = simulation
        self.records = records.flows

    def finish(self) -> Run:
        """Run to the end."""
        while not self.simulation.advance():
            pass
        return self

    def drain(self) -> Run:
        """After the end: let everything that is still on its way arrive."""
        while not self.simulation.motion.env.advance(100_000):
            pass
        return self

    @property
    def fct(self) -> dict[Any, int]:
        """FCT in ps by flow id."""
        return {i: r.fct_ps for i, r in self.records.items()}

    @property
    def worst_ps(self) -> int:
        return max(self.fct.values())


class Kit:
    """Builds simulations from components by name."""

    def __init__(self) -> None:
        self.registry = load_plugins(builtin=(builtin,)).registry

    def component(self, kind: str, name: str) -> Any:
        return self.registry.get(kind, name).component

    def graph(self, name: str, **options: Any) -> Graph:
        topology = self.component("topology", name)
        return topology.build(make_config("topology", topology.config, options), stream(1, "topology"))

    def make(
        self,
        graph: Graph,
        flows: Sequence[Transfer] | Workload,
        *,
        cca: str = "none",
        cca_options: dict[str, Any] | None = None,
        network: dict[str, Any] | None = None,
        routing: str = "ecmp",
        seed: int = 1,
        model: str = "event",
        after: dict[Any, Iterable[Any]] | None = None,
        observers: Sequence[Observer] = (),
        **options: Any,
    ) -> Run:
        kind, route = self.component("cca", cca), self.component("routing", routing)
        config = make_config("cca", kind.config, cca_options or {})
        workload = flows if isinstance(flows, Workload) else Script(flows, after)
        records = Records()
        simulation = Simulation(
            graph,
            make_config("network", NetworkConfig, network or {}),
            make_cca=lambda info, rng: kind.build(config, info, rng),
            workload=workload,
            routing=route.build(route.config(), stream(seed, "routing")),
            seed=seed,
            model=model,
            per_flow_routing=route.traits.get("per_flow", False),
            observers=[records, *observers],
            **options,
        )
        return Run(simulation, records)

    def run(self, graph: Graph, flows: Sequence[Transfer] | Workload, **options: Any) -> Run:
        """A simulation run to its end."""
        return self.make(graph, flows, **options).finish()

    @staticmethod
    def flow(number: int, src: int, dst: int, size_bytes: int, start_ps: int = 0, **more: Any) -> Transfer:
        return Transfer(id=number, src=src, dst=dst, size_bytes=size_bytes, delay_ps=start_ps, **more)

    @staticmethod
    def chain(switches: int, rate_bps: int, delay_ps: int, loss: float = 0.0) -> Graph:
        """Hosts 0 and 1 with this many switches between them."""
        graph = new_graph(2)
        nodes = [0, *(add_switch(graph) for _ in range(switches)), 1]
        for a, b in pairwise(nodes):
            add_link(graph, a, b, rate_bps, delay_ps, loss)
        return graph

    @staticmethod
    def star(hosts: int, rate_bps: int = 100 * GBPS, delay_ps: int = US, loss: float = 0.0) -> Graph:
        graph = new_graph(hosts)
        switch = add_switch(graph)
        for host in range(hosts):
            add_link(graph, host, switch, rate_bps, delay_ps, loss)
        return graph


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()


@pytest.fixture(params=["event", "process"])
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)
