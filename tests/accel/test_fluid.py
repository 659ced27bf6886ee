"""Fluid mode: closed formulas, ACK load, conservation, dependencies, routing, failures, packet mode."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from wormhole_core import Cca, FlowInfo, Observer, Routing, Transfer, Workload, add_link, add_switch, new_graph, stream
from wormhole_core.accel.fluid import FluidSimulation
from wormhole_core.builtin.routing_ecmp import Ecmp
from wormhole_core.errors import ConfigError, PluginError, StalledError
from wormhole_core.sim.config import NetworkConfig
from wormhole_core.sim.simulation import Simulation
from wormhole_core.units import serialisation_ps

RATE_BPS = 100_000_000_000
DELAY_PS = 1_000_000
FRAME, PAYLOAD, ACK = 1048, 1000, 60
FRAME_PS, ACK_PS = 83_840, 4_800
REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"


class LineRate(Cca):
    """No control; a target utilisation as given."""

    __slots__ = ("target",)

    def __init__(self, flow: FlowInfo, target: float = 1.0) -> None:
        self.rate_bps, self.window_bytes, self.target = flow.line_rate_bps, None, target

    @property
    def target_utilisation(self) -> float:
        return self.target

    def on_ack(self, fb) -> None:
        pass

    def snapshot(self, now_ps, snd_una):
        return ()

    def restore(self, state, now_ps, snd_una) -> None:
        pass


class Script(Workload):
    """Transfers as given; `after[id]`: ids that must be done before `id` is emitted."""

    def __init__(self, transfers: Sequence[Transfer], after: dict[Any, tuple[Any, ...]]) -> None:
        self.todo = {t.id: t for t in transfers}
        self.left = {t.id: set(after.get(t.id, ())) for t in transfers}

    def advance(self, now_ps: int, done: Sequence[Any]) -> list[Transfer]:
        for waits in self.left.values():
            waits.difference_update(done)
        return [self.todo.pop(i) for i in list(self.todo) if not self.left[i]]


class Records(Observer):
    def __init__(self) -> None:
        self.flows: dict[Any, Any] = {}

    def flow_finished(self, record) -> None:
        self.flows[record.id] = record


def star(hosts: int, rate_bps: int = RATE_BPS):
    graph = new_graph(hosts)
    switch = add_switch(graph)
    for host in range(hosts):
        add_link(graph, host, switch, rate_bps, DELAY_PS)
    return graph


def diamond(spines: int = 2, hosts: int = 4):
    """Half of the hosts on each of two leaves, joined by spines."""
    graph = new_graph(hosts)
    leaves = [add_switch(graph), add_switch(graph)]
    for host in range(hosts):
        add_link(graph, host, leaves[host * 2 // hosts], RATE_BPS, DELAY_PS)
    for spine in [add_switch(graph) for _ in range(spines)]:
        for leaf in leaves:
            add_link(graph, leaf, spine, RATE_BPS, DELAY_PS)
    return graph


def flow(name, src, dst, size_bytes=1_000_000, **options):
    return Transfer(id=name, src=src, dst=dst, size_bytes=size_bytes, **options)


def make(graph, flows, *, kind=FluidSimulation, after=None, target=1.0, routing=None, observers=(), **options):
    """A simulation; options are those of the network, but for per_flow_routing, seed and start_jitter_ps."""
    own = {k: options.pop(k) for k in ("per_flow_routing", "seed", "start_jitter_ps", "model") if k in options}
    return kind(
        graph, NetworkConfig(**options), make_cca=lambda info, rng: LineRate(info, target),
        workload=Script(flows, after or {}), routing=routing or Ecmp(0), observers=observers, **own,
    )  # fmt: skip


def run(graph, flows, **options):
    records = Records()
    simulation = make(graph, flows, observers=[records], **options)
    while not simulation.advance():
        pass
    return records.flows, simulation


# --- one flow ---


@pytest.mark.parametrize("size_bytes", [1, 999, 1000, 1001, 123_456, 10_000_000])
@pytest.mark.parametrize("rate_bps", [RATE_BPS, 400_000_000_000, 33_333_333_333])
def test_one_flow_alone_takes_the_ideal_time(size_bytes, rate_bps):
    records, _ = run(star(2, rate_bps), [flow("a", 0, 1, size_bytes)])
    full, rest = divmod(size_bytes - 1, PAYLOAD)
    frame, last = serialisation_ps(FRAME, rate_bps), serialisation_ps(rest + 1 + FRAME - PAYLOAD, rate_bps)
    arrival = full * frame + (frame if full else last) + DELAY_PS + last + DELAY_PS
    record = records["a"]
    assert record.rx_last_byte_ps == arrival
    assert record.fct_ps == record.ideal_fct_ps == arrival + 2 * (serialisation_ps(ACK, rate_bps) + DELAY_PS)
    assert (record.source, record.start_ps, record.retransmitted_bytes) == ("fluid", 0, 0)


def test_one_flow_against_the_reference_simulator():
    """10 MB at 100 Gbps with a 1 ns clock and no reaction: 844,094 ns."""
    records, _ = run(star(2), [flow("a", 0, 1, 10_000_000)], clock_resolution_ps=1000)
    assert records["a"].fct_ps == 844_094_000


def test_target_utilisation_holds_at_switches_only():
    whole, _ = run(star(3), [flow("a", 0, 1)])
    part, _ = run(star(3), [flow("a", 0, 1)], target=0.8)
    sending = 1000 * FRAME_PS
    assert part["a"].fct_ps - whole["a"].fct_ps == pytest.approx(sending / 0.8 - sending, rel=1e-9)
    # Two flows of one NIC: each switch port is half used, the NIC is full.
    both = [flow("a", 0, 1), flow("b", 0, 2)]
    assert run(star(3), both, target=0.8)[0]["a"].fct_ps == run(star(3), both)[0]["a"].fct_ps


# --- shares ---


def test_incast_shares_equally():
    records, _ = run(star(5), [flow(i, i, 4) for i in range(4)])
    assert {r.fct_ps for r in records.values()} == {records[0].fct_ps}
    assert records[0].fct_ps - records[0].ideal_fct_ps == 3 * 1000 * FRAME_PS


def test_a_share_grows_when_others_leave():
    """1 MB beside 3 MB: half each for 2 MB on the wire, then the rest alone."""
    records, _ = run(star(3), [flow("small", 0, 2), flow("large", 1, 2, 3_000_000)])
    assert records["small"].fct_ps - records["small"].ideal_fct_ps == 1000 * FRAME_PS
    assert records["large"].fct_ps - records["large"].ideal_fct_ps == 1000 * FRAME_PS


@pytest.mark.parametrize(
    ("options", "ack_share"),
    [({}, ACK_PS / FRAME_PS), ({"ack_every_packets": 4}, ACK_PS / FRAME_PS / 4), ({"acks": "lane"}, 0.0)],
)
def test_acks_take_their_share_of_the_way_back(options, ack_share):
    """Two hosts that send to each other: data and the other's ACKs on each link."""
    records, _ = run(star(2), [flow("there", 0, 1), flow("back", 1, 0)], **options)
    late = records["there"].fct_ps - records["there"].ideal_fct_ps
    assert late == pytest.approx(1000 * FRAME_PS * ack_share, abs=1)
    assert records["back"].fct_ps == records["there"].fct_ps


