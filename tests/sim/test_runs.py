"""Whole runs: the same seed gives the same run; memory follows what is under way, not what was sent."""

from __future__ import annotations

import gc

import pytest

from wormhole_core.sim.packet import Packet


def trace(kit, seed: int, **options):
    graph = kit.graph("leaf-spine", leaves=2, spines=2, hosts_per_leaf=3, oversubscription=3.0)
    for _, _, data in graph.edges(data=True):
        data["loss"] = 0.003
    flows = [kit.flow(n, n, (n + 2) % 6, 100_000) for n in range(6)]
    run = kit.run(
        graph,
        flows,
        seed=seed,
        network={"ecn_kmin_bytes": 5_000, "ecn_kmax_bytes": 100_000, "rto_ps": 200_000_000},
        **options,
    )
    return list(run.records.values()), run.simulation.link_records()


@pytest.mark.parametrize("cca", ["none", "hpcc", "dcqcn"])
@pytest.mark.parametrize("routing", ["ecmp", "spray"])
def test_same_seed_same_run(kit, cca, routing):
    first = trace(kit, 5, cca=cca, routing=routing)
    assert trace(kit, 5, cca=cca, routing=routing) == first
    assert trace(kit, 6, cca=cca, routing=routing) != first


def test_slices_do_not_matter(kit, model):
    flows = [kit.flow(n, n, (n + 1) % 3, 30_000) for n in range(3)]
    results = []
    for events in (7, 1_000_000):
        run = kit.make(kit.star(3), flows, model=model)
        while not run.simulation.advance(events):
            pass
        results.append((list(run.records.values()), run.simulation.link_records(), run.simulation.now_ps))
    assert results[0] == results[1]


def counts(run) -> tuple[int, int, int]:
    """Packets, heap entries, objects alive. (A function, so that its list does not keep them alive.)"""
    objects = gc.get_objects()
    return sum(type(o) is Packet for o in objects), len(run.simulation.motion.env._queue), len(objects)


@pytest.mark.parametrize("cca", ["none", "hpcc"])
def test_memory_does_not_grow_with_bytes_sent(kit, model, cca):
    peaks = []
    for size_bytes in (300_000, 3_000_000):
        run = kit.make(
            kit.star(3),
            [kit.flow(n, n + 1, 0, size_bytes) for n in range(2)],
            cca=cca,
            model=model,
            cca_options={"window": "50000"} if cca == "none" else {},
            network={"ecn": False},
        )
        peak = (0, 0, 0)
        while not run.simulation.advance(2_000):
            peak = tuple(map(max, peak, counts(run)))
        peaks.append(peak)
        del run
        gc.collect()
    small, large = peaks
    assert small[0] > 0
    assert large[0] <= small[0] * 1.2 + 10
    assert large[1] <= small[1] * 1.2 + 10
    assert large[2] <= small[2] * 1.05 + 500


def test_nothing_is_left_of_finished_flows(kit, model):
    run = kit.run(kit.star(2), [kit.flow(n, 0, 1, 1_000) for n in range(20)], model=model).drain()
    motion = run.simulation.motion
    assert not motion.flows
    assert not motion.env._queue
    assert all(p.flows == 0 and p.quiet(motion.env.now) for p in run.simulation.network.port_list)
