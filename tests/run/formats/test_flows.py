"""Flow lists and pinned paths: exact numbers, order, and every fault with its line."""

from __future__ import annotations

import pytest

from wormhole_core.errors import InputError
from wormhole_core.run.formats import read_flows, read_topology

STAR = "4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n"
FLOWS = "flow_id,src,dst,bytes,start_ns,deps\n0,0,1,1000,0,\n7,0,1,2000,1.5,\n9,1,2,1000000000000,250,0;7\n"
HPCC = "3\n0 1 3 100 200000000 2\n0 1 3 200 1000000000000 0.000000000001\n1 2 3 100 5 2.0\nplease ignore me"
PATHS = "flow_id,sport,dport,data_path,ack_path\n0,10007,100,0-3-1,1-3-0\n9,10000,101,1-3-2,\n"


@pytest.fixture
def star(write):
    return read_topology(write("t.txt", STAR))


def test_neutral(write, star):
    read = read_flows(write("flows.csv", FLOWS), star)
    assert [(f.id, f.src, f.dst, f.size_bytes, f.start_ps, f.deps, f.sport, f.line) for f in read.flows] == [
        (0, 0, 1, 1000, 0, (), 10000, 2),
        (7, 0, 1, 2000, 1500, (), 10001, 3),
        (9, 1, 2, 10**12, 250_000, (0, 7), 10000, 4),
    ]
    assert (read.total_bytes, read.has_dependencies, read.declared) == (10**12 + 3000, True, None)
    transfer = read.flows[2].transfer(job="j")
    assert (transfer.id, transfer.delay_ps, transfer.dport, transfer.job) == (9, 250_000, 100, "j")


def test_neutral_without_deps_and_with_other_order(write):
    read = read_flows(write("flows.csv", "bytes,src,dst,flow_id,start_ns\r\n1e3,0,1,4,0\r\n"))
    assert [(f.id, f.size_bytes) for f in read.flows] == [(4, 1000)]


def test_paths(write, star):
    read = read_flows(write("flows.csv", FLOWS), star, paths=write("paths.csv", PATHS))
    by_id = {f.id: f for f in read.flows}
    assert (by_id[0].sport, by_id[0].path, by_id[0].ack_path) == (10007, (0, 3, 1), (1, 3, 0))
    assert (by_id[7].sport, by_id[7].path) == (10001, None)
    assert (by_id[9].dport, by_id[9].path, by_id[9].ack_path) == (101, (1, 3, 2), None)
    assert read.notes == ["1 of 3 flows have no path in paths.csv: routed"]


def test_hpcc_is_sorted_stably_and_numbered_in_that_order(write, star):
    read = read_flows(write("flow.txt", HPCC), star)
    assert [(f.id, f.size_bytes, f.start_ps, f.sport, f.dport) for f in read.flows] == [
        (1, 10**12, 1, 10000, 200),
        (0, 2 * 10**8, 2 * 10**12, 10001, 100),
        (2, 5, 2 * 10**12, 10000, 100),
    ]
    assert (read.declared, read.present) == (3, 3)
    assert read.notes == [
        "3 tokens after the declared 3 flows ignored (0 rows of 6 and 3 more)",
        "starts are not in ascending order; the flows were sorted",
    ]