def test_flows_that_share_nothing_do_not_notice_each_other():
    alone, _ = run(star(6), [flow("a", 0, 1)])
    beside, _ = run(star(6), [flow("a", 0, 1), flow("b", 2, 3, 777), flow("c", 4, 5, 5_000_000)])
    assert beside["a"].fct_ps == alone["a"].fct_ps


# --- conservation ---


@pytest.mark.parametrize("per_flow_routing", [True, False])
def test_every_byte_passes_every_port_of_its_path(per_flow_routing):
    flows = [flow(i, i % 4, (i + 1 + i % 3) % 4, 10_000 + 777 * i, delay_ps=100_000 * i) for i in range(24)]
    records, simulation = run(diamond(), flows, per_flow_routing=per_flow_routing)
    assert len(records) == 24
    sent = dict.fromkeys(range(4), 0)
    for t in flows:
        frames = -(-t.size_bytes // PAYLOAD)
        sent[t.src] += t.size_bytes + frames * (FRAME - PAYLOAD)
        sent[t.dst] += frames * ACK
    links = simulation.link_records()
    assert {r.node: r.tx_bytes for r in links if r.node in sent} == sent
    for node in range(4, 8):
        came = sum(r.tx_bytes for r in links if r.peer == node)
        went = sum(r.tx_bytes for r in links if r.node == node)
        assert went == pytest.approx(came, abs=0 if per_flow_routing else 60)
    assert all(r.busy_ps <= simulation.now_ps for r in links)
    assert simulation.counters.bytes_finished == simulation.counters.bytes_acked == sum(t.size_bytes for t in flows)


def test_counters_and_pending_on_the_way():
    simulation = make(star(3), [flow("a", 0, 2), flow("b", 1, 2), flow("later", 0, 1, delay_ps=10**12)])
    half_ps = 1000 * FRAME_PS
    assert simulation.advance(until_ps=half_ps)
    assert (simulation.now_ps, simulation.finished) == (half_ps, False)
    assert simulation.counters.bytes_acked == pytest.approx(1_000_000, abs=2)
    bottleneck = next(r for r in simulation.link_records() if (r.node, r.peer) == (3, 2))
    assert bottleneck.tx_bytes == pytest.approx(1000 * FRAME, abs=2)
    lines = simulation.pending()
    assert "flow a (0 -> 2): 500 kB of 1 MB moved, 50 Gbps on the wire" in lines[0]
    assert "'later' starts at 1000000000000 ps" in lines[-1]
    assert simulation.advance(until_ps=10**12 - 1)
    assert simulation.counters.flows_finished == 2
    assert simulation.counters.bytes_acked == 2_000_000
    assert simulation.counters.frame_hops_represented == 2 * 1000 * 4


# --- dependencies, time, determinism ---


@pytest.mark.parametrize("dependency", ["receiver", "sender"])
def test_dependants_start_when_their_transfer_is_done(dependency):
    flows = [flow("first", 0, 1), flow("second", 1, 2, delay_ps=5)]
    records, simulation = run(star(3), flows, after={"second": ("first",)}, dependency=dependency)
    first = records["first"]
    done = first.rx_last_byte_ps if dependency == "receiver" else first.fct_ps
    assert records["second"].start_ps == done + 5
    assert records["second"].fct_ps == records["second"].ideal_fct_ps or dependency == "receiver"
    assert simulation.finished and simulation.now_ps == records["second"].start_ps + records["second"].fct_ps


def test_slices_do_not_show():
    def flows():
        return [flow(i, i % 3, 3, 100_000 * (i + 1), delay_ps=1_000_003 * i) for i in range(9)]

    whole, _ = run(star(4), flows())
    records = Records()
    simulation = make(star(4), flows(), observers=[records])
    time_ps = 0
    while not simulation.finished:
        simulation.advance(1, until_ps=time_ps)
        time_ps += 123_457
    assert records.flows == whole


def test_symmetric_flows_end_together_in_few_events():
    """A ring of seven (a seventh is no binary fraction) for three rounds."""
    flows = [flow((k, i), i, (i + 1) % 7, 1_234_567) for k in range(3) for i in range(7)]
    after = {(k, i): ((k - 1, i), (k - 1, (i - 1) % 7)) for k in (1, 2) for i in range(7)}
    records, simulation = run(star(7), flows, after=after, dependency="sender")
    assert len({r.fct_ps for r in records.values()}) == 1
    assert simulation.executed == 1 + 3 * (1 + 7 + 1)


def test_jitter_moves_starts_by_seed():
    flows = [flow(i, i, 3) for i in range(3)]
    starts = [[r.start_ps for r in run(star(4), flows, start_jitter_ps=9999, seed=s)[0].values()] for s in (1, 1, 2)]
    assert starts[0] == starts[1] != starts[2]
    assert all(0 <= t <= 9999 for s in starts for t in s) and len(set(starts[0])) > 1


# --- routing, failures, refusals ---


def test_pinned_paths_and_spraying():
    pin = [(0, 4, 6, 5, 2), (1, 4, 6, 5, 3)]
    collide = [flow("a", 0, 2, path=pin[0]), flow("b", 1, 3, path=pin[1])]
    one, _ = run(diamond(), collide, acks="lane")
    assert one["a"].fct_ps - one["a"].ideal_fct_ps == 1000 * FRAME_PS
    sprayed, simulation = run(diamond(), [flow("a", 0, 2), flow("b", 1, 3)], per_flow_routing=False, acks="lane")
    assert sprayed["a"].fct_ps == sprayed["a"].ideal_fct_ps
    up = [r.tx_bytes for r in simulation.link_records() if r.node == 4 and r.peer in (6, 7)]
    assert up == [1000 * FRAME] * 2


class First(Routing):
    """Always the first way."""


def test_ports_are_those_of_the_routing():
    """The highest spine is offered first; hashing may take the other."""
    _, simulation = run(diamond(3), [flow("a", 0, 3)], routing=First())
    assert {r.peer for r in simulation.link_records() if r.node == 4 and r.peer > 5 and r.tx_frames} == {8}


@pytest.mark.parametrize("per_flow_routing", [True, False])
def test_a_failed_link_moves_its_flows(per_flow_routing):
    """Half of it by one spine, the rest by the other; nothing is lost."""
    records, simulation = run(
        diamond(), [flow("a", 0, 2)], routing=First(), per_flow_routing=per_flow_routing,
        link_failures=((500 * FRAME_PS, 4, 7),),
    )  # fmt: skip
    assert records["a"].fct_ps == records["a"].ideal_fct_ps
    up = {r.peer: r.tx_bytes for r in simulation.link_records() if r.node == 4 and r.peer > 5}
    assert up[7] == pytest.approx(FRAME * 1000 * (0.5 if per_flow_routing else 0.25), abs=2)
    assert up[6] + up[7] == pytest.approx(1000 * FRAME, abs=2)


@pytest.mark.parametrize("per_flow_routing", [True, False])
def test_a_flow_without_a_way_stalls_the_run(per_flow_routing):
    half_ps = 500 * FRAME_PS
    with pytest.raises(StalledError, match=r"(?s)stalled at .*flow a \(0 -> 1\): 500 kB of 1 MB moved, 0 Gbps"):
        run(star(2), [flow("a", 0, 1)], link_failures=((half_ps, 1, 2),), per_flow_routing=per_flow_routing)


def test_refusals():
    with pytest.raises(ConfigError, match="destination 9 is not in the topology"):
        run(star(2), [flow("a", 0, 9)])
    with pytest.raises(PluginError, match=r"cca LineRate: target_utilisation .*, got 1\.5"):
        run(star(2), [flow("a", 0, 1)], target=1.5)
    with pytest.raises(ConfigError, match=r"'process'.*fluid mode has none"):
        make(star(2), [], model="process")


def test_derived_says_what_fluid_mode_uses():
    derived = make(star(2), [flow("a", 0, 1)]).derived()
    assert derived["base RTT"].startswith("4.16 us") and "max-min" in derived["shares"]
    assert not any("ECN" in key or "PFC" in key for key in derived)


# --- against packet mode and the reference ---


def test_one_flow_per_port_agrees_with_packet_mode():
    """Three rounds of a ring with rests at the ends of frames: within 0.2 % per flow and at the end."""
    flows = [flow((k, i), i, (i + 1) % 4, 1_000_123) for k in range(3) for i in range(4)]
    after = {(k, i): ((k - 1, i), (k - 1, (i - 1) % 4)) for k in (1, 2) for i in range(4)}
    fluid, a = run(star(4), flows, after=after, dependency="sender")
    packet, b = run(star(4), flows, after=after, dependency="sender", kind=Simulation)
    for name, record in packet.items():
        assert fluid[name].fct_ps == pytest.approx(record.fct_ps, rel=2e-3)
        assert fluid[name].ideal_fct_ps == record.ideal_fct_ps
    assert a.now_ps == pytest.approx(b.now_ps, rel=2e-3)
    for ours, theirs in zip(a.link_records(), b.link_records(), strict=True):
        assert (ours.node, ours.link_index, ours.tx_bytes, ours.tx_frames) == (
            theirs.node, theirs.link_index, theirs.tx_bytes, theirs.tx_frames
        )  # fmt: skip


WITHIN = [
    # scenario, label, mean FCT, makespan: one flow per port agrees, shared ports do not have to.
    ("s5_ring8_10MB", "hpcc", 0.004, 0.004), ("s5_ring8_10MB", "dcqcn", 0.001, 0.001),
    ("s7_leafspine16_ring_10MB", "dcqcn", 0.001, 0.001), ("d1_ringallreduce8_10MB", "hpcc", 0.004, 0.004),
    ("d1_ringallreduce8_10MB", "dcqcn", 0.002, 0.002), ("s6_alltoall8_1MB", "dcqcn", 0.002, 0.002),
    ("training/w1_gpt13b_dp_128", "hpcc", 0.004, 0.004), ("training/w1_gpt13b_dp_128", "dcqcn", 0.001, 0.001),
    ("training/w3_pp_dp_overlap_64", "hpcc", 0.01, 0.06), ("training/w3_pp_dp_overlap_64", "dcqcn", 0.15, 0.20),
]  # fmt: skip


@pytest.mark.skipif(not REFERENCE.exists(), reason="../shared/reference is not beside the checkout")
@pytest.mark.parametrize(("scenario", "label", "mean", "makespan"), WITHIN, ids=lambda value: str(value))
def test_against_the_reference(scenario, label, mean, makespan):
    from wormhole_core.api import load
    from wormhole_core.run.build import apply_preset, build
    from wormhole_core.run.experiment import Origin, experiment_from

    folder, origin = REFERENCE / scenario, Origin(text="test")
    files = {"flows": str(folder / "flows.csv")}
    if (folder / "paths.csv").exists():
        files["paths"] = str(folder / "paths.csv")
    experiment = experiment_from({"topology": {"file": str(folder / "topology.json")}, "workload": files})
    plugins = load(())
    apply_preset(experiment, plugins, f"reference:{label}", origin)
    parts, records = build(experiment, plugins), Records()
    simulation = FluidSimulation(
        parts.graph, parts.network, make_cca=parts.make_cca, workload=parts.workload, routing=parts.routing,
        observers=[records],
    )  # fmt: skip
    while not simulation.advance():
        pass
    with open(folder / f"fct_{label}.csv") as lines:
        theirs = {int(r["flow_id"]): r for r in csv.DictReader(lines)}
    assert records.flows.keys() == theirs.keys()
    ends = [int(r.get("begin_ns") or 0) + int(r["fct_ns"]) for r in theirs.values()]
    mean_ps = sum(r.fct_ps for r in records.flows.values()) / len(theirs)
    assert mean_ps == pytest.approx(1000 * sum(int(r["fct_ns"]) for r in theirs.values()) / len(theirs), rel=mean)
    assert simulation.now_ps == pytest.approx(1000 * max(ends), rel=makespan)


def test_mode_fluid_is_an_engine_of_the_runner():
    from wormhole_core.api import simulate

    experiment = {
        "topology": {"plugin": "star", "hosts": 4, "rate_bps": RATE_BPS, "delay_ps": DELAY_PS},
        "workload": {"plugin": "ring-all-reduce", "size_bytes": 4_000_000}, "cca": {"plugin": "none"},
    }  # fmt: skip
    fluid, packet = simulate(experiment, mode="fluid"), simulate(experiment)
    assert (fluid.summary["mode"], fluid.summary["status"]) == ("fluid", "complete")
    assert {f.source for f in fluid.flows} == {"fluid"} and len(fluid.flows) == len(packet.flows) == 24
    assert fluid.summary["simulated_ps"] == pytest.approx(packet.summary["simulated_ps"], rel=5e-3)


def test_same_run_twice():
    """Records are equal field by field."""
    graph = diamond(3, 8)
    draws = stream(7, "test")
    flows = [flow(i, s := draws.below(8), (s + 1 + draws.below(7)) % 8, 1 + draws.below(10**6)) for i in range(60)]
    first, second = (run(graph, flows, acks="in-band")[0] for _ in range(2))
    assert [attrs.asdict(r) for r in first.values()] == [attrs.asdict(r) for r in second.values()]
