"""What kind of file is it? Every kind from its text, and clear refusals for the rest."""

from __future__ import annotations

import gzip

import pytest

from wormhole_core.errors import InputError
from wormhole_core.run.formats import KINDS, detect

SAMPLES = {
    "neutral-topology": '{\n"nodes": [], "links": []}',
    "neutral-flows": "flow_id,src,dst,bytes,start_ns,deps\n",
    "neutral-paths": "flow_id,sport,dport,data_path,ack_path\n",
    "hpcc-topology": "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n",
    "hpcc-flow": "1\n0 1 3 100 5000 2\n",
    "hpcc-config": "# mine\nENABLE_QCN 1\n",
    "hpcc-trace": "2\n0 1\n",
    "simai-topology": "3 2 1 0 2 H100\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n",
    "simai-workload": "MICRO\n1\nt -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n",
    "htsim-cm": "Nodes 4\nConnections 1\n0->1 start 0 size 5\n",
    "htsim-topo": "Nodes 4\nTiers 2\nPodsize 4\n",
    "experiment": "# an experiment\n[topology]\nplugin = 'star'\n",
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(write, kind):
    assert detect(write("file", SAMPLES[kind])) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("4 2 1 3\n2 3", "hpcc-topology"),
        ("4 2 1 3 25000000000 100000000000\n2 3", "hpcc-topology"),
        ("3 1 2 2 0 2 1Gbps 1us 0 1 2 1Gbps 1us 0", "hpcc-topology"),
        ("1 0 1 3 100 5000 2", "hpcc-flow"),
        ("\n\n  1\n0 1 3 100 5000 2.5", "hpcc-flow"),
        ("\ufeffMICRO\r\n1\r\n", "simai-workload"),
        ("MIKRO\n1\nt -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1", "simai-workload"),
        ("// notes\nMY_KEY 3\nCC_MODE 3", "hpcc-config"),
    ],
)
def test_variants(write, text, kind):
    assert detect(write("file", text)) == kind


def test_the_name_settles_a_doubt(write):
    text = "6\n1 2 3\n4 5 6\n"
    assert detect(write("trace.txt", text)) == "hpcc-trace"
    assert detect(write("flow.txt", text)) == "hpcc-flow"
    assert detect(write("run.toml", "seed = 3\n")) == "experiment"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a", b"", "the file is empty"),
        ("a", b" \n\t\r\n", "the file is empty"),
        ("a", b"\xef\xbb\xbf\n", "the file is empty"),
        ("a", b"\x7fELF\x01\x02\x00\x00", "binary data .byte 0x7f at offset 0.; expected a text file"),
        ("a", b"3 1 2\n\xff\xfe", "not UTF-8 text .byte 0xff at offset 6"),
        ("a", gzip.compress(b"3 1 2"), "gzip-compressed"),
        ("a", b"hello world\n", r"a:1: unknown kind of file \(begins 'hello world'\); tried neutral JSON"),
        ("a", b"{}", "unknown kind of file"),
        ("a", b'{"x": ', r"a:1: not valid JSON"),
        ("a", b"[" * 100_000, "not valid JSON .nested too deeply"),
        ("a.toml", b"[run\n", "not valid TOML"),
        ("a.goal", b"num_ranks 2\n\nrank 0 {\n}\n", "GOAL schedule: not supported yet"),
        ("a.bin", (4223).to_bytes(8, "little") + b"\x02\x00\x00\x00", "GOAL schedule .binary.: not supported yet"),
        ("a.xml", b'<algo name="x" ngpus="2">', "MSCCL algorithm: not supported yet"),
        ("a.0.et", b"\x07\x0a\x050.0.4\x10\x08\x01", "Chakra execution trace: not supported yet"),
        ("a", b"\x07\x0a\x050.0.4\x10\x08\x01", "Chakra execution trace: not supported yet"),
        ("a.json", b'{"nodes": [{"id": 1, "ctrl_deps": []}]}', "Chakra execution trace .JSON."),
        ("a.json", b'{"scheduling-policy": "LIFO"}', "ASTRA-sim system description"),
        ("a.yml", b"topology: [ Ring ]\nnpus_count: [ 8 ]\n", "ASTRA-sim network description"),
        ("a.txt", b"0 0\n10000 15\n20000 100\n", "Flow-size distribution"),
        ("a.csv", b"flow_id,fct_ns\n0,5\n", "this is a table of results"),
    ],
)
def test_refusals(write, name, content, message):
    with pytest.raises(InputError, match=message):
        detect(write(name, content))


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        detect(tmp_path / "nothing")
    with pytest.raises(InputError, match="this is a folder"):
        detect(tmp_path)
    with pytest.raises(InputError, match="cannot read the file"):
        detect("a\x00b")