def test_hpcc_declared_count_is_authoritative_and_lenient_takes_less(write):
    assert len(read_flows(write("flow.txt", HPCC.replace("3\n", "1\n", 1))).flows) == 1
    short = write("short.txt", HPCC.replace("3\n", "5\n", 1))
    with pytest.raises(InputError, match=r"short\.txt:1: the file declares 5 flows but has 3.*--lenient"):
        read_flows(short)
    assert len(read_flows(write("flow.txt", HPCC.replace("3\n", "5\n", 1)), lenient=True).flows) == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0,0,1,1000", "0,0,3,1000", r":2: flow 0: dst 3 is a switch, expected a host"),
        (
            "0,0,1,1000",
            "0,8,1,1000",
            r":2: flow 0: src 8 is not in the topology; expected one of its 3 hosts \(0 to 2\)",
        ),
        ("0,0,1,1000", "0,1,1,1000", r":2: flow 0 goes from host 1 to itself"),
        ("0,0,1,1000", "0,0,1,0", r":2: bytes of flow 0 is 0, expected at least 1"),
        ("0,0,1,1000", "0,0,1,-5", r":2: bytes of flow 0 is -5, expected at least 1"),
        ("0,0,1,1000", "0,0,1,10.5", r":2: bytes of flow 0 is '10.5', expected a whole number"),
        ("0,0,1,1000", "0,0,1,ten", r":2: bytes of flow 0 is 'ten', expected a number"),
        ("0,0,1,1000", "0,0,1,99999999999999999999", r":2: bytes of flow 0 is .*, expected at most"),
        ("7,0,1", "0,0,1", r":3: flow_id 0 is already used on line 2"),
        ("2000,1.5", "2000,-1.5", r":3: start_ns of flow 7 is '-1.5', expected 0 or later"),
        ("2000,1.5", "2000,1e9999", r":3: start_ns of flow 7 is '1e9999', too long or too large"),
        ("0;7", "0;8", r":4: flow 9 depends on flow 8, which is not in the file"),
        ("0;7", "0;9", r":4: flow 9 depends on itself"),
        ("1.5,\n", "1.5,9\n", r":3: flows wait for each other in a circle \(7 after 9 after 7\)"),
        ("7,0,1,2000,1.5,", "7,0,1", r":3: the row has 3 cells, expected 6"),
        ("7,0,1,2000,1.5,", "7,0,1,2000,1.5,,,", r":3: the row has 8 cells, expected 6"),
        ("deps\n", "dep\n", r":1: unknown column 'dep'; did you mean 'deps'\?"),
        ("bytes", "size", r":1: unknown column 'size'"),
        ("bytes,start_ns", "start_ns,start_ns", r":1: column 'start_ns' appears twice"),
    ],
)
def test_faults_of_neutral_flows(write, star, old, new, message):
    text = FLOWS.replace(old, new, 1)
    assert text != FLOWS
    with pytest.raises(InputError, match=message):
        read_flows(write("flows.csv", text), star)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0 1 3 100", "0 3 3 100", r":2: flow 0: dst 3 is a switch"),
        ("0 1 3 100", "0 44 3 100", r":2: flow 0: dst 44 is not in the topology"),
        ("200000000 2", "0 2", r":2: size of flow 0 is 0, expected at least 1"),
        ("200000000 2", "5 -2", r":2: start of flow 0 is '-2' s, expected 0 or later"),
        ("200000000 2", "many 2", r":2: size of flow 0 is 'many', expected a number"),
        ("0 1 3 100", "0 1 9 100", r":2: priority group of flow 0 is '9', expected at most 7"),
    ],
)
def test_faults_of_hpcc_flows(write, star, old, new, message):
    with pytest.raises(InputError, match=message):
        read_flows(write("flow.txt", HPCC.replace(old, new, 1)), star)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0-3-1", "0-1", r"paths\.csv:2: data_path of flow 0 uses a link 0-1 that the topology does not have"),
        ("0-3-1", "0-3-2", r":2: data_path of flow 0 is '0-3-2', expected node ids from 0 to 1"),
        ("0-3-1", "0-3-2-3-1", r":2: data_path of flow 0 passes through host 2"),
        ("0-3-1", "0-x-1", r":2: a node of data_path of flow 0 is 'x', expected a number"),
        ("9,10000", "5,10000", r":3: flow 5 is not in flows\.csv"),
        ("9,10000", "0,10000", r":3: flow 0 has a path already"),
        ("9,10000", "9,99999", r":3: sport of flow 9 is '99999', expected at most 65535"),
    ],
)
def test_faults_of_paths(write, star, old, new, message):
    with pytest.raises(InputError, match=message):
        read_flows(write("flows.csv", FLOWS), star, paths=write("paths.csv", PATHS.replace(old, new, 1)))


def test_reference_scenarios_fit_their_topologies(shared):
    folders = [path.parent for path in sorted((shared / "reference").rglob("flows.csv"))]
    assert len(folders) > 15
    for folder in folders:
        topology = read_topology(folder / "topology.json")
        paths = folder / "paths.csv"
        read = read_flows(folder / "flows.csv", topology, paths=paths if paths.exists() else None)
        assert len(read.flows) == len((folder / "flows.csv").read_text().split()) - 1
        assert not read.notes
        if paths.exists():
            assert all(flow.path and flow.ack_path for flow in read.flows)
