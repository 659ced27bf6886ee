"""ECMP against recorded paths of an independent simulator; spray and flowlet against their promises."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from wormhole_core import FlowKey, stream
from wormhole_core.builtin.murmur import murmur3_32
from wormhole_core.builtin.routing_ecmp import ECMP, host_address
from wormhole_core.builtin.routing_flowlet import FLOWLET
from wormhole_core.builtin.routing_spray import SPRAY

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"


def make(component, **options):
    return component.build(component.config(**options), stream(1, "routing"))


def key(flow: int = 0, is_ack: bool = False) -> FlowKey:
    return FlowKey(flow_index=flow, src=0, dst=9, sport=10_000 + flow, dport=100, is_ack=is_ack)


@pytest.mark.parametrize(
    ("words", "seed", "expected"),
    [
        ((), 0, 0),
        ((), 1, 0x514E28B7),
        ((), 0xFFFFFFFF, 0x81F16F39),
        ((0xFFFFFFFF,), 0, 0x76293B50),
        ((0x87654321,), 0, 0xF55B516B),
        ((0x87654321,), 0x5082EDEE, 0x2362F9DE),
        ((0,), 0, 0x2362F9DE),
        ((0x61616161,), 0x9747B28C, 0x5A97808A),
    ],
)
def test_murmur_known_answers(words, seed, expected):
    assert murmur3_32(words, seed) == expected


def test_addresses():
    assert [hex(host_address(n)) for n in (0, 1, 255, 256, 1000)] == [
        "0xb000001",
        "0xb000101",
        "0xb00ff01",
        "0xb010001",
        "0xb03e801",
    ]


# Three recorded choices, so that the rule is checked without the recordings at hand: a leaf (node 16)
# with the two spines 21, 20 in that order.
@pytest.mark.parametrize(("src", "dst", "sport", "dport", "switch", "expected"), [(3, 4, 10_000, 100, 16, 20)])
def test_one_recorded_choice(src, dst, sport, dport, switch, expected):
    flow = FlowKey(flow_index=0, src=src, dst=dst, sport=sport, dport=dport)
    assert (21, 20)[make(ECMP).choose(flow, switch, 2, 0, 0)] == expected


def test_salt_draws_other_collisions():
    paths = [[make(ECMP, salt=salt).choose(key(flow), 5, 4, 0, 0) for flow in range(64)] for salt in (0, 0, 1)]
    assert paths[0] == paths[1] != paths[2]
    assert set(Counter(paths[0])) == {0, 1, 2, 3}


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="recorded paths (../shared/reference) are not beside this checkout")
@pytest.mark.parametrize(
    ("folder", "flows", "with_a_choice"),
    [
        ("s7_leafspine16_ring_10MB", 16, 4),
        ("training/w1_gpt13b_dp_128", 3840, 0),
        ("training/w3_pp_dp_overlap_64", 1920, 768),
    ],
)
def test_every_recorded_path(folder, flows, with_a_choice):
    network = Recorded(REFERENCE / folder)
    rows = list(csv.DictReader((REFERENCE / folder / "paths.csv").read_text().splitlines()))
    choices = 0
    for row in rows:
        data, ack = ([int(node) for node in row[name].split("-")] for name in ("data_path", "ack_path"))
        src, dst, sport, dport = data[0], data[-1], int(row["sport"]), int(row["dport"])
        forward = FlowKey(flow_index=0, src=src, dst=dst, sport=sport, dport=dport)
        back = FlowKey(flow_index=0, src=dst, dst=src, sport=dport, dport=sport, is_ack=True)
        assert network.path(forward) == data and network.path(back) == ack, row
        choices += len(data) > 3
    assert (len(rows), choices) == (flows, with_a_choice)


class Recorded:
    """The recorded topology and shortest paths on it, apart from the simulator's own code."""

    def __init__(self, folder: Path) -> None:
        topology = json.loads((folder / "topology.json").read_text())
        self.hosts = {node["id"] for node in topology["nodes"] if node["type"] == "host"}
        self.neighbours = defaultdict(list)
        for link in topology["links"]:
            self.neighbours[link["a"]].append(link["b"])
            self.neighbours[link["b"]].append(link["a"])
        self.distances: dict[int, dict[int, int]] = {}
        self.routing = make(ECMP)

    def path(self, flow: FlowKey) -> list[int]:
        distance = self.distances.setdefault(flow.dst, {}) or self._measure(flow.dst)
        path = [flow.src]
        while path[-1] != flow.dst:
            here = path[-1]
            closer = [n for n in self.neighbours[here] if distance.get(n) == distance[here] - 1]
            closer.sort(reverse=True)
            path.append(closer[self.routing.choose(flow, here, len(closer), 0, 0) if len(closer) > 1 else 0])
        return path

    def _measure(self, dst: int) -> dict[int, int]:
        distance, queue = {dst: 0}, [dst]
        for node in queue:
            if node in self.hosts and node != dst:
                continue
            for other in self.neighbours[node]:
                if other not in distance:
                    distance[other] = distance[node] + 1
                    queue.append(other)
        self.distances[dst] = distance
        return distance


def test_spray_in_turn_uses_all_links_equally():
    routing = make(SPRAY)
    chosen = [routing.choose(key(), 7, 4, t, t) for t in range(40)]
    assert Counter(chosen) == {link: 10 for link in range(4)}
    assert all((b - a) % 4 == 1 for a, b in pairwise(chosen))


def test_spray_at_random_is_uniform_and_reproducible():
    first, second = make(SPRAY, order="random"), make(SPRAY, order="random")
    chosen = [first.choose(key(), 7, 4, 0, 0) for _ in range(4000)]
    assert chosen == [second.choose(key(), 7, 4, 0, 0) for _ in range(4000)]
    assert all(900 < n < 1100 for n in Counter(chosen).values())


@pytest.mark.parametrize("order", ["round-robin", "random"])
def test_sprayed_flows_do_not_influence_each_other(order):
    together, alone = make(SPRAY, order=order), make(SPRAY, order=order)
    mixed = []
    for t in range(20):
        together.choose(key(2), 7, 4, t, t)
        together.choose(key(1, is_ack=True), 7, 4, t, t)
        mixed.append(together.choose(key(1), 7, 4, t, t))
    assert mixed == [alone.choose(key(1), 7, 4, t, t) for t in range(20)]
    assert together.snapshot() == ((1, False, 7, 20), (1, True, 7, 20), (2, False, 7, 20))


def test_flowlets_change_links_only_after_a_gap():
    routing = make(FLOWLET, gap_ps=100)
    assert len({routing.choose(key(), 7, 8, t, 0) for t in range(0, 10_000, 100)}) == 1
    spaced = Counter(routing.choose(key(), 7, 8, t, 0) for t in range(20_000, 180_000, 101))
    assert set(spaced) == set(range(8))
    flow, is_ack, switch, last_ps, flowlet = routing.snapshot()[0]
    assert (flow, is_ack, switch) == (0, False, 7) and last_ps > 179_000 and flowlet > 1000


def test_what_they_promise_about_paths():
    assert [c.traits["per_flow"] for c in (ECMP, FLOWLET, SPRAY)] == [True, False, False]
