"""The conformance kit over every algorithm of this distribution, with its main ways of working."""

from __future__ import annotations

from wormhole_cca.plugin import wormhole_ccas

from wormhole_core.testing import CcaContract


class TestDcqcn(CcaContract):
    component = "dcqcn"
    options = (
        {},
        {"window": "variable", "byte_counter_bytes": 50_000, "cnp_interval_ps": "4us", "clamp_target": True},
        {"decrease_timer_ps": 0, "alpha_timer_ps": "55us", "increase_timer_ps": "55us"},
    )


class TestDctcp(CcaContract):
    component = "dctcp"
    options = ({}, {"window": "none", "gain": 0.5})


class TestHpcc(CcaContract):
    component = "hpcc"
    options = ({}, {"max_stage": 0, "variable_window": False}, {"fast_react": False})


class TestNone(CcaContract):
    component = "none"
    options = ({}, {"window": "bdp"})


class TestSwift(CcaContract):
    component = "swift"
    options = ({}, {"ai": 0.1, "max_cwnd_packets": 30.0})


class TestTimely(CcaContract):
    component = "timely"
    options = ({}, {"window": "variable", "t_low_ps": "8us", "t_high_ps": "40us", "min_rtt_ps": "4us"})


def test_nothing_is_left_out() -> None:
    covered = {contract.component for contract in CcaContract.__subclasses__() if contract.__module__ == __name__}
    assert covered == {component.name for component in wormhole_ccas()}
