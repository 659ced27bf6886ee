"""Many to one: PFC loses nothing, without PFC the run still ends, congestion control shortens the queue."""

from __future__ import annotations

import pytest

SIZE = 2_000_000


def incast(kit, senders: int, **options):
    return kit.make(kit.star(senders + 1), [kit.flow(n, n + 1, 0, SIZE) for n in range(senders)], **options)


def test_pfc_with_derived_headroom_drops_nothing(kit):
    run = incast(kit, 15, network={"payload_bytes": 4096}).finish()
    counters = run.simulation.counters
    assert counters.drops == 0
    assert counters.pauses > 0
    assert counters.retransmitted_bytes == 0
    # The bottleneck never idles: all frames through one port, then what is before and after it.
    frames = 15 * -(-SIZE // 4096)
    wire_ps = (15 * SIZE + frames * 48) * 80
    assert wire_ps < run.worst_ps < 1.01 * wire_ps + 10_000_000


def test_without_pfc_frames_are_dropped_and_all_arrives(kit):
    run = incast(kit, 15, network={"payload_bytes": 4096, "pfc": False}).finish()
    counters = run.simulation.counters
    assert counters.drops > 0
    assert counters.pauses == 0
    assert counters.retransmitted_bytes > 0
    assert len(run.records) == 15


@pytest.mark.long
@pytest.mark.parametrize("reliability", ["go-back-n", "selective-repeat"])
def test_127_to_1_without_pfc(kit, reliability):
    run = incast(kit, 127, network={"payload_bytes": 4096, "pfc": False, "reliability": reliability}).finish()
    assert run.simulation.counters.drops > 0
    assert len(run.records) == 127


@pytest.mark.long
def test_127_to_1_with_pfc(kit):
    """127 ingress ports leave little to share: reserves and headrooms are taken first."""
    run = incast(kit, 127, network={"payload_bytes": 4096}).finish()
    assert run.simulation.counters.drops == 0
    assert run.simulation.counters.pauses > 0
    assert len(run.records) == 127


def average_queue_bytes(run) -> float:
    """Time average of what the receiver's switch port holds, sampled every microsecond while flows run."""
    simulation = run.simulation
    port = next(p for p in simulation.network.port_list if p.peer == 0)
    samples, now = [], 0
    while not simulation.finished:
        now += 1_000_000
        while not simulation.advance(until_ps=now):
            pass
        samples.append(sum(p.size for p in port.fifo if p.start_ps > now) + sum(p.size for p in port.waiting))
    return sum(samples) / len(samples)


def test_congestion_control_shortens_the_queue(kit):
    average = {
        cca: average_queue_bytes(incast(kit, 16, cca=cca, network={"payload_bytes": 4096}))
        for cca in ("hpcc", "dcqcn", "none")
    }
    assert average["hpcc"] < average["dcqcn"] / 2
    assert average["dcqcn"] < average["none"] / 2
