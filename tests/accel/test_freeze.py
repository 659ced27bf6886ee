"""Freezing and thawing changes nothing but the time: completion times less the pauses, every counter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from wormhole_core.sim.event.freeze import credit, freeze, may_freeze, purge, thaw
from wormhole_core.sim.kernel import DEAD, Tick
from wormhole_core.sim.order import BETWEEN
from wormhole_core.sim.simulation import Simulation

CCAS = ("none", "hpcc", "dcqcn", "timely", "dctcp", "swift")
TOPOLOGIES: dict[str, dict[str, Any]] = {
    "star": {"hosts": 6},
    "dumbbell": {"hosts_per_side": 3},
    "leaf-spine": {"leaves": 2, "hosts_per_leaf": 3, "spines": 2},
}
PAUSES = 20
HOSTS = 6
ALL = 1 << 62


def flows_on(lab: Any, hosts: int) -> list[Any]:
    """Several flows per NIC, all at once: an incast, a ring, two flows of one pair, one byte."""
    pairs = [(i, 0) for i in range(1, hosts)] + [(i, (i + 1) % hosts) for i in range(hosts)]
    pairs += [(1, 0), (0, hosts - 1)]
    sizes = [60_000, 20_001, 1, 90_000]
    return [lab.flow(n, a, b, sizes[n % 4]) for n, (a, b) in enumerate(pairs)]


def case_of(lab: Any, topology: str, cca: str, **more: Any) -> Any:
    options = TOPOLOGIES[topology]
    return lab.case(lambda: lab.graph(topology, **options), flows_on(lab, HOSTS), cca=cca, **more)


def counters(run: Any) -> list[Any]:
    ports = run.simulation.network.port_list
    return [(p.tx_bytes, p.tx_frames, p.marks, p.drops, p.pauses, p.max_queue, p.run_bytes) for p in ports]


def run_with_pauses(lab: Any, case: Any, pauses: list[tuple[int, int]]) -> tuple[Any, list[tuple[int, int]]]:
    """pauses: (when, on the clock without pauses; how long). Returns the run and the pauses made."""
    run = lab.make(Simulation, case)
    sim, env = run.simulation, run.simulation.motion.env
    made: list[tuple[int, int]] = []
    lost = 0
    for at, shift in sorted(pauses):
        env.advance(ALL, at + lost - 1)
        if sim.finished:
            break

        def begin(_tick: Any, begin_ps: int = at + lost, shift: int = shift) -> None:
            flows, ports = list(sim.motion.flows.values()), sim.network.port_list
            assert may_freeze(ports)
            freeze(flows, ports)

            def end(_tick: Any) -> None:
                thaw(flows, ports, shift)

            env.push(begin_ps + shift, BETWEEN | 1, Tick(), (end,))

        tick = Tick()
        env.push(at + lost, BETWEEN, tick, (begin,))
        env.advance(ALL, at + lost + shift)
        if sim.finished:
            break
        made.append((at + lost, shift))
        lost += shift
    run.finish()
    return run, made


def check(lab: Any, case: Any, base: Any, shares: list[float], shifts: list[int], unit: int) -> None:
    pauses = [(max(1, int(s * base.makespan)), n * unit) for s, n in zip(shares, shifts, strict=True)]
    run, made = run_with_pauses(lab, case, pauses)
    assert len(made) >= PAUSES // 2, "too few pauses fell into the run"
    for number, (start, fct, received, again) in base.times.items():
        got = run.times[number]
        assert got[0] == start and got[3] == again
        for mine, theirs in ((got[1], fct), (got[2], received)):
            paused = sum(shift for begin, shift in made if begin < mine)
            assert mine - paused == theirs, f"flow {number}"
    assert counters(run) == counters(base)


def prove(lab: Any, case: Any, examples: int) -> None:
    """Pauses at random times for random lengths, in multiples of the clock's resolution."""
    base = lab.packet(case)
    unit = case.network.get("clock_resolution_ps", 1)

    @settings(derandomize=True, max_examples=examples, deadline=None, database=None, phases=[Phase.generate])
    @given(SHARES, SHIFTS)
    def paused(shares: list[float], shifts: list[int]) -> None:
        check(lab, case, base, shares, [shift // unit for shift in shifts], unit)

    paused()


SHARES = st.lists(st.floats(0, 0.98), min_size=PAUSES, max_size=PAUSES)
SHIFTS = st.lists(st.one_of(st.just(0), st.integers(1, 10**7)), min_size=PAUSES, max_size=PAUSES)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("cca", CCAS)
def test_twenty_pauses_change_nothing(lab, cca, topology):
    case = case_of(lab, topology, cca)
    prove(lab, case, 8)


def test_under_every_preset(lab):
    for label in lab.labels():
        name, preset = lab.preset(label)
        network = preset["network"]
        prove(lab, case_of(lab, "dumbbell", name, cca_options=preset["cca"], network=network), 2)


@pytest.mark.parametrize(
    "network",
    [
        {"acks": "lane"},
        {"ack_every_packets": 4},
        {"reliability": "selective-repeat"},
        {"acks": "lane", "ack_every_packets": 3},
        {"ecn_kmin_bytes": 5000, "ecn_kmax_bytes": 50_000, "ecn_pmax": 0.5},
        {"int_tx_unit_bytes": 128, "int_queue_unit_bytes": 80},
    ],
    ids=str,
)
@pytest.mark.parametrize("cca", ["hpcc", "dcqcn"])
def test_with_other_networks(lab, cca, network):
    case = case_of(lab, "dumbbell", cca, network=network)
    prove(lab, case, 8)


@pytest.mark.long
@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("cca", CCAS)
def test_many_pauses(lab, cca, topology):
    case = case_of(lab, topology, cca)
    prove(lab, case, 60)


def test_events_leave_the_heap(lab):
    """While frozen nothing of the set happens, whatever else does."""
    case = case_of(lab, "star", "dcqcn")
    run = lab.make(Simulation, case)
    sim, env = run.simulation, run.simulation.motion.env
    env.advance(ALL, 5_000_000)
    flows, ports = list(sim.motion.flows.values()), sim.network.port_list
    freeze(flows, ports)
    assert all(entry[3].callbacks == DEAD for entry in env._queue)
    before = counters(run)
    env.push(50_000_000, BETWEEN, Tick(), (lambda _t: thaw(flows, ports, 45_000_000),))
    env.advance(ALL, 49_999_999)
    assert counters(run) == before
    run.finish()
    assert len(run.records.flows) == len(case.flows)


def test_credit_is_bounded(lab):
    run = lab.make(Simulation, case_of(lab, "star", "hpcc"))
    run.simulation.motion.env.advance(ALL, 1_000_000)
    flow = next(f for f in run.simulation.motion.flows.values() if f.end_seq > f.snd_nxt)
    unsent = flow.end_seq - flow.snd_nxt
    credit([flow], [unsent])
    assert flow.end_seq == flow.snd_nxt and flow.skipped_bytes == unsent
    for wrong in (1, -1):
        with pytest.raises(AssertionError, match="unsent"):
            credit([flow], [wrong])


def test_purge_leaves_ports_as_new(lab):
    run = lab.make(Simulation, case_of(lab, "star", "hpcc", network={"acks": "lane"}))
    sim = run.simulation
    sim.motion.env.advance(ALL, 5_000_000)
    flows, ports = list(sim.motion.flows.values()), sim.network.port_list
    assert any(p.fifo for p in ports)
    freeze(flows, ports)
    purge(flows, ports)
    for port in ports:
        assert port.quiet(5_000_000) and not port.run_bytes and not port.flows
    assert all(not switch.held for switch in sim.motion.switches.values())


def test_the_check_can_fail(lab, monkeypatch):
    """Telemetry on the ports' clocks: a clock that runs on during a pause is noticed."""
    from wormhole_core.sim.event import freeze as module

    def shift_but_the_clock(port: Any, shift_ps: int) -> None:
        real(port, shift_ps)
        port.skew_ps -= shift_ps

    real = module._shift_port
    monkeypatch.setattr(module, "_shift_port", shift_but_the_clock)
    with pytest.raises(AssertionError):
        prove(lab, case_of(lab, "dumbbell", "hpcc"), 8)
