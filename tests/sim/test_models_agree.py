"""The fast and the readable model give the same results, to the picosecond, on random networks.

Every flow's completion and last-byte time, retransmitted bytes, and every counter of every port.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wormhole_core import Graph, Transfer, add_link, add_switch, new_graph
from wormhole_core.errors import ConfigError

G = 10**9
RATES = st.sampled_from([100 * G, 10 * G, 25 * G, 40 * G])
DELAYS = st.sampled_from([1_000, 100_000, 500_000, 1_000_000, 1_234_567])
SHORT = st.sampled_from([1_000, 83_840, 100_000])
LOSSES = st.sampled_from([0.0, 0.0, 0.0, 0.0, 0.01, 0.1])
HORIZON_PS = 20 * 10**9
MAX_EVENTS = 200_000


@attrs.define
class Case:
    """One experiment."""

    graph: Graph
    flows: list[Transfer]
    after: dict[int, list[int]]
    network: dict[str, Any]
    cca: str
    cca_options: dict[str, Any]
    routing: str
    seed: int

    def __repr__(self) -> str:
        links = [(a, b, d["rate_bps"], d["delay_ps"], d["loss"]) for a, b, d in self.graph.edges(data=True)]
        flows = [(t.id, t.src, t.dst, t.size_bytes, t.delay_ps) for t in self.flows]
        return (
            f"Case(hosts={len(self.graph.graph['hosts'])}, links={links}, flows={flows}, after={self.after}, "
            f"network={self.network}, cca={self.cca!r} {self.cca_options}, routing={self.routing!r}, seed={self.seed})"
        )


@st.composite
def graphs(draw: Any, storm: bool) -> Graph:
    shape = draw(st.sampled_from(["star", "dumbbell", "leaf-spine"]))
    hosts = draw(st.sampled_from([4, 6] if storm else [3, 2, 4, 6]))
    graph = new_graph(hosts)
    same = draw(st.sampled_from([True, True, False]))
    rate = draw(RATES)
    delay, loss = draw(SHORT if storm else DELAYS), 0.0 if storm else draw(LOSSES)

    def link(a: int, b: int) -> None:
        if same:
            add_link(graph, a, b, rate, delay, loss)
        else:
            far = draw(SHORT if storm else DELAYS)
            add_link(graph, a, b, draw(RATES), far, 0.0 if storm else draw(LOSSES))

    leaves = [add_switch(graph) for _ in range({"star": 1, "dumbbell": 2}.get(shape) or draw(st.integers(2, 3)))]
    nics = draw(st.sampled_from([1, 1, 2]))
    for host in range(hosts):
        for nic in range(nics):
            link(host, leaves[(host + nic) % len(leaves)])
    if shape == "dumbbell":
        for _ in range(draw(st.integers(1, 2))):
            link(leaves[0], leaves[1])
    elif shape == "leaf-spine":
        spines = [add_switch(graph) for _ in range(draw(st.integers(1, 2)))]
        parallel = draw(st.integers(1, 2))
        for leaf in leaves:
            for spine in spines:
                for _ in range(parallel):
                    link(leaf, spine)
    return graph


def taken_bytes(graph: Graph, network: dict[str, Any]) -> int:
    """At least what reserves and headrooms take of any switch's buffer."""
    most = 0
    for node in graph:
        total = 0
        for _, _, data in graph.edges(node, data=True):
            derived = data["rate_bps"] * data["delay_ps"] // (4 * 10**12) + 3 * (network["payload_bytes"] + 90) + 43
            headroom = (network["pfc_headroom_bytes"] or derived) if network["pfc"] else 0
            total += network["pfc_reserve_bytes"] + headroom
        most = max(most, total)
    return most


