"""The command line as a function: `cli("run", ...)` gives exit code and both outputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from wormhole_core.cli import main


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """Standard error, which must be exactly one line and no traceback."""
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        return self.err.rstrip("\n")

    @property
    def result(self) -> dict[str, Any]:
        return json.loads(self.out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    def run(*arguments: object) -> Answer:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a small star network, three flows into one host, and an experiment."""
    nodes = [{"id": i, "type": "host"} for i in range(4)] + [{"id": 4, "type": "switch"}]
    links = [{"a": i, "b": 4, "gbps": 100, "delay_ns": 1000} for i in range(4)]
    (tmp_path / "topology.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    (tmp_path / "flows.csv").write_text(
        "flow_id,src,dst,bytes,start_ns,deps\n0,0,3,100000,0,\n1,1,3,100000,0,\n2,2,3,50000,500,0;1\n"
    )
    (tmp_path / "exp.toml").write_text(
        '[topology]\nfile = "topology.json"\n\n[workload]\nflows = "flows.csv"\n\n[cca]\nplugin = "none"\n\n'
        "[network]\npfc = true\n\n[run]\nseed = 7\n"
    )
    return tmp_path
