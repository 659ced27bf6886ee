"""The INT record."""

from wormhole_core.sim.rules.telemetry import hop_record


def test_counters_are_rounded_down_to_their_units():
    assert hop_record(5, 1_000, 500, 10**11, 1, 1) == (5, 1_000, 500, 10**11)
    assert hop_record(5, 1_000, 500, 10**11, 128, 80) == (5, 896, 480, 10**11)
