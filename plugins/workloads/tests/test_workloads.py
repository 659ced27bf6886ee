"""What every workload promises, and the volumes of each."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from wormhole_workloads.permutation import derangement
from wormhole_workloads.plugin import COMPONENTS
from wormhole_workloads.ring_all_reduce import groups

from wormhole_core import Collective, collective_bytes, collective_transfers, collective_volume, stream
from wormhole_core.errors import ConfigError

BY_NAME = {component.name: component for component in COMPONENTS}


def build(name, hosts, seed=1, **options):
    component = BY_NAME[name]
    return component.build(component.config(**options), tuple(hosts), stream(seed, "workload"))


def drive(workload, rng=None, batch=1):
    """An ideal network: what is under way completes, first come first or as rng draws."""
    waiting = list(workload.advance(0, ()))
    seen = list(waiting)
    while waiting:
        if rng:
            rng.shuffle(waiting)
        ended, waiting = waiting[:batch], waiting[batch:]
        more = list(workload.advance(0, [item.id for item in ended]))
        seen += more
        waiting = waiting + more
    assert list(workload.waiting()) == []
    return seen


def volumes(items):
    """Bytes sent and received per host, and the number of transfers."""
    sent, received, count = Counter(), Counter(), 0
    for item in items:
        if isinstance(item, Collective):
            for index, host in enumerate(item.ranks):
                out, back = collective_bytes(item.algorithm, len(item.ranks), item.size_bytes, index)
                sent[host] += out
                received[host] += back
            count += collective_transfers(item.algorithm, len(item.ranks), item.size_bytes)
        else:
            assert item.src != item.dst
            assert item.size_bytes > 0
            sent[item.src] += item.size_bytes
            received[item.dst] += item.size_bytes
            count += 1
    return sent, received, count


CASES = [
    ("incast", {}),
    ("incast", {"fan_in": 1, "receiver": 0, "size_bytes": 10_000}),
    ("permutation", {}),
    ("permutation", {"shift": 1, "rounds": 3, "size_bytes": 77}),
    ("permutation", {"rounds": 4, "gap_ps": 5_000_000}),
    ("all-to-all", {}),
    ("all-to-all", {"rounds": 3, "gap_ps": 50_000_000, "size_bytes": 100_000}),
    ("ring-all-reduce", {}),
    ("ring-all-reduce", {"size_bytes": 1_000_003, "iterations": 3}),
]


@pytest.mark.parametrize("hosts", [2, 5, 8])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_promises(name, options, hosts):
    ranks = tuple(range(40, 40 + hosts))
    reference = None
    for seed in (None, 1, 2, 3):
        workload = build(name, ranks, **options)
        items = drive(workload, stream(seed, "order") if seed else None, batch=seed or 1)
        assert len({item.id for item in items}) == len(items)
        sent, received, count = volumes(items)
        assert set(sent) | set(received) <= set(ranks)
        assert {h: workload.expected_bytes(h) for h in ranks} == {h: (sent[h], received[h]) for h in ranks}
        assert (workload.total_items(), workload.total_bytes()) == (count, sent.total())
        reference = reference or Counter(items)
        assert Counter(items) == reference


@pytest.mark.parametrize(("name", "options"), CASES)
def test_relabelling_hosts_relabels_transfers_only(name, options):
    names = (9, 4, 77, 2, 31)
    plain, other = drive(build(name, range(5), **options)), drive(build(name, names, **options))
    for a, b in zip(plain, other, strict=True):
        assert (a.id, a.size_bytes, a.delay_ps, a.label) == (b.id, b.size_bytes, b.delay_ps, b.label)
        if isinstance(a, Collective):
            assert tuple(names[h] for h in a.ranks) == b.ranks
        else:
            assert (names[a.src], names[a.dst]) == (b.src, b.dst)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_same_seed_same_items(name, options):
    assert drive(build(name, range(6), **options)) == drive(build(name, range(6), **options))


def test_the_first_transfer_of_a_large_job_comes_at_once():
    for name in ("all-to-all", "ring-all-reduce", "incast"):
        items = build(name, range(20_000)).advance(0, ())
        assert len(list(islice(items, 3))) in (1, 3)  # 400 million transfers in one case


def test_incast_is_staggered_and_spares_the_receiver():
    items = drive(build("incast", range(10, 15), fan_in=3, receiver=1, stagger_ps=2_000_000))
    assert [(t.src, t.dst, t.delay_ps) for t in items] == [(10, 11, 0), (12, 11, 2_000_000), (13, 11, 4_000_000)]


def test_all_to_all_goes_on_per_host_not_per_barrier():
    workload = build("all-to-all", range(3), rounds=2, gap_ps=7)
    first = list(workload.advance(0, ()))
    assert [(t.src, t.dst) for t in first] == [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)]
    assert list(workload.advance(1, [(0, 0, 1), (0, 0, 2), (0, 1, 0)])) == []
    # Host 0 has sent and received all; 1 -> 2 and 2 -> 1 of the others are still under way.
    second = list(workload.advance(2, [(0, 2, 0)]))
    assert [(t.id, t.delay_ps) for t in second] == [((1, 0, 1), 7), ((1, 0, 2), 7)]
    assert list(workload.waiting()) == [
        "host 1: rounds 1 to 1 of all-to-all wait for 2 transfers of round 0",
        "host 2: rounds 1 to 1 of all-to-all wait for 2 transfers of round 0",
    ]


def test_random_permutations_differ_by_round_and_seed():
    def receivers(seed):
        items = drive(build("permutation", range(50), seed=seed, rounds=2))
        return [[t.dst for t in sorted(items, key=lambda t: t.id) if t.step == number] for number in (0, 1)]

    one, two = receivers(1), receivers(2)
    assert all(sorted(r) == list(range(50)) for r in one + two)
    assert len({tuple(r) for r in one + two}) == 4


def test_derangements_are_equally_likely():
    rng = stream(5, "derangement")
    seen = Counter(tuple(derangement(4, rng)) for _ in range(9000))
    assert len(seen) == 9
    assert all(abs(count - 1000) < 150 for count in seen.values())  # 5 standard deviations


def test_rings_are_strided_blocks():
    assert groups(tuple(range(8)), 1, None) == [tuple(range(8))]
    assert groups(tuple(range(8)), 2, None) == [(0, 2, 4, 6), (1, 3, 5, 7)]
    assert groups(tuple(range(8)), 2, 2) == [(0, 2), (1, 3), (4, 6), (5, 7)]
    rails = groups(tuple(range(128)), 8, None)
    assert rails == [tuple(range(rail, 128, 8)) for rail in range(8)]


def test_rings_iterate_by_themselves():
    workload = build("ring-all-reduce", range(4), stride=2, iterations=2, gap_ps=9)
    first = list(workload.advance(0, ()))
    assert [(c.id, c.ranks, c.delay_ps) for c in first] == [((0, 0), (0, 2), 0), ((0, 1), (1, 3), 0)]
    (again,) = workload.advance(5, [(0, 1)])
    assert (again.id, again.ranks, again.delay_ps) == ((1, 1), (1, 3), 9)
    assert list(workload.waiting()) == ["ring 0: 1 more all-reduces wait for the one of iteration 0"]
    assert list(workload.advance(6, [(1, 1)])) == []


def test_ring_volume_is_two_times_all_but_one_share():
    workload = build("ring-all-reduce", range(8), size_bytes=80)
    assert workload.expected_bytes(3) == (140, 140)
    assert workload.total_bytes() == collective_volume("ring-all-reduce", 8, 80) == 2 * 7 * 80


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("incast", {"fan_in": 6}, "of 6 hosts fan_in must be between 1 and 5, got 6"),
        ("incast", {"receiver": 6}, "receiver must be a rank between 0 and 5, got 6"),
        ("incast", {"receiver": -1}, "receiver must be a rank between 0 and 5, got -1"),
        ("permutation", {"shift": 12}, "shift 12 makes each of 6 hosts send to itself; take 1 to 5"),
        ("permutation", {"size_bytes": 0}, "size_bytes must be greater than 0"),
        ("all-to-all", {"rounds": 0}, "rounds must be greater than 0"),
        ("ring-all-reduce", {"stride": 4}, "6 hosts cannot be cut into rings of 1 ranks 4 apart; change the stride"),
        ("ring-all-reduce", {"group_size": 4}, "with stride 1 these group sizes exist: 2, 3, 6"),
    ],
)
def test_bad_options_are_refused(name, options, message):
    # A configuration class refuses with ValueError; the core turns that into a ConfigError of its own.
    with pytest.raises((ConfigError, ValueError)) as error:
        build(name, range(6), **options)
    assert message in str(error.value)
