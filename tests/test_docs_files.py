"""The layouts shown in docs/files.md are read as it says."""

from __future__ import annotations

import re
from pathlib import Path

from wormhole_core.run.formats import FORMATS, KINDS, detect, read_flows, read_topology

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "files.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_layouts_shown_are_read(tmp_path):
    blocks = [(language, text) for language, text in BLOCK.findall(PAGE) if language in ("json", "csv")]
    names = ["topology.json", "flows.csv", "paths.csv"]
    assert [name.rpartition(".")[2] for name in names] == [language for language, _ in blocks]
    for name, (_, text) in zip(names, blocks, strict=True):
        (tmp_path / name).write_text(text)
    assert detect(tmp_path / "paths.csv") == "neutral-paths"
    topology = read_topology(tmp_path / "topology.json")
    assert topology.notes == [] and len(topology.hosts) == 3
    first, second, third = read_flows(tmp_path / "flows.csv", topology, tmp_path / "paths.csv").flows
    assert (first.path, first.ack_path, first.sport, first.dport) == ((0, 3, 2), (2, 3, 0), 10_000, 100)
    assert (second.sport, second.dport, second.path) == (10_007, 4791, None)
    assert (third.deps, third.path, third.ack_path) == ((0, 1), (2, 3, 0), None)


def test_every_dialect_is_on_the_page():
    for name in ("hpcc", "powertcp", "simai", "reverie", "htsim"):
        assert name in FORMATS and name in PAGE
    assert {"hpcc-flow", "hpcc-config", "hpcc-trace", "neutral-paths", "htsim-cm"} <= {*KINDS}
    for name in ("flow.txt", "config.txt", "trace.txt", "paths.csv", "`.cm`", "fct.txt"):
        assert name in PAGE
