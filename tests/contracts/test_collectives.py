"""Expansion of collectives: exact bytes, order of steps, laziness."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from wormhole_core import Collective, stream
from wormhole_core.contracts.collectives import (
    ALGORITHMS,
    RINGS,
    CollectiveRun,
    bus_factor,
    chunk_bytes,
    collective_bytes,
    collective_transfers,
    collective_volume,
    steps,
)
from wormhole_core.errors import ConfigError

SIZES = (1, 5, 1000, 1_000_003, 6_497_239_040)
COUNTS = (1, 2, 3, 7, 8, 16)
CASES = [(a, n) for a in ALGORITHMS for n in COUNTS if a != "send-recv" or n == 2]


def make(algorithm, ranks, size=1_000_003, base=100, **more):
    hosts = tuple(range(base, base + ranks)) if isinstance(ranks, int) else ranks
    return Collective(id="c", algorithm=algorithm, ranks=hosts, size_bytes=size, **more)


def drive(collective, rng=None, batch=1):
    """An ideal network: everything under way completes, in order or in the order rng draws."""
    run = CollectiveRun(collective)
    waiting, seen, most = run.start(), [], 0
    seen.extend(waiting)
    while waiting:
        most = max(most, len(waiting))
        assert run.active == len(waiting)
        assert not run.finished
        if rng:
            rng.shuffle(waiting)
        ended, waiting = waiting[:batch], waiting[batch:]
        more = run.done([t.id for t in ended])
        seen.extend(more)
        waiting = waiting + more
    assert run.finished
    return seen, most


@pytest.mark.parametrize(("algorithm", "ranks"), CASES)
@pytest.mark.parametrize("size", SIZES)
def test_bytes_per_rank_and_in_all_equal_the_closed_formulas(algorithm, ranks, size):
    sent, received = Counter(), Counter()
    transfers, _ = drive(make(algorithm, ranks, size))
    for transfer in transfers:
        assert transfer.size_bytes > 0
        assert transfer.src != transfer.dst
        sent[transfer.src - 100] += transfer.size_bytes
        received[transfer.dst - 100] += transfer.size_bytes
    for rank in range(ranks):
        assert (sent[rank], received[rank]) == collective_bytes(algorithm, ranks, size, rank)
    assert sent.total() == collective_volume(algorithm, ranks, size)
    assert len(transfers) == collective_transfers(algorithm, ranks, size)
    assert len({t.id for t in transfers}) == len(transfers)
    if size >= ranks and ranks > 1:
        assert {t.step for t in transfers} == set(range(steps(algorithm, ranks)))


@pytest.mark.parametrize(("algorithm", "ranks"), CASES)
def test_any_order_of_completion_gives_the_same_transfers(algorithm, ranks):
    for size in (3, 1_000_003):
        plain = {t.id: t for t in drive(make(algorithm, ranks, size))[0]}
        for seed in range(5):
            transfers, _ = drive(make(algorithm, ranks, size), stream(seed, "order"), batch=1 + seed)
            assert {t.id: t for t in transfers} == plain


@pytest.mark.parametrize("algorithm", RINGS)
@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_ring_step_waits_for_own_and_for_neighbours_step_before(algorithm, ranks):
    run = CollectiveRun(make(algorithm, ranks))
    completed = set()
    waiting = run.start()
    assert [t.id[1:] for t in waiting] == [(0, rank) for rank in range(ranks)]
    rng = stream(3, algorithm)
    while waiting:
        ended = waiting.pop(rng.below(len(waiting)))
        completed.add(ended.id[1:])
        begun = run.done([ended.id])
        for _, step, rank in (t.id for t in begun):
            assert {(step - 1, rank), (step - 1, (rank - 1) % ranks)} <= completed
        # Nothing that could start is held back.
        started = completed | {t.id[1:] for t in waiting + begun}
        for step in range(1, steps(algorithm, ranks)):
            for rank in range(ranks):
                if {(step - 1, rank), (step - 1, (rank - 1) % ranks)} <= completed:
                    assert (step, rank) in started
        waiting += begun


def test_ring_all_reduce_moves_every_chunk_through_every_rank():
    ranks, size = 5, 12  # chunks of 3, 3, 2, 2, 2 bytes
    carried = defaultdict(list)
    for transfer in drive(make("ring-all-reduce", ranks, size))[0]:
        _, step, rank = transfer.id
        chunk = (rank - step) % ranks
        assert transfer.size_bytes == chunk_bytes(size, ranks, chunk)
        assert transfer.dst == 100 + (rank + 1) % ranks
        carried[chunk].append((step, rank))
    for hops in carried.values():
        assert [step for step, _ in hops] == list(range(2 * (ranks - 1)))


def test_reduce_scatter_of_sixteen_ranks_has_240_transfers_of_a_sixteenth():
    transfers, most = drive(make("ring-reduce-scatter", 16, 6_497_239_040))
    assert Counter(t.size_bytes for t in transfers) == {406_077_440: 240}
    assert most <= 16


def test_broadcast_reaches_each_rank_once_from_one_that_has_it():
    for ranks in (2, 3, 6, 8, 13):
        has = {100}
        run = CollectiveRun(make("broadcast", ranks, 10))
        waiting = run.start()
        while waiting:
            transfer = waiting.pop()
            assert transfer.src in has
            assert transfer.dst not in has
            has.add(transfer.dst)
            waiting += run.done([transfer.id])
        assert len(has) == ranks


def test_all_to_all_starts_everything_at_once():
    assert len(CollectiveRun(make("all-to-all", 6)).start()) == 30


def test_long_collective_is_not_unrolled():
    run = CollectiveRun(make("ring-all-reduce", 512, 10**9))
    assert steps("ring-all-reduce", 512) == 1022
    assert len(run.start()) == run.active == 512


def test_relabelling_hosts_relabels_transfers_only():
    names = (9, 4, 77, 2, 31)
    for algorithm in ("ring-all-reduce", "all-to-all", "broadcast"):
        plain, other = drive(make(algorithm, 5))[0], drive(make(algorithm, names))[0]
        for a, b in zip(plain, other, strict=True):
            assert (a.id, a.size_bytes, a.step) == (b.id, b.size_bytes, b.step)
            assert (names[a.src - 100], names[a.dst - 100]) == (b.src, b.dst)


def test_labels_are_carried():
    transfer = CollectiveRun(make("send-recv", 2, 7, label="x", job="j")).start()[0]
    assert (transfer.id, transfer.group, transfer.step) == (("c", 0, 0), "c", 0)
    assert (transfer.label, transfer.job, transfer.size_bytes) == ("x", "j", 7)


def test_one_rank_is_finished_at_once():
    run = CollectiveRun(make("ring-all-reduce", 1))
    assert not run.finished
    assert run.start() == []
    assert run.finished


def test_completions_that_cannot_be_are_refused():
    run = CollectiveRun(make("ring-all-gather", 3))
    first = run.start()[0].id
    run.done([first])
    for wrong in (first, ("c", 1, 0), ("other", 0, 1), 7):
        with pytest.raises(ValueError, match="is not"):
            run.done([wrong])


@pytest.mark.parametrize(
    ("collective", "message"),
    [
        (make("ring-allreduce", 4), "unknown algorithm 'ring-allreduce'; did you mean 'ring-all-reduce'"),
        (make("send-recv", 3), "send-recv needs exactly 2 ranks, got 3"),
        (make("all-to-all", ()), "needs at least 1 rank, got 0"),
        (make("all-to-all", (1, 2, 1)), "ranks must differ"),
        (make("broadcast", 2, 0), "size_bytes must be at least 1, got 0"),
    ],
)
def test_bad_collectives_are_refused(collective, message):
    with pytest.raises(ConfigError, match=message):
        CollectiveRun(collective)


def test_bus_bandwidth_factors():
    assert bus_factor("ring-all-reduce", 8) == 1.75
    assert bus_factor("ring-all-gather", 8) == bus_factor("all-to-all", 8) == 0.875
    assert bus_factor("broadcast", 8) == 1.0
