"""ECN marking: the three ranges of the queue, and the thresholds of a port."""

from __future__ import annotations

import pytest

from wormhole_core import stream
from wormhole_core.errors import ConfigError
from wormhole_core.sim.config import NetworkConfig
from wormhole_core.sim.rules.marking import Marking, marking_for

G = 10**9


class NoDraws:
    def uniform(self) -> float:
        raise AssertionError("nothing is to be drawn here")


def test_below_and_above_nothing_is_drawn():
    marking = Marking(100, 200, 0.5)
    assert not marking.marks(0, NoDraws())
    assert not marking.marks(100, NoDraws())
    assert marking.marks(201, NoDraws())


def test_probability_rises_linearly_to_pmax():
    marking, draws = Marking(1_000, 2_000, 0.4), stream(7, "marking", 0)
    for queue, expected in ((1_250, 0.1), (1_500, 0.2), (2_000, 0.4)):
        share = sum(marking.marks(queue, draws) for _ in range(20_000)) / 20_000
        assert share == pytest.approx(expected, abs=0.015)


def test_a_step_has_no_middle():
    marking = Marking(1_000, 1_000, 0.5)
    assert [marking.marks(q, NoDraws()) for q in (999, 1_000, 1_001)] == [False, False, True]


def test_thresholds_scale_with_the_rate_or_not():
    config = NetworkConfig(ecn_kmin_bytes=100_000, ecn_kmax_bytes=400_000)
    assert marking_for(100 * G, 1, config) == Marking(100_000, 400_000, 0.2)
    assert marking_for(25 * G, 1, config) == Marking(25_000, 100_000, 0.2)
    fixed = NetworkConfig(ecn_kmin_bytes=100_000, ecn_kmax_bytes=400_000, ecn_scales_with_rate=False)
    assert marking_for(25 * G, 1, fixed) == Marking(100_000, 400_000, 0.2)


def test_derived_thresholds():
    assert marking_for(100 * G, 1_000_000, NetworkConfig()) == Marking(400_000, 1_600_000, 0.2)
    # A long link holds more than that in eight delays: 100 Gbps x 100 us x 8 / 8 bits.
    assert marking_for(100 * G, 100_000_000, NetworkConfig()).kmin_bytes == 10_000_000


def test_map_of_rates():
    config = NetworkConfig(ecn_map={100 * G: (1, 2, 0.5)})
    assert marking_for(100 * G, 1, config) == Marking(1, 2, 0.5)
    with pytest.raises(ConfigError, match=r"no thresholds for ports of 25 ?Gbps"):
        marking_for(25 * G, 1, config)


def test_kmax_below_kmin_is_refused():
    with pytest.raises(ConfigError, match="ecn_kmax_bytes"):
        marking_for(100 * G, 1, NetworkConfig(ecn_kmin_bytes=500, ecn_kmax_bytes=400))
