"""A run that cannot end says so and names what is pending; hosts that cannot be reached are named."""

from __future__ import annotations

import pytest

from wormhole_core import Cca, add_link, add_switch, new_graph
from wormhole_core.errors import ConfigError, StalledError


def two_islands():
    graph = new_graph(4)
    for pair in ((0, 1), (2, 3)):
        switch = add_switch(graph)
        for host in pair:
            add_link(graph, host, switch, 10**11, 10**6)
    return graph


@pytest.mark.parametrize("routing", ["ecmp", "spray"])
@pytest.mark.parametrize("where", [(0, 3), (1, 3)])
def test_dead_link_without_alternative(kit, model, routing, where):
    """The sender's or the receiver's only link dies: the flow is named, the other one finishes."""
    flows = [kit.flow(7, 0, 1, 1_000_000), kit.flow(8, 2, 0 if where[0] == 1 else 1, 50_000)]
    run = kit.make(kit.star(3), flows, network={"link_failures": ((20_000_000, *where),)}, routing=routing, model=model)
    with pytest.raises(StalledError) as stalled:
        run.finish()
    text = str(stalled.value)
    assert "no byte moved" in text or "no event is left" in text
    assert "flow 7 (0 -> 1)" in text
    assert "flow 8" not in text
    assert list(run.records) == [8]


def test_the_watchdog_is_configurable(kit, model):
    run = kit.make(
        kit.star(2),
        [kit.flow(7, 0, 1, 10**6)],
        model=model,
        no_progress_ps=10**9,
        network={"link_failures": ((20_000_000, 1, 2),)},
    )
    with pytest.raises(StalledError, match=r"no byte moved for 1 ?ms"):
        run.finish()
    assert run.simulation.now_ps < 2 * 10**9


class Mute(Cca):
    """Never opens its window."""

    def __init__(self) -> None:
        self.window_bytes, self.rate_bps = 0, None

    def on_ack(self, fb) -> None: ...

    def snapshot(self, now_ps, snd_una):
        return ()

    def restore(self, state, now_ps, snd_una) -> None: ...


def test_drained_queue(kit, model):
    run = kit.make(kit.star(2), [kit.flow("quiet", 0, 1, 100)], model=model)
    run.simulation.network.make_cca = lambda info, rng: Mute()
    with pytest.raises(StalledError, match="no event is left") as stalled:
        run.finish()
    assert "flow quiet (0 -> 1)" in str(stalled.value)
    assert "waits for its window of 0 B" in str(stalled.value)


def test_work_that_never_becomes_ready(kit, model):
    run = kit.make(kit.star(2), [kit.flow(1, 0, 1, 100), kit.flow(2, 0, 1, 100)], after={2: ["nobody"]}, model=model)
    with pytest.raises(StalledError, match="flow 2 waits for"):
        run.finish()
    assert list(run.records) == [1]


def test_a_long_computation_is_no_stall(kit, model):
    late = kit.flow(2, 0, 1, 100, start_ps=3 * 10**12)
    assert len(kit.run(kit.star(2), [kit.flow(1, 0, 1, 100), late], model=model).records) == 2


def test_unreachable_hosts_are_named(kit, model):
    with pytest.raises(ConfigError, match="host 3 cannot be reached from host 0"):
        kit.run(two_islands(), [kit.flow(0, 0, 3, 10)], model=model)


@pytest.mark.parametrize(
    ("src", "dst", "size", "said"),
    [
        (0, 9, 10, "destination 9 is not in the topology"),
        (4, 1, 10, "source 4 is a switch"),
        (1, 1, 10, "source and destination are both 1"),
        (0, 1, 0, "size is 0 B"),
        (0, 1, -5, "size is -5 B"),
    ],
)
def test_bad_flows_are_named(kit, src, dst, size, said):
    with pytest.raises(ConfigError, match=said) as refused:
        kit.run(two_islands(), [kit.flow("f", src, dst, size)])
    assert "flow f" in str(refused.value)


def test_a_flow_moves_to_its_other_nic(kit, model):
    """Two NICs; the one in use dies, the flow goes on by the other and is not held up by it."""
    graph = new_graph(2)
    switches = [add_switch(graph), add_switch(graph)]
    for host in (0, 1):
        for switch in switches:
            add_link(graph, host, switch, 10**11, 10**6)
    used = []
    for switch in switches:
        run = kit.run(
            graph,
            [kit.flow(0, 0, 1, 1_000_000)],
            model=model,
            network={"link_failures": ((20_000_000, 0, switch),), "rto_ps": 50_000_000},
        )
        used.append(run.records[0].retransmitted_bytes)
        assert run.records[0].fct_ps < 250_000_000
    assert sorted(n > 0 for n in used) == [False, True]


def test_until_is_obeyed(kit, model):
    run = kit.make(kit.star(2), [kit.flow(0, 0, 1, 10**6)], model=model)
    while not run.simulation.advance(100, until_ps=10_000_000):
        pass
    assert 9_000_000 < run.simulation.now_ps <= 10_000_000
    assert not run.simulation.finished
    assert run.finish().records[0].size_bytes == 10**6


def test_a_slow_link_is_no_stall(kit, model):
    """A frame takes 8 s and more at 1 kbps; a second without progress means nothing there."""
    graph = new_graph(2)
    add_link(graph, 0, 1, 1_000, 10**6)
    run = kit.make(graph, [kit.flow(7, 0, 1, 3_000)], model=model)
    run.finish()
    assert list(run.records) == [7]
