"""Topologies: each dialect is read as its layout says, each fault is refused where it stands."""

from __future__ import annotations

import pytest

from wormhole_core.contracts.topology import check_graph
from wormhole_core.errors import InputError
from wormhole_core.run.formats import distances_from, facts, read_topology

STAR = "4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 0.001ms 0.01\n2 3 25000000000.0 0.000001 0\n"
SIMAI = "7 2 2 1 8 H100\n4 5 6\n" + "".join(
    f"{gpu} {4 + gpu // 2} 2880Gbps 0.000025ms 0\n{gpu} 6 400Gbps 0.0005ms 0\n" for gpu in range(4)
)
NEUTRAL = """{"nodes": [{"id": 0, "type": "host"},
 {"id": 5, "type": "host"}, {"id": 2, "type": "switch", "buffer_bytes": 9}],
 "links": [{"a": 5, "b": 2, "gbps": 2.5, "delay_ns": 0.001},
 {"a": 0, "b": 2, "rate_bps": 7, "delay_ps": 3, "loss": 0.25}]}"""


def links(topology):
    """(a, b, rate, delay, loss) in order of the link index."""
    edges = sorted(topology.graph.edges(data=True), key=lambda edge: edge[2]["link_index"])
    return [(*sorted((a, b)), d["rate_bps"], d["delay_ps"], d["loss"]) for a, b, d in edges]


def test_three_token_header(write):
    topology = read_topology(write("t.txt", STAR))
    assert (topology.kind, topology.dialect, topology.hosts, topology.switches) == (
        "hpcc-topology",
        "hpcc3",
        (0, 1, 2),
        1,
    )
    assert links(topology) == [
        (0, 3, 10**11, 10**6, 0.0),
        (1, 3, 10**11, 10**6, 0.01),
        (2, 3, 25 * 10**9, 10**6, 0.0),
    ]
    assert topology.delay_texts == {"1us": 1, "0.001ms": 1, "0.000001": 1}
    assert topology.notes == []
    check_graph(topology.graph, "t")


def test_line_breaks_mean_nothing_except_in_the_header(write):
    topology = read_topology(write("t.txt", STAR.replace("\n0 3", " 0 3").replace(" 1us", "\n1us")))
    assert links(topology)[0] == (0, 3, 10**11, 10**6, 0.0)
    one_line = write("one.txt", STAR.replace("\n", " "))
    assert len(read_topology(one_line, format="hpcc").hosts) == 3
    with pytest.raises(InputError, match="header has 19 tokens"):
        read_topology(one_line)


def test_switch_ids_anywhere_and_trailing_tokens(write):
    topology = read_topology(write("t.txt", "3 1 2\n0\n0 1 1Gbps 1ns 0\n0 2 1Gbps 1ns 0\n0 9 1Gbps ... end"))
    assert topology.hosts == (1, 2)
    assert topology.trailing_tokens == 5
    assert topology.notes == ["5 trailing tokens ignored"]


def test_parallel_links_are_kept(write):
    topology = read_topology(write("t.txt", "3 1 3\n2\n0 2 1Gbps 1ns 0\n0 2 1Gbps 1ns 0\n1 2 1Gbps 1ns 0\n"))
    assert topology.graph.number_of_edges(0, 2) == 2


def test_ring_without_switches_reaches_neighbours_only(write):
    ring = "4 0 4\n\n0 1 1Gbps 1ns 0\n1 2 1Gbps 1ns 0\n2 3 1Gbps 1ns 0\n3 0 1Gbps 1ns 0\n"
    topology = read_topology(write("ring.txt", ring))
    assert distances_from(topology.graph, 0) == {0: 0, 1: 1, 3: 1}
    known = facts(topology.path)
    assert (known["hosts_unreachable_from_first"], known["host_degree"]) == (1, [2])


def test_four_token_header(write):
    topology = read_topology(
        write("t.txt", "5 2 1 4\n3 4\n0 3 25e9 1us 0\n1 3 25e9 1us 0\n3 4 1e11 5us 0\n2 4 1e11 1us 0")
    )
    assert (topology.dialect, topology.tors, topology.switches, len(topology.hosts)) == ("inet4", 1, 2, 3)


def test_six_numbers_are_reverie(write):
    topology = read_topology(write("t.txt", "3 1 1 2 25000000000 100000000000\n2\n0 2 25Gbps 1us 0\n1 2 25Gbps 1us 0"))
    assert (topology.dialect, topology.kind, topology.tors) == ("reverie6", "hpcc-topology", 1)


def test_simai(write):
    topology = read_topology(write("t", SIMAI))
    graph = topology.graph
    assert (topology.kind, topology.gpus_per_server, topology.gpu_type) == ("simai-topology", 2, "H100")
    assert (topology.hosts, topology.nvswitches, topology.switches) == ((0, 1, 2, 3), 2, 1)
    assert [graph.nodes[gpu]["server"] for gpu in range(4)] == [0, 0, 1, 1]
    assert [bool(graph.nodes[s].get("nvswitch")) for s in (4, 5, 6)] == [True, True, False]
    assert links(topology)[0] == (0, 4, 2880 * 10**9, 25_000, 0.0)


def test_tiers_count_from_the_hosts(write):
    two = "6 4 5\n2 3 4 5\n0 2 1Gbps 1ns 0\n1 3 1Gbps 1ns 0\n2 4 1Gbps 1ns 0\n3 4 1Gbps 1ns 0\n4 5 1Gbps 1ns 0\n"
    graph = read_topology(write("t.txt", two)).graph
    assert [graph.nodes[s]["tier"] for s in (2, 3, 4, 5)] == [1, 1, 2, 3]


