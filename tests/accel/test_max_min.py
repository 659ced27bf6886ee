"""Max-min shares against cases worked out by hand, and its defining property on random ones."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wormhole_core.accel.max_min import FULL, RATE_BITS, WEIGHT_BITS, Bottleneck, Share, components, fair_rates, reshare

BYTE_PS = 80 << WEIGHT_BITS
"""Weight of a byte at 100 Gbps."""


def shares_over(paths, weight=BYTE_PS, amount=1_000_000):
    """Bottlenecks and shares; a path is a list of bottleneck numbers, or of (number, weight)."""
    uses = [[use if isinstance(use, tuple) else (use, weight) for use in path] for path in paths]
    bottlenecks = [Bottleneck(i) for i in range(1 + max(number for path in uses for number, _ in path))]
    shares = []
    for number, path in enumerate(uses):
        share = Share(number, amount << RATE_BITS, 0)
        share.attach(tuple((bottlenecks[i], w) for i, w in path))
        shares.append(share)
    return shares, bottlenecks


def parts(paths, **options):
    """Each share's rate as a fraction of one bottleneck at weight BYTE_PS."""
    shares, bottlenecks = shares_over(paths, **options)
    reshare(bottlenecks, 0)
    return [float(Fraction(share.rate * BYTE_PS, FULL)) for share in shares]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([[0]], [1]),
        ([[0], [0], [0], [0]], [1 / 4] * 4),
        # Three flows on one link, and three flows pairwise on three links: the same conflict graph.
        ([[0], [0], [0]], [1 / 3] * 3),
        ([[0, 1], [1, 2], [2, 0]], [1 / 2] * 3),
        # The parking lot: one long flow, one short flow on each link.
        ([[0, 1, 2], [0], [1], [2]], [1 / 2] * 4),
        # A long flow held back on link 0 leaves more to the short one on link 1.
        ([[0, 1], [0], [0], [0], [1]], [1 / 4] * 4 + [3 / 4]),
        # Two levels: link 0 fills at 1/3, then link 1 at (1 - 1/3) / 1, then link 2 is not full at all.
        ([[0], [0], [0, 1], [1, 2]], [1 / 3, 1 / 3, 1 / 3, 2 / 3]),
        # Data one way with 10 % of it in ACKs the other way: x + x / 10 = 1.
        ([[(0, BYTE_PS), (1, BYTE_PS // 10)], [(1, BYTE_PS), (0, BYTE_PS // 10)]], [10 / 11] * 2),
        # A link at half the rate.
        ([[(0, 2 * BYTE_PS), (1, BYTE_PS)], [1]], [1 / 2, 1 / 2]),
        ([[(0, 4 * BYTE_PS), (1, BYTE_PS)], [1]], [1 / 4, 3 / 4]),
    ],
)
def test_hand_computed(paths, expected):
    assert parts(paths) == pytest.approx(expected, rel=1e-9)


random_paths = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 500)), min_size=1, max_size=4, unique_by=lambda use: use[0]),
    min_size=1, max_size=14,
)  # fmt: skip


@given(random_paths)
def test_no_share_can_grow(paths):
    """Max-min: no bottleneck is overfull, and every share has a full one where nobody has more."""
    shares, bottlenecks = shares_over([[(i, w << WEIGHT_BITS) for i, w in path] for path in paths])
    reshare(bottlenecks, 0)
    used = {b: sum(w * share.rate for share, w in b.shares.items()) for b in bottlenecks}
    assert all(total <= FULL for total in used.values())
    for share in shares:
        assert share.rate > 0
        full = [b for b, _ in share.weights if used[b] > FULL * (1 - 1e-12)]
        assert any(all(other.rate <= share.rate for other in b.shares) for b in full)


@given(random_paths, st.randoms(use_true_random=False))
def test_order_does_not_matter(paths, rng):
    """Not even in the last bit."""
    whole = [[(i, w << WEIGHT_BITS) for i, w in path] for path in paths]
    order = list(range(len(whole)))
    rng.shuffle(order)
    shares, bottlenecks = shares_over([*whole, [(6, 1)]])
    others, other_bottlenecks = shares_over([*(whole[i] for i in order), [(6, 1)]])
    reshare(bottlenecks, 0)
    reshare(reversed(other_bottlenecks), 0)
    assert [shares[i].rate for i in order] == [share.rate for share in others[:-1]]


@given(random_paths, st.data())
def test_touching_one_component_is_enough(paths, data):
    """After a departure, reshare from its bottlenecks only: the same as from scratch."""
    whole = [[(i, w << WEIGHT_BITS) for i, w in path] for path in paths]
    shares, bottlenecks = shares_over(whole)
    reshare(bottlenecks, 0)
    leaves = data.draw(st.integers(0, len(whole) - 1))
    changed = [b for b, _ in shares[leaves].weights]
    shares[leaves].detach()
    reshare(changed, 1000)
    rest = [share for share in shares if share is not shares[leaves]]
    found = [share.rate for share in rest]
    assert found == [
        rate
        for share in rest
        for part, ports in components(bottlenecks)
        for member, rate in zip(part, fair_rates(part, ports), strict=True)
        if member is share
    ]


def test_separate_components_are_left_alone():
    shares, bottlenecks = shares_over([[0], [0], [1]])
    reshare(bottlenecks, 0)
    group, other = shares[0].group, shares[2].group
    assert group is not other
    shares[0].detach()
    reshare([bottlenecks[0]], 1000)
    assert not group.alive and other.alive and shares[2].group is other


def test_change_of_rate_keeps_what_was_moved():
    """1 MB alone at 80 ps a byte; after 20 us a second share halves the rate: 20 + 2 x 60 us."""
    (share,), (bottleneck,) = shares_over([[0]])
    assert reshare([bottleneck], 0)[0].ends_ps == 80_000_000
    second = Share("second", 1_000_000 << RATE_BITS, 20_000_000)
    second.attach(((bottleneck, BYTE_PS),))
    (group,) = reshare([bottleneck], 20_000_000)
    assert share.moved >> RATE_BITS in (249_999, 250_000)
    assert group.ends_ps == share.ends_ps == 140_000_000
    assert share.moved_by(200_000_000) == share.amount
