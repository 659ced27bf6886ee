"""Equations of the papers, by number, on values worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from wormhole_cca.dcqcn import CnpReceiver

from wormhole_core import Cca, HopRecord, LossKind

LINE = 100_000_000_000
MakeCca = Callable[..., Cca]
Ack = Callable[..., Any]


# --- HPCC (numbers as in wormhole_cca.hpcc) ---


def hop(ts_ns: int, sent: int, queue: int, rate: int = LINE) -> HopRecord:
    return HopRecord(ts_ns * 1000, sent, queue, rate)


def hpcc_after(make_cca: MakeCca, ack: Ack, first: list[HopRecord], second: list[HopRecord], **options: Any) -> Cca:
    cca = make_cca("hpcc", **{"ai_rate_bps": 40_000_000, "max_stage": 0, **options})
    cca.on_ack(ack(ack_seq=1000, next_seq=50_000, hops=tuple(first)))
    cca.on_ack(ack(ack_seq=2000, next_seq=51_000, hops=tuple(second)))
    return cca


def test_hpcc_2_3_4_6_one_hop(make_cca: MakeCca, ack: Ack) -> None:
    # 10 400 B in 1.04 us are 80 Gbps: 0.8; a queue of min(15 600, 5 200) B is 0.1 of W = 52 000 B.
    cca = hpcc_after(make_cca, ack, [hop(0, 0, 15_600)], [hop(1040, 10_400, 5_200)])
    utilisation = 0.75 * 1.0 + 0.25 * 0.9  # tau / T = 1.04 / 4.16
    expected = int(LINE / (utilisation / 0.95)) + 40_000_000
    assert cca.rate_bps == expected == 97_475_897_435
    assert cca.window_bytes == 52_000 * expected // LINE
    assert cca.snapshot(0, 0)[3] == pytest.approx(0.975, rel=1e-12)


def test_hpcc_3_takes_the_busiest_hop_and_its_time(make_cca: MakeCca, ack: Ack) -> None:
    first = [hop(0, 0, 0), hop(7, 500, 0), hop(3, 0, 0, 4 * LINE)]
    second = [hop(2080, 13_000, 0), hop(1047, 13_500, 0), hop(1043, 13_000, 0, 4 * LINE)]
    # 50 Gbps over 2.08 us, 100 Gbps over 1.04 us, 100 Gbps on a 400 Gbps link: the second one counts.
    cca = hpcc_after(make_cca, ack, first, second)
    assert cca.snapshot(0, 0)[3] == pytest.approx(1.0)


def test_hpcc_2_queue_on_a_faster_hop_counts_by_rate(make_cca: MakeCca, ack: Ack) -> None:
    cca = hpcc_after(make_cca, ack, [hop(0, 0, 52_000, 4 * LINE)], [hop(4160, 0, 52_000, 4 * LINE)])
    assert cca.snapshot(0, 0)[3] == pytest.approx(0.25)  # tau = T: the average forgets the past


def test_hpcc_5_additive_until_max_stage(make_cca: MakeCca, ack: Ack) -> None:
    cca = make_cca("hpcc", ai_rate_bps=40_000_000, max_stage=2)
    assert cca.scale(0.5, 0)
    rates = []
    for i in range(5):  # one ACK per window, half the target load
        cca.on_ack(ack(ack_seq=100_000 * i, next_seq=100_000 * i + 50_000, hops=(hop(4160 * i, 24_700 * i, 0),)))
        rates.append(cca.rate_bps)
    assert rates[:3] == [50_000_000_000, 50_040_000_000, 50_080_000_000]
    assert rates[3] == LINE  # forced multiplicative step: 50.08 / 0.5 is beyond the line
    assert rates[4] == LINE


def test_hpcc_fast_reaction_starts_from_the_reference_rate(make_cca: MakeCca, ack: Ack) -> None:
    cca = hpcc_after(make_cca, ack, [hop(0, 0, 0)], [hop(1040, 13_000, 0)])
    once = cca.rate_bps
    cca.on_ack(ack(ack_seq=3000, next_seq=52_000, hops=(hop(2080, 26_000, 0),)))
    assert cca.rate_bps == once == 95_040_000_000  # same load, same answer: no compounding within a window
    cca.on_ack(ack(ack_seq=50_001, next_seq=99_000, hops=(hop(3120, 39_000, 0),)))
    assert cca.snapshot(0, 0)[1] == once  # committed after a window
    cca.on_ack(ack(ack_seq=51_000, next_seq=99_000, hops=(hop(4160, 52_000, 0),)))
    assert cca.rate_bps == int(once / (1 / 0.95)) + 40_000_000


def test_hpcc_per_rtt_ignores_acks_within_the_window(make_cca: MakeCca, ack: Ack) -> None:
    cca = hpcc_after(make_cca, ack, [hop(0, 0, 0)], [hop(1040, 26_000, 90_000)], fast_react=False)
    assert cca.rate_bps == LINE
    assert cca.snapshot(0, 0)[5] == ((0, 0, 0, LINE),)


def test_hpcc_derived_additive_increase(make_cca: MakeCca, make_flow: Callable[..., Any]) -> None:
    assert make_cca("hpcc")._ai_bps == pytest.approx(50_000_000, abs=1)
    flow = make_flow(line_rate_bps=4 * LINE)
    assert make_cca("hpcc", flow, expected_flows=10, eta=0.9)._ai_bps == pytest.approx(4_000_000_000, abs=1)


def test_hpcc_leaves_out_hops_of_another_path(make_cca: MakeCca, ack: Ack) -> None:
    cca = hpcc_after(make_cca, ack, [hop(100, 0, 0)], [hop(50, 10**6, 10**6)])
    assert cca.rate_bps == LINE
    for other in (hop(50, 500, 10**6, 4 * LINE), hop(50, 10**6, 10**6), hop(50, -1, 10**6)):
        assert hpcc_after(make_cca, ack, [hop(0, 0, 10**6)], [other]).rate_bps == LINE


# --- TIMELY ---


def timely(make_cca: MakeCca, ack: Ack, rtts_us: list[float], **options: Any) -> Cca:
    cca = make_cca("timely", **{"ai_rate_bps": 10**8, "hai_rate_bps": 5 * 10**8, "min_rate_bps": 10**9, **options})
    cca.scale(0.5, 0)
    for i, rtt_us in enumerate(rtts_us):
        cca.on_ack(ack(ack_seq=1 + i * 1000, next_seq=1000 + i * 1000, rtt_ps=round(rtt_us * 1e6)))
    return cca


@pytest.mark.parametrize(
    ("rtts_us", "expected_bps"),
    [
        ([10], 50_000_000_000),  # the first event only stores
        ([10, 20], 50_100_000_000),  # (3)
        ([400, 600], 50e9 * (1 - 0.8 * (1 - 500 / 600))),  # (4)
        ([300, 200], 50_100_000_000),  # (5)
        ([100, 108], 50e9 * (1 - 0.8 * 0.875 * 8 / 20)),  # (1), (2), (6)
        ([100, 200], 1_000_000_000),  # (6), held at zero, then the floor
        ([10] * 7, 51_000_000_000),  # five steps, then the hyperactive one: 5 x 0.1 + 0.5
    ],
)
def test_timely(make_cca: MakeCca, ack: Ack, rtts_us: list[float], expected_bps: float) -> None:
    assert timely(make_cca, ack, rtts_us).rate_bps == pytest.approx(expected_bps, abs=1)


def test_timely_1_averages_differences(make_cca: MakeCca, ack: Ack) -> None:
    cca = timely(make_cca, ack, [100, 108, 104])
    assert cca.snapshot(0, 0)[1] == pytest.approx(1e6 * (0.125 * (0.875 * 8) + 0.875 * -4))


def test_timely_window_follows_the_rate(make_cca: MakeCca, ack: Ack) -> None:
    cca = timely(make_cca, ack, [10, 10], window="variable")
    assert cca.window_bytes == 52_000 * cca.rate_bps // LINE
    assert timely(make_cca, ack, [10, 10], window="fixed").window_bytes == 52_000


# --- DCTCP ---


def test_dctcp_1_2(make_cca: MakeCca, ack: Ack) -> None:
    cca = make_cca("dctcp", ai_rate_bps=615_000_000)
    cca.on_ack(ack(ack_seq=1000, next_seq=49_000))  # first window: 50 packets
    for seq in range(2000, 12_000, 1000):
        cca.on_ack(ack(ack_seq=seq, next_seq=50_000, ecn_marked=True))
    assert cca.rate_bps == 50_000_000_000  # (2) with alpha = 1, once
    cca.on_ack(ack(ack_seq=50_000, next_seq=74_000))
    alpha = 15 / 16 + 0.2 / 16  # (1): 10 of 50
    assert cca.snapshot(0, 0)[1] == pytest.approx(alpha)
    assert cca.rate_bps == 50_000_000_000  # the window of the cut ends with the ACK beyond 50 000
    cca.on_ack(ack(ack_seq=51_000, next_seq=75_000, ecn_marked=True))
    assert cca.rate_bps == int(50_000_000_000 * (1 - alpha / 2))


def test_dctcp_additive_increase_once_per_window(make_cca: MakeCca, ack: Ack) -> None:
    cca = make_cca("dctcp", ai_rate_bps=615_000_000)
    cca.scale(0.5, 0)
    for seq in (1000, 2000, 50_000, 51_000, 52_000):
        cca.on_ack(ack(ack_seq=seq, next_seq=50_000 if seq <= 50_000 else 99_000))
    assert cca.rate_bps == 50_000_000_000 + 2 * 615_000_000
    assert make_cca("dctcp")._ai_bps == 1000 * 8 * 10**12 // 4_160_000  # a packet per RTT


# --- Swift ---


def swift(make_cca: MakeCca, **options: Any) -> Cca:
    fixed = {"base_target_ps": 20_000_000, "per_hop_ps": 1_000_000, "fs_range_ps": 30_000_000}
    return make_cca("swift", **{**fixed, **options})


def test_swift_5_target(make_cca: MakeCca) -> None:
    cca = swift(make_cca, max_cwnd_packets=200.0)
    slope = 30e6 / (1 / math.sqrt(0.1) - 0.1)
    for cwnd, scaling in ((200.0, 0.0), (100.0, 0.0), (25.0, slope * 0.1), (0.1, 30e6), (0.01, 30e6)):
        cca._set_cwnd(cwnd)
        assert cca._target_ps() == pytest.approx(22e6 + scaling)


def test_swift_1_2_increase(make_cca: MakeCca, ack: Ack) -> None:
    cca = swift(make_cca)
    cca._set_cwnd(10.0)
    cca.on_ack(ack(rtt_ps=5_000_000, acked_bytes=2000, now_ps=0))
    assert cca._cwnd == pytest.approx(10.2)
    assert (cca.window_bytes, cca.rate_bps) == (10_000, LINE)
    cca._set_cwnd(0.25)
    cca.on_ack(ack(rtt_ps=8_000_000, acked_bytes=500, now_ps=0))
    assert cca._cwnd == pytest.approx(0.75)


def test_swift_3_decrease_once_per_rtt(make_cca: MakeCca, ack: Ack) -> None:
    cca = swift(make_cca, fs_range_ps=1)
    cca._set_cwnd(40.0)
    cca.on_ack(ack(rtt_ps=27_500_000, acked_bytes=1000, now_ps=100))
    assert cca._cwnd == pytest.approx(40 * (1 - 0.8 * 5.5 / 27.5), rel=1e-6)
    before = cca._cwnd
    cca.on_ack(ack(rtt_ps=27_500_000, acked_bytes=1000, now_ps=100 + 27_499_999))
    assert cca._cwnd == before
    cca.on_ack(ack(rtt_ps=270_000_000, acked_bytes=1000, now_ps=100 + 270_000_000))
    assert cca._cwnd == pytest.approx(before * 0.5)  # 1 - max_mdf


def test_swift_4_loss(make_cca: MakeCca) -> None:
    cca = swift(make_cca, retransmit_reset=2)
    cca._set_cwnd(40.0)
    cca.on_loss(0, 1000, LossKind.NACK)
    assert cca._cwnd == 20.0
    cca.on_loss(1, 1000, LossKind.TIMEOUT)
    assert cca._cwnd == 20.0  # within the RTT of the last cut
    cca.on_loss(2, 1000, LossKind.TIMEOUT)
    assert cca._cwnd == 0.01


def test_swift_6_pacing_below_one_packet(make_cca: MakeCca, ack: Ack) -> None:
    cca = swift(make_cca, ai=0.0001)
    cca._set_cwnd(0.5)
    cca.on_ack(ack(rtt_ps=10_000_000, acked_bytes=0, now_ps=0))
    assert cca.window_bytes == 1000
    assert cca.rate_bps == 1048 * 8 * 10**12 // 20_000_000  # one frame every 2 RTTs


# --- none ---


@pytest.mark.parametrize(("window", "expected"), [("none", None), ("bdp", 52_000), ("64kB", 64_000), ("1500", 1500)])
def test_none(make_cca: MakeCca, window: str, expected: int | None) -> None:
    cca = make_cca("none", window=window)
    assert (cca.rate_bps, cca.window_bytes) == (LINE, expected)


# --- receivers of DCQCN ---


def test_cnp_interval() -> None:
    receiver = CnpReceiver(50)
    arrivals = [(0, False), (10, True), (20, True), (59, False), (60, False), (70, False), (130, True), (150, True)]
    assert [receiver.on_data(t, marked) for t, marked in arrivals] == [
        False, True, False, False, True, False, True, False,
    ]  # fmt: skip
    other = CnpReceiver(50)
    other.restore(receiver.snapshot(150), 1150)
    assert [other.on_data(1000 + t, False) for t in (170, 180, 190)] == [False, True, False]


def test_hpcc_compares_records_of_one_port_where_packets_take_several_paths(make_cca: MakeCca, ack: Ack) -> None:
    def used(records: list[tuple[tuple[int, ...], tuple[Any, ...]]]) -> int | None:
        cca = make_cca("hpcc", ai_rate_bps=50_000_000)
        for i, (ports, hops) in enumerate(records):
            fb = ack(ack_seq=100_000 * i, next_seq=100_000 * i + 50_000, hops=hops)
            fb.hop_ports = ports
            cca.on_ack(fb)
        return cca.rate_bps

    # Two paths, each at half load; their counters have nothing to do with each other.
    a = [((1,), (hop(4160 * i, 26_000 * i, 0),)) for i in range(0, 8, 2)]
    b = [((2,), (hop(4160 * i, 9_000_000 + 26_000 * i, 0),)) for i in range(1, 8, 2)]
    both = [record for pair in zip(a, b, strict=True) for record in pair]
    # Seen alone or in turns, each port says that it is half used: no reason to slow down.
    assert used(both) == used(a) == 100_000_000_000
