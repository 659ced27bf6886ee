"""What goes into a switch comes out of it, or was dropped there; in the end its buffer is empty."""

from __future__ import annotations

from collections import Counter

import pytest

from wormhole_core import Observer

PFC_BYTES = 43
CASES = {
    "calm": ({}, 0.0),
    "pfc": ({"buffer_bytes": 200_000}, 0.0),
    "no pfc": ({"buffer_bytes": 60_000, "pfc": False}, 0.0),
    "selective": ({"buffer_bytes": 60_000, "pfc": False, "reliability": "selective-repeat"}, 0.01),
    "loss": ({"buffer_bytes": 200_000}, 0.01),
    "failure": ({"buffer_bytes": 200_000, "link_failures": ((8_000_000, 8, 10),)}, 0.0),
    "lane": ({"buffer_bytes": 200_000, "acks": "lane"}, 0.01),
}


class Ledger(Observer):
    """PFC frames by (receiving node, link)."""

    def __init__(self) -> None:
        self.pfc: Counter[tuple[int, int]] = Counter()

    def port_paused(self, now_ps, node, link_index, paused):
        self.pfc[node, link_index] += 1


@pytest.mark.parametrize("case", CASES)
def test_bytes_at_every_switch(kit, model, case):
    network, loss = CASES[case]
    graph = kit.graph("leaf-spine", leaves=2, spines=2, hosts_per_leaf=4, oversubscription=2.0)
    for _, _, data in graph.edges(data=True):
        data["loss"] = loss
    flows = [kit.flow(n, n, (n + 4) % 8 if n % 2 else (5 if n < 4 else 0), 200_000) for n in range(8)]
    ledger = Ledger()
    run = kit.make(graph, flows, network={"rto_ps": 300_000_000, **network}, model=model, observers=[ledger])
    dropped: Counter[tuple[int, str]] = Counter()
    ports = run.simulation.network.port_list
    for port in ports:
        port.on_drop = lambda port, packet, why: dropped.update({(port.index, why): packet.size})
    run.finish().drain()
    assert len(run.records) == 8
    for node, switch in run.simulation.motion.switches.items():
        into = [p for p in ports if p.peer == node]
        out = [p for p in ports if p.node == node]
        came = sum(p.tx_bytes - dropped[p.index, "loss"] for p in into)
        came -= PFC_BYTES * sum(ledger.pfc[node, p.link_index] for p in out)
        left = sum(p.tx_bytes - PFC_BYTES * ledger.pfc[p.peer, p.link_index] for p in out)
        kept = sum(dropped[p.index, why] for p in out for why in ("buffer full", "link down"))
        assert came == left + kept, node
        assert not any(i.bytes or i.held_headroom or i.paused for i in switch.buffer.ingresses)
        assert switch.buffer.shared_used == 0
        if model == "event":
            assert switch.held == 0
    reasons = {why for _, why in dropped}
    counters = run.simulation.counters
    assert counters.drops == 0 or sum(dropped.values()) == sum(p.dropped_bytes for p in ports)
    assert (counters.pauses > 0) == (network.get("buffer_bytes") == 200_000)
    expected = {"no pfc": {"buffer full"}, "selective": {"buffer full", "loss"}, "failure": {"link down"}}
    assert reasons == expected.get(case, {"loss"} if loss else set())