@st.composite
def cases(draw: Any) -> Case:
    # In a storm short links and a small buffer make senders pause and go on all the time.
    storm = draw(st.sampled_from([False, False, True]))
    graph = draw(graphs(storm))
    hosts = len(graph.graph["hosts"])
    payload = draw(st.sampled_from([300, 1000, 4096]))
    flows, after = [], {}
    incast = storm or draw(st.booleans())
    for number in range(draw(st.integers(4 if storm else 1, 9))):
        src = draw(st.integers(0, hosts - 1))
        dst = 0 if incast else draw(st.integers(0, hosts - 1))
        if src == dst:
            dst = (src + 1) % hosts
        size = draw(st.one_of(st.integers(1, 3), st.integers(1, 60).map(lambda n: n * payload), st.integers(1, 60_000)))
        if storm:
            size = payload * draw(st.integers(10, 60))
        start = draw(st.sampled_from([0, 0, 0, 1_000, 1_000_000, 3_333_333]))
        flows.append(Transfer(id=number, src=src, dst=dst, size_bytes=size, delay_ps=start))
        if number and draw(st.integers(0, 2)) == 0:
            after[number] = [draw(st.integers(0, number - 1))]
    selective = draw(st.booleans())
    network: dict[str, Any] = {
        "payload_bytes": payload,
        "clock_resolution_ps": draw(st.sampled_from([1, 1, 1000])),
        "buffer_bytes": 0,
        "pfc": draw(st.sampled_from([True, True, False])),
        "pfc_reserve_bytes": draw(st.sampled_from([0, 500, 4096])),
        "pfc_headroom_bytes": draw(st.sampled_from([None, 1, 3000, 20_000])),
        "pfc_resume_offset_bytes": draw(st.sampled_from([0, 3072])),
        "pfc_alpha_shift": draw(st.sampled_from([0, 3])),
        "ecn": draw(st.booleans()),
        "ecn_kmin_bytes": draw(st.sampled_from([1, 2000, 10_000])),
        "ecn_kmax_bytes": draw(st.sampled_from([10_000, 40_000])),
        "ecn_scales_with_rate": draw(st.booleans()),
        "acks": draw(st.sampled_from(["in-band", "in-band", "lane"])),
        "ack_every_packets": draw(st.sampled_from([1, 1, 2, 5])),
        "ack_obeys_pause": draw(st.booleans()),
        "dependency": draw(st.sampled_from(["receiver", "sender"])),
        "nic_wake": draw(st.sampled_from(["any", "earliest"])),
        "reliability": "selective-repeat" if selective else "go-back-n",
        "rto_ps": draw(st.sampled_from([None, 20_000_000, 100_000_000])),
        "reorder_window_packets": draw(st.sampled_from([1, 3, 100])),
    }
    if storm:
        network |= {"pfc": True, "pfc_alpha_shift": 0, "ecn": False, "rto_ps": None, "acks": "in-band"}
    # Little to share, so that thresholds matter, or plenty.
    shared = draw(st.sampled_from([12, 20, 30, 45] if storm else [2, 4, 10, 30, 10_000])) * (payload + 150)
    network["buffer_bytes"] = taken_bytes(graph, network) + shared
    if draw(st.integers(0, 3)) == 0:
        ends = [(a, b) for a, b, _ in graph.edges(data=True)]
        failed = draw(st.lists(st.sampled_from(ends), min_size=1, max_size=2))
        network["link_failures"] = tuple(
            (draw(st.sampled_from([1, 2_000_000, 4_321_000, 10_000_000])), a, b) for a, b in failed
        )
    cca = draw(st.sampled_from(["none", "none", "hpcc", "dcqcn", "timely", "dctcp", "swift"]))
    options: dict[str, Any] = {}
    if storm:
        cca = draw(st.sampled_from(["none", "none", "dcqcn"]))
    elif cca == "none" and draw(st.booleans()):
        options["window"] = draw(st.sampled_from(["1", "5000", "20000", "bdp"]))
    return Case(
        graph,
        flows,
        after,
        network,
        cca,
        options,
        draw(st.sampled_from(["ecmp", "spray", "flowlet"])),
        draw(st.integers(1, 3)),
    )


def outcome(kit: Any, case: Case, model: str) -> dict[str, Any]:
    """Everything that must agree: errors, flows done and under way, counters of ports."""
    try:
        run = kit.make(
            case.graph,
            case.flows,
            after=case.after,
            network=case.network,
            cca=case.cca,
            routing=case.routing,
            cca_options=case.cca_options,
            seed=case.seed,
            model=model,
        )
        env = run.simulation.motion.env
        assert env.advance(MAX_EVENTS, HORIZON_PS), "the case is too long"
    except ConfigError as error:
        assert "cannot be reached" in str(error)
        return {"error": str(error)}
    flows = {i: (r.fct_ps, r.rx_last_byte_ps, r.retransmitted_bytes) for i, r in run.records.items()}
    under_way = {
        f.transfer.id: (f.snd_una, f.snd_nxt, f.rcv.next_seq, f.retransmitted_bytes)
        for f in run.simulation.motion.flows.values()
    }
    ports = {
        f"{p.index}: {p.node}->{p.peer}": {
            name: getattr(p, name)
            for name in (
                "marks",
                "pauses",
                "paused_ps",
                "drops",
                "dropped_bytes",
                "tx_bytes",
                "tx_frames",
                "max_queue",
                "flows",
                "run_bytes",
            )
            if name != "run_bytes"
        }
        for p in run.simulation.network.port_list
    }
    stopped = sorted(p.index for p in run.simulation.motion.paused_ports())
    return {"flows": flows, "under_way": under_way, "ports": ports, "stopped": stopped}


def check(kit: Any, case: Case) -> None:
    assert outcome(kit, case, "event") == outcome(kit, case, "process")


RELAXED: dict[str, Any] = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=60, derandomize=True, **RELAXED)
@given(case=cases())
def test_same_results(kit: Any, case: Case) -> None:
    check(kit, case)


@pytest.mark.long
@settings(max_examples=3000, **RELAXED)
@given(case=cases())
def test_same_results_many(kit: Any, case: Case) -> None:
    check(kit, case)
