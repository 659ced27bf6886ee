"""`network.order = "scheduled"`: what was scheduled first happens first (its truth: tests/reference)."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from wormhole_core.errors import ConfigError
from wormhole_core.sim.event.scheduled import MOST, Key, KeyTick, caused, precedes

NS = 1000
SCHEDULED = {"order": "scheduled", "clock_resolution_ps": NS}
FRAME_NS, FRAMES = 84, 20


def in_step(kit: Any, order: str, model: str = "event") -> Any:
    """Host 1 starts a frame before host 0; from then on their frames begin and arrive together."""
    flows = [kit.flow(0, 0, 2, FRAMES * 1000, FRAME_NS * NS), kit.flow(1, 1, 2, FRAMES * 1000)]
    return kit.run(kit.star(3), flows, network=SCHEDULED | {"order": order}, model=model)


def last_bytes_ns(run: Any) -> tuple[int, int]:
    return tuple(run.records[i].rx_last_byte_ps // NS for i in (0, 1))  # type: ignore[return-value]


def test_who_was_scheduled_first_goes_first(kit):
    """Of each pair host 1's frame is queued first, since its sender was busy already; by index it is host 0's."""
    way_ns = 2 * 1000 + FRAME_NS
    behind = {"scheduled": (2 * FRAMES - 1, 2 * FRAMES - 2), "index": (2 * FRAMES - 1, 2 * FRAMES - 1)}
    # Places in the queue of the switch, from 1: the pairs begin with the second frame; the last of all is host 0's.
    assert last_bytes_ns(in_step(kit, "scheduled"))[1] == way_ns + behind["scheduled"][1] * FRAME_NS
    assert last_bytes_ns(in_step(kit, "index"))[1] == way_ns + behind["index"][1] * FRAME_NS


def test_the_readable_model_keeps_to_the_index_and_says_so(kit):
    index, process = in_step(kit, "index"), in_step(kit, "scheduled", model="process")
    assert last_bytes_ns(process) == last_bytes_ns(index) != last_bytes_ns(in_step(kit, "scheduled"))
    assert "index" in process.simulation.derived()["order in an instant"]
    assert "order in an instant" not in in_step(kit, "scheduled").simulation.derived()
    assert "order in an instant" not in in_step(kit, "index", model="process").simulation.derived()


def test_another_order_is_refused(kit):
    with pytest.raises(ConfigError, match=r"order.*index.*scheduled"):
        in_step(kit, "chance")


@pytest.mark.parametrize("network", [
    {}, {"nic_wake": "earliest"}, {"acks": "lane"}, {"ack_every_packets": 4}, {"ack_obeys_pause": False},
    {"reliability": "selective-repeat"}, {"pfc": False, "buffer_bytes": 100_000},
    {"buffer_bytes": 400_000, "pfc_headroom_bytes": 20_000, "pfc_reserve_bytes": 1000},
    {"link_failures": ((10_000_000, 5, 6),)},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("cca", ["none", "hpcc", "dcqcn"])
@pytest.mark.parametrize("loss", [0.0, 0.01])
def test_everything_ends(kit, cca, network, loss):
    """Several flows per NIC, an incast: each byte arrives whatever happens, and nothing stays behind."""
    graph = kit.star(5, loss=loss)
    if "link_failures" in network:
        from wormhole_core import add_link, add_switch

        spare = add_switch(graph)
        for host in range(5):
            add_link(graph, host, spare, 100 * 10**9, 1_000_000)
        add_link(graph, 5, spare, 100 * 10**9, 1_000_000)
    flows = [kit.flow(n, n % 4 + 1, 0 if n % 3 else (n + 1) % 4 + 1, 30_000 + n) for n in range(12)]
    flows = [f for f in flows if f.src != f.dst]
    run = kit.run(graph, flows, cca=cca, network={**SCHEDULED, **network}, seed=3)
    assert len(run.records) == len(flows)
    assert all(not p.waiting and not p.paused for p in run.simulation.network.port_list)


# --- keys ---


def random_keys(count: int, seed: int) -> list[Key]:
    """Keys as a run makes them: of causes that came before."""
    rnd = random.Random(seed)
    keys = [caused(0, None, nic) for nic in range(4)]
    while len(keys) < count:
        keys.append(caused(-rnd.randint(0, 2), rnd.choice(keys[-8:]), 0))
    return keys


def test_the_order_is_one():
    """No two precede each other, and what precedes what precedes a third precedes it."""
    keys = random_keys(40, 1)
    for a, b in itertools.product(keys, repeat=2):
        assert not (precedes(a, b) and precedes(b, a))
    for a, b, c in itertools.product(keys, repeat=3):
        assert not (precedes(a, b) and precedes(b, c)) or precedes(a, c)


def test_causes_decide_and_then_the_nic():
    first, second = caused(0, None, 1), caused(0, None, 2)
    assert precedes(first, second) and precedes(caused(-5, first, 0), caused(-5, second, 0))
    assert precedes(caused(-5, second, 0), caused(-4, first, 0)), "what was scheduled earlier goes first"
    assert KeyTick(first) < KeyTick(second)


def test_keys_do_not_grow():
    key = caused(0, None, 7)
    for _ in range(10 * MOST):
        key = caused(-1, key, 0)
    length, walk = 0, key
    while walk is not None:
        length, walk = length + 1, walk[1]
    assert length == key[3] + 1 <= MOST + 1 and key[2] == 7
