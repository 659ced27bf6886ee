"""`facts` and `describe`: real files are read as their owners mean them, invalid ones refused."""

from __future__ import annotations

import json

import pytest

from wormhole_core.errors import InputError
from wormhole_core.run.formats import describe, facts

UNSUPPORTED = ("goal", "msccl")


def expected(shared):
    return json.loads((shared / "inputs/EXPECTED.json").read_text())


def test_real_files_are_read_as_expected(shared):
    compared = 0
    for name, wanted in expected(shared).items():
        if wanted["kind"] in UNSUPPORTED:
            continue
        known = facts(shared / "inputs" / name, lenient=not wanted.get("valid", True))
        assert {key: known.get(key) for key in wanted} == wanted, name
        compared += len(wanted)
    assert compared > 200


def test_invalid_real_files_are_refused_in_one_line(shared):
    refused = [name for name, wanted in expected(shared).items() if not wanted.get("valid", True)]
    assert len(refused) == 2
    for name in refused:
        path = shared / "inputs" / name
        with pytest.raises(InputError, match=r":2: the file declares \d+ \w+ but has \d+; correct") as caught:
            describe(path)
        assert str(caught.value).startswith(f"{path}:2: ")
        assert "\n" not in str(caught.value)


def test_unsupported_real_files_are_named(shared):
    for path in sorted((shared / "inputs").rglob("*")):
        if path.suffix in (".et", ".goal", ".xml"):
            with pytest.raises(InputError, match="not supported yet"):
                describe(path)


def test_topology_lines(write):
    path = write("t.txt", "5 1 2\n4\n0 4 100Gbps 1us 0\n1 4 25Gbps 1us 0\nand so on\n")
    assert describe(path) == [
        f"{path}: hpcc3",
        "4 hosts, 1 switch, 2 links",
        "link rates: 1 x 25 Gbps, 1 x 100 Gbps; delays: 2 x 1us",
        "links per host: 0/1; at most 2 hops from 0",
        "2 hosts cannot be reached from host 0 (hosts do not forward)",
        "note: 3 trailing tokens ignored",
        "note: host 2 and 1 more has no link",
    ]


def test_a_forced_dialect_is_for_topologies_only(write):
    topology = write("t.txt", "3 1 2 2\n0 2 100Gbps 1us 0\n1 2 25Gbps 1us 0\n")
    assert facts(topology, format="hpcc", lenient=True)["kind"] == "hpcc3"
    flows = write("flow.txt", "1\n0 1 3 100 5000000 2\n")
    assert facts(flows, format="hpcc")["kind"] == "hpcc-flow"
    one_line = write("one.txt", "hello 3 1 2")
    with pytest.raises(InputError, match=r"one\.txt:1: the header's nodes \(hpcc3\) is 'hello'"):
        facts(one_line, format="hpcc")


def test_flow_lines(write):
    path = write("flow.txt", "1\n0 1 3 100 5000000 2\n7 7 7 7 7 7\n")
    assert describe(path) == [
        f"{path}: hpcc-flow",
        "1 flow of 1 source to 1 destination, 5000000 bytes (5 MB), 5000000 to 5000000",
        "starts from 2 s to 2 s",
        "note: 6 tokens after the declared 1 flows ignored (1 rows of 6 and 0 more)",
    ]


def test_workload_and_config_lines(write):
    work = write("w.txt", "MICRO\n1\nt -1 2 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n")
    assert describe(work)[1:] == [
        "policy MICRO, 1 rows (1 declared)",
        "wg:ALLREDUCE: 1 x, 4096 bytes",
        "communication 4096 bytes (4.096 kB); computing fwd 2 ns, ig 1 ns, wg 1 ns, update 1 ns",
    ]
    config = write("c.txt", "CC_MODE 3\nU_TARGET 0.9\nBUFFER_SIZE 1\nWHAT 5\nSIMULATOR_STOP_TIME 4\n")
    assert describe(config)[1:] == [
        "cca hpcc: eta 0.9",
        "network: buffer_bytes 1048576",
        "stops at 4 s",
        "unknown keys: WHAT",
    ]


def test_paths_and_traces(write):
    paths = write("paths.csv", "flow_id,sport,dport,data_path,ack_path\n0,1,2,0-3-1,\n1,1,2,,\n")
    assert facts(paths) == {"kind": "neutral-paths", "flows": 2, "data_paths": 1, "notes": []}
    trace = write("trace.txt", "2\n0 1\n2")
    assert facts(trace)["notes"] == ["1 tokens after the declared ids ignored"]
    with pytest.raises(InputError, match="declares 5 nodes but has 3"):
        facts(write("trace.txt", "5\n0 1\n2"))
