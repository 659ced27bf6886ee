"""The equations of the paper, on records made by hand."""

from __future__ import annotations

import pytest
from wormhole_example_powertcp.powertcp import PowerTcp, PowerTcpConfig

from wormhole_core import Feedback, FlowInfo, HopRecord, stream

RTT_PS = 8_000_000
LINE_BPS = 100_000_000_000
BDP = 100_000
FLOW = FlowInfo(line_rate_bps=LINE_BPS, base_rtt_ps=RTT_PS, bdp_bytes=BDP, payload_bytes=1000, frame_bytes=1090, hops=2)


def sender(**options) -> PowerTcp:
    return PowerTcp(PowerTcpConfig(**options), FLOW, stream(1))


def ack(cca: PowerTcp, number: int, *hops: tuple[int, int, int]) -> None:
    fb = Feedback()
    fb.now_ps, fb.ack_seq, fb.next_seq, fb.acked_bytes = hops[0][0], number * 1000, number * 1000 + BDP, 1000
    fb.hops = [HopRecord(ts, tx, queue, LINE_BPS) for ts, tx, queue in hops]
    cca.on_ack(fb)


def test_starts_at_the_bandwidth_delay_product():
    cca = sender()
    assert (cca.window_bytes, cca.rate_bps) == (BDP, LINE_BPS)


def test_a_full_link_without_a_queue_has_power_one():
    cca = sender(expected_flows=10)
    ack(cca, 1, (0, 0, 0))
    cca._set_window(50_000)
    cca._old = 50_000
    ack(cca, 2, (RTT_PS, BDP, 0))  # one BDP left in one round trip: mu = b
    assert cca._power == pytest.approx(1.0)
    assert cca.window_bytes == int(0.9 * (50_000 + BDP / 10) + 0.1 * 50_000)


def test_power_counts_the_queue_and_its_growth():
    cca = sender()
    ack(cca, 1, (0, 0, 0))
    ack(cca, 2, (RTT_PS, BDP, BDP))  # sends at b while the queue grows at b; backlog of one BDP
    assert cca._power == pytest.approx(2 * 2)
    assert cca.window_bytes == int(0.9 * (BDP / 4 + BDP / 10) + 0.1 * BDP)


def test_the_busiest_hop_counts_and_a_short_interval_counts_little():
    cca = sender()
    ack(cca, 1, (0, 0, 0), (0, 0, 0))
    ack(cca, 2, (RTT_PS // 10, BDP // 10, 0), (RTT_PS // 10, BDP // 10, BDP))
    power = (BDP / 10 + BDP) / (BDP / 10) * 2
    assert cca._power == pytest.approx(0.9 * 1.0 + 0.1 * power)


def test_records_of_another_port_are_left_out():
    cca = sender()
    ack(cca, 1, (1000, 50_000, 0))
    for hops in ([(1000, 60_000, 0)], [(2000, 10, 0)], [(2000, 60_000, 0), (2000, 0, 0)]):
        before = cca.window_bytes
        ack(cca, 2, *hops)
        assert cca.window_bytes == before


def test_the_old_window_is_renewed_once_per_round_trip():
    cca = sender()
    for number in range(1, 250):
        ack(cca, number, (number * 80_000, number * 1000, 20_000))
        if number == 50:
            assert cca._old == BDP
    assert cca._old < BDP
