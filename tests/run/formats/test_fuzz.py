"""Damaged files: whatever happens to one, a reader reads it or raises InputError with one line."""

from __future__ import annotations

import random
import re

import pytest

from wormhole_core.errors import InputError
from wormhole_core.run.formats import (
    FORMATS,
    describe,
    read_cm,
    read_flows,
    read_hpcc_config,
    read_hpcc_trace,
    read_simai_workload,
    read_topology,
)

ROUNDS = 400
JUNK = [
    b"-1", b"0", b"1e999999", b"99999999999999999999", b"NaN", b"inf", b"\x00", b"\xff", b"{", b'"', b"#", b"1_000",
    b"\xd9\xa3", b"-", b"->", b"=", b"[", b"1e40Gbps", b"5Gbps", b"", b"\x85", b"999999999", b"KMIN_MAP", b";0",
]  # fmt: skip
SEEDS = {
    "topology.txt": b"4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 0.001ms 0.01\n2 3 25e9 0.000001 0\n",
    "simai": b"5 2 1 1 4 H100\n3 4\n0 3 2880Gbps 25ns 0\n1 3 2880Gbps 25ns 0\n0 4 4Gbps 1us 0\n2 4 4Gbps 1us 0\n",
    "topology.json": b'{"nodes": [{"id": 0, "type": "host"}, {"id": 1, "type": "switch"}],\n'
    b'"links": [{"a": 0, "b": 1, "gbps": 100, "delay_ns": 1000, "loss": 0.1}]}',
    "flows.csv": b"flow_id,src,dst,bytes,start_ns,deps\n0,0,1,1000,0,\n7,0,1,2000,1.5,0\n9,1,2,1000,250,0;7\n",
    "paths.csv": b"flow_id,sport,dport,data_path,ack_path\n0,10007,100,0-3-1,1-3-0\n9,10000,101,1-3-2,\n",
    "flow.txt": b"3\n0 1 3 100 200000000 2\n0 1 3 200 1000000000000 0.000000000001\n1 2 3 100 5 2.0\n",
    "trace.txt": b"3\n0 1 2\n",
    "config.txt": b"CC_MODE 3\nRATE_AI 50Mb/s\nLINK_DOWN 5 0 3\nTOPOLOGY_FILE topology.txt\nBUFFER_SIZE 32\n"
    b"KMAX_MAP 1 25Gbps 400\nKMIN_MAP 1 25Gbps 100\nPMAX_MAP 1 25Gbps 0.2\nINT_MULTI 1\nU_TARGET 0.95\n",
    "work.txt": b"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 checkpoints: 1 3 pp_comm: 5.0\n1\n"
    b"grad -1 1 NONE 0 1 ALLTOALL_EP 64 1 REDUCESCATTER 6497239040 100\n",
    "a.cm": b"Nodes 4\nConnections 1\nTriggers 1\n0->1 id 1 start 0 size 5 send_done_trigger 1\ntrigger id 1 oneshot\n",
    "a.topo": b"Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n"
    b"Downlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 1\n",
    "run.toml": b"[topology]\nfile = 'x'\n[run]\nseed = 1\n",
}


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A copy with one to four faults: bytes changed, cut, doubled, or tokens replaced by junk."""
    content = bytearray(data[:20_000])
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not content:
            break
        at = rng.randrange(len(content))
        fault = rng.randrange(6)
        if fault == 0:
            content[at] = rng.randrange(256)
        elif fault == 1:
            del content[at : at + rng.randrange(1, 60)]
        elif fault == 2:
            content[at:at] = rng.choice(JUNK)
        elif fault == 3:
            tokens = list(re.finditer(rb"[^\s,:]+", bytes(content)))
            if tokens:
                token = rng.choice(tokens)
                content[token.start() : token.end()] = rng.choice(JUNK)
        elif fault == 4:
            other = rng.randrange(len(content))
            content[at:at] = content[other : other + rng.randrange(1, 200)]
        else:
            del content[at:]
    return bytes(content)


def try_all(path, rng, network, flows):
    """Give a file to every reader; returns how many refused it."""
    refused = 0
    for read in (
        describe,
        lambda p: describe(p, lenient=True),
        lambda p: read_topology(p, format=rng.choice(list(FORMATS)), lenient=True),
        lambda p: read_flows(p, network),
        lambda p: read_flows(flows, network, paths=p),
        read_hpcc_config,
        read_hpcc_trace,
        read_simai_workload,
        read_cm,
    ):
        try:
            read(path)
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)
            assert len(str(error)) < 400 + len(str(path))
    return refused


@pytest.mark.parametrize("name", SEEDS)
def test_only_input_errors(write, name):
    network = read_topology(write("network.txt", SEEDS["topology.txt"]))
    flows = write("my_flows.csv", SEEDS["flows.csv"])
    describe(write(name, SEEDS[name]))
    rng = random.Random(name)
    refused = 0
    for _ in range(ROUNDS):
        refused += try_all(write(name, damaged(SEEDS[name], rng)), rng, network, flows)
    # Most damage must be noticed by the readers of other kinds at least.
    assert refused > 4 * ROUNDS


def test_only_input_errors_on_real_files(shared, write):
    network = read_topology(write("network.txt", SEEDS["topology.txt"]))
    flows = write("my_flows.csv", SEEDS["flows.csv"])
    rng = random.Random(5)
    files = [path for path in sorted((shared / "inputs").rglob("*")) if path.is_file()]
    for _ in range(3):
        for file in files:
            try_all(write(file.name, damaged(file.read_bytes(), rng)), rng, network, flows)
