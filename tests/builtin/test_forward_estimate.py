"""Estimates from counters: fenceposts, weights, slopes, persistence."""

from __future__ import annotations

import math

import pytest

from wormhole_core.builtin.forward_estimate import (
    block_gains,
    by_key,
    clusters,
    persistence,
    relative_range,
    smoothed_gain,
    trend,
    wander_factor,
)


def cumulative(gains):
    total, found = 0, [0]
    for gain in gains:
        total += gain
        found.append(total)
    return found


@pytest.mark.parametrize("intervals", [1, 2, 3, 8, 57])
def test_smoothed_gain_of_a_constant_is_exact(intervals):
    total, weight = smoothed_gain(cumulative([7] * intervals))
    assert total == 7 * weight


def test_smoothed_gain_weighs_each_interval_by_a_triangle():
    weights = [smoothed_gain(cumulative([int(k == j) for k in range(8)]))[0] for j in range(8)]
    assert weights == [1, 2, 3, 4, 4, 3, 2, 1]
    assert smoothed_gain(cumulative([0] * 8))[1] == sum(weights)


def test_blocks_are_counted_in_intervals():
    assert block_gains(cumulative([1, 2, 3, 4, 5, 6, 7, 8]), 4) == [3, 7, 11, 15]
    for counters in (cumulative([1] * 7), cumulative([1] * 3)):
        with pytest.raises(ValueError, match="blocks"):
            block_gains(counters, 4)


def test_relative_range():
    assert relative_range([9, 10, 11]) == pytest.approx(0.2) and relative_range([0, 0]) == math.inf


def test_trend_finds_a_line_and_knows_its_scatter():
    slope, error, mean_error = trend([100, 110, 120, 130])
    assert slope == pytest.approx(10 / 115) and error == pytest.approx(0) and mean_error == pytest.approx(0)
    slope, error, mean_error = trend([100, 120, 100, 120, 100, 120])
    assert abs(slope) < 2.5 * error and 0.03 < mean_error < 0.06
    assert trend([0, 0, 0])[1] == math.inf and trend([1, 2])[1] == math.inf


def test_persistence():
    assert persistence([90, 110], [90, 110]) == (pytest.approx(1), pytest.approx(1), pytest.approx(0.1))
    kept, shrinks, widest = persistence([80, 120, 100], [90, 110, 100])
    assert (kept, shrinks, widest) == (pytest.approx(0.5), pytest.approx(0.5), pytest.approx(0.2))
    kept, shrinks, _ = persistence([80, 120, 100, 100], [100, 100, 80, 120])
    assert kept == pytest.approx(0) and shrinks == pytest.approx(1)
    assert persistence([5, 5], [5, 5]) == (0.0, 1.0, 0.0)
    assert persistence([0, 0], [5, 5])[2] == math.inf


def test_clusters_do_not_chain():
    assert clusters([0, 1, 2, 3], [100, 109, 118, 99], 1.1) == [[3, 0], [1, 2]]
    assert by_key(["b", "a", "b"]) == [[0, 2], [1]]


def test_wander_factor_keeps_the_variance_of_a_mean_reverting_share():
    # Long runs forget: weight of the lived time sqrt(stretch). Short ones do not: all of it.
    assert wander_factor(5.0, 1e7, 100.0) == pytest.approx((math.sqrt(5) - 1) / 4, rel=1e-3)
    assert wander_factor(5.0, 1.0, 1e6) == pytest.approx(1.0, rel=1e-3)
    assert wander_factor(1.0, 10.0, 1.0) == 1.0
    values = [wander_factor(5.0, left, 1000.0) for left in (10, 100, 1000, 10_000, 100_000)]
    assert values == sorted(values, reverse=True) and all(0 < v <= 1 for v in values)


def test_wander_factor_against_a_simulated_walk():
    from wormhole_core import stream

    relaxation, left, stretch, keep = 20.0, 400, 5, math.exp(-1 / 20)
    share = wander_factor(stretch, left, relaxation)
    draws = stream(3, "walk")

    def total(steps):
        x, s = 0.0, 0.0
        for k in range(steps + 200):
            x = keep * x + (draws.uniform() - 0.5)
            s += x if k >= 200 else 0.0
        return s

    whole = sum(total(left) ** 2 for _ in range(300)) / 300
    skipped = sum((total(left // stretch) * (1 + (stretch - 1) * share)) ** 2 for _ in range(300)) / 300
    assert skipped / whole == pytest.approx(1.0, abs=0.25)