def test_neutral_json(write):
    topology = read_topology(write("topology.json", NEUTRAL))
    assert (topology.kind, topology.dialect, topology.hosts) == ("neutral-topology", "neutral", (0, 5))
    assert links(topology) == [(2, 5, 2_500_000_000, 1, 0.0), (0, 2, 7, 3, 0.25)]
    assert topology.graph.nodes[2]["buffer_bytes"] == 9
    noted = read_topology(write("n.json", NEUTRAL.replace('"loss"', '"los"')))
    assert noted.notes == ["unknown fields ignored: links.los"]


def test_lenient_reads_the_links_that_are_there(write):
    path = write("t.txt", STAR.rsplit("\n", 2)[0] + "\n2 3")
    with pytest.raises(InputError, match=r"t\.txt:1: the header declares 3 links but only 2 are there.*--lenient"):
        read_topology(path)
    topology = read_topology(path, lenient=True)
    assert topology.graph.number_of_edges() == 2
    assert topology.notes == ["3 links declared, 2 read; 2 tokens of an incomplete row ignored", "host 2 has no link"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1 3 100Gbps", "1 4 100Gbps", r":4: a link names node 4, expected 0 to 3"),
        ("1 3 100Gbps", "1 1 100Gbps", r":4: a link connects node 1 to itself"),
        ("1 3 100Gbps", "1 x 100Gbps", r":4: a link's second node is 'x', expected a number"),
        ("1 3 100Gbps", "-1 3 100Gbps", r":4: a link's first node is -1, expected at least 0"),
        ("0 3 100Gbps", "0 3 100Gbs", r":3: the rate of link 0-3 is '100Gbs', expected a rate such as"),
        ("0 3 100Gbps", "0 3 0Gbps", r":3: the rate of link 0-3 is '0Gbps', expected at least 1 bit"),
        ("0 3 100Gbps", "0 3 1e99999999Gbps", r":3: the rate of link 0-3 is .*expected a number"),
        ("0 3 100Gbps", "0 3 1e9Gbps", r":3: the rate of link 0-3 .*at most 1000 Tbps"),
        (" 1us", " 1parsec", r":3: the delay of link 0-3 is '1parsec', expected a time"),
        (" 1us", " 0ns", r":3: the delay of link 0-3 is '0ns', expected at least 1 ps"),
        (" 1us", " 5000", r":3: the delay of link 0-3 is '5000', expected at most an hour"),
        ("0.01\n", "1.5\n", r":4: the error rate of link 1-3 is '1.5', expected a probability"),
        ("4 1 3\n3\n", "4 1 3\n9\n", r":2: switch id 9 does not exist, expected 0 to 3"),
        ("4 1 3\n3\n", "4 2 3\n3 3\n", r":2: switch id 3 is listed twice"),
        ("4 1 3\n3\n", "4 99 3\n3\n", r":1: the header declares 99 switches among 4 nodes"),
        ("4 1 3\n3\n", "999999999 1 3\n3\n", r":1: the header declares 999999999 nodes but 3 links cannot"),
        ("4 1 3\n3\n", "4 1 999999999\n3\n", r":1: the header declares 999999999 links but only 3"),
        ("4 1 3\n3\n", "0 0 3\n\n", r":1: the header's nodes \(hpcc3\) is 0, expected at least 1"),
    ],
)
def test_faults_of_text_topologies(write, old, new, message):
    text = STAR.replace(old, new, 1)
    assert text != STAR
    with pytest.raises(InputError, match=message):
        read_topology(write("t.txt", text))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"b": 2, "gbps"', '"b": 3, "gbps"', r"links\[0\] names node 3, which is not in 'nodes'"),
        ('"b": 2, "gbps"', '"b": 5, "gbps"', r"links\[0\] connects node 5 to itself"),
        ('"gbps": 2.5', '"gbps": 0', r"links\[0\]: gbps is '0', expected a number greater than 0"),
        ('"gbps": 2.5', '"gbps": "2.5"', r"links\[0\]: gbps is '2.5', expected a number"),
        ('"gbps": 2.5', '"gbps": 2.5, "rate_bps": 1', r"links\[0\] has both of gbps and rate_bps"),
        ('"gbps": 2.5, ', "", r"links\[0\] has neither of gbps and rate_bps"),
        ('"loss": 0.25', '"loss": 1', r"links\[1\]: loss is 1, expected a probability"),
        ('"id": 5', '"id": 0', r"nodes\[1\]: node 0 is listed twice"),
        ('"id": 5', '"id": 5.5', r"nodes\[1\]: id is '5.5', expected a whole number"),
        ('"type": "switch"', '"type": "router"', r"nodes\[2\]: type is 'router'"),
        ('"links": [', '"links": [1, ', r"links\[0\] is .*expected an object"),
        ("]}", "]", r"topology\.json:4: not valid JSON"),
    ],
)
def test_faults_of_neutral_topologies(write, old, new, message):
    text = NEUTRAL.replace(old, new, 1)
    assert text != NEUTRAL
    with pytest.raises(InputError, match=message):
        read_topology(write("topology.json", text))


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 10_000])
def test_json_that_breaks_the_parser(write, value):
    with pytest.raises(InputError, match=r"not valid JSON|expected a list|is .*expected an object"):
        read_topology(write("topology.json", '{"nodes": [' + value))


def test_wrong_kind_and_format_are_named(write):
    flows = write("flows.csv", "flow_id,src,dst,bytes,start_ns\n0,0,1,5,0\n")
    with pytest.raises(InputError, match="kind neutral-flows, expected a topology"):
        read_topology(flows)
    with pytest.raises(InputError, match="topology format is 'gns3', expected one of auto"):
        read_topology(write("t.txt", STAR), format="gns3")
