"""One flow alone has a closed formula: store and forward over h links of one rate."""

from __future__ import annotations

import pytest

DELAY_PS = 700_000
HEADER = 48
ACK = 60


def tx_ps(size_bytes: int, rate_bps: int) -> int:
    """Serialisation; exact at the rates below."""
    exact, rest = divmod(size_bytes * 8 * 10**12, rate_bps)
    assert rest == 0
    return exact


@pytest.mark.parametrize("gbps", [10, 100, 400, 800])
@pytest.mark.parametrize("links", [1, 2, 4])
@pytest.mark.parametrize("size_bytes", [1, 1_000, 1_500, 150_000])
def test_single_flow(kit, model, gbps, links, size_bytes):
    rate = gbps * 10**9
    run = kit.run(kit.chain(links - 1, rate, DELAY_PS), [kit.flow(0, 0, 1, size_bytes)], model=model)
    full, rest = divmod(size_bytes, 1_000)
    if not rest:
        full, rest = full - 1, 1_000
    last, frame = tx_ps(rest + HEADER, rate), tx_ps(1_000 + HEADER, rate)
    if full:
        # The last frame, no longer than the others, waits behind one of them at every switch.
        arrival = (full + links - 1) * frame + last + links * DELAY_PS
    else:
        arrival = links * (last + DELAY_PS)
    record = run.records[0]
    assert record.rx_last_byte_ps == arrival
    assert record.fct_ps == arrival + links * (tx_ps(ACK, rate) + DELAY_PS)
    assert record.ideal_fct_ps == record.fct_ps
    ports = run.simulation.network.port_list
    frames = full + 1
    assert {p.tx_frames for p in ports} == {frames}
    assert {p.tx_bytes for p in ports} == {size_bytes + frames * HEADER, frames * ACK}


def test_a_slow_link_in_the_middle(kit, model):
    """100, 10 and 100 Gbps: the slow link sets the pace."""
    from wormhole_core import add_link, add_switch, new_graph

    graph = new_graph(2)
    a, b = add_switch(graph), add_switch(graph)
    for x, y, gbps in ((0, a, 100), (a, b, 10), (b, 1, 100)):
        add_link(graph, x, y, gbps * 10**9, DELAY_PS)
    record = kit.run(graph, [kit.flow(0, 0, 1, 50_000)], model=model).records[0]
    fast, slow = tx_ps(1_048, 100 * 10**9), tx_ps(1_048, 10**10)
    assert record.rx_last_byte_ps == fast + 50 * slow + fast + 3 * DELAY_PS
    assert record.ideal_fct_ps == record.fct_ps


def test_a_window_of_one_frame_takes_a_round_trip_each(kit, model):
    rate, links = 100 * 10**9, 2
    run = kit.run(
        kit.chain(1, rate, DELAY_PS), [kit.flow(0, 0, 1, 10_000)], cca_options={"window": "1000"}, model=model
    )
    trip = links * (tx_ps(1_048, rate) + tx_ps(ACK, rate) + 2 * DELAY_PS)
    assert run.records[0].fct_ps == 10 * trip


def test_acks_on_a_lane_take_no_capacity(kit, model):
    run = kit.run(
        kit.chain(1, 10**10, DELAY_PS),
        [kit.flow(0, 0, 1, 5_000), kit.flow(1, 1, 0, 5_000)],
        network={"acks": "lane"},
        model=model,
    )
    arrival = 6 * tx_ps(1_048, 10**10) + 2 * DELAY_PS
    assert {r.rx_last_byte_ps for r in run.records.values()} == {arrival}
    assert {p.tx_frames for p in run.simulation.network.port_list} == {5}


def test_one_ack_for_several_frames(kit, model):
    run = kit.run(
        kit.chain(1, 10**10, DELAY_PS), [kit.flow(0, 0, 1, 11_000)], network={"ack_every_packets": 4}, model=model
    )
    back = [p for p in run.simulation.network.port_list if p.node == 1]
    assert [p.tx_frames for p in back] == [3]  # after 4, 8 and the last
    assert run.records[0].fct_ps == 12 * tx_ps(1_048, 10**10) + 2 * tx_ps(ACK, 10**10) + 4 * DELAY_PS


def test_two_flows_share_a_nic_frame_by_frame(kit, model):
    run = kit.run(kit.star(3, 10**10, DELAY_PS), [kit.flow(0, 0, 1, 10_000), kit.flow(1, 0, 2, 10_000)], model=model)
    ends = sorted(r.rx_last_byte_ps for r in run.records.values())
    frame = tx_ps(1_048, 10**10)
    assert ends == [(19 + 1) * frame + 2 * DELAY_PS, (20 + 1) * frame + 2 * DELAY_PS]


def test_resolution_rounds_each_serialisation(kit, model):
    run = kit.run(
        kit.chain(0, 3 * 10**9, DELAY_PS),
        [kit.flow(0, 0, 1, 3_000)],
        network={"clock_resolution_ps": 1000},
        model=model,
    )
    assert run.records[0].rx_last_byte_ps == 3 * 2_795_000 + DELAY_PS  # 2794.67 ns
