"""The code and the commands of README.md work as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from wormhole_core.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PYTHON = [block for language, block in BLOCKS if language == "python"]
COMMANDS = [line.split("#")[0].strip() for language, block in BLOCKS if not language for line in block.splitlines()]
RUNNABLE = [c for c in COMMANDS if c.startswith("wormhole-sim ") and not re.search(r"\b[A-Z]\b|FILE|config\.txt", c)]


def test_the_python_example_runs(monkeypatch, capsys):
    (script,) = (block for block in PYTHON if "simulate(" in block)
    monkeypatch.chdir(ROOT)
    exec(compile(script, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("complete ")


@pytest.mark.parametrize("command", RUNNABLE)
def test_commands_run(command, monkeypatch, tmp_path, capsys):
    (plugin,) = (block for block in PYTHON if "wormhole_ccas" in block)
    (tmp_path / "my_cca.py").write_text(plugin)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out


def test_there_are_commands_to_run():
    assert len(RUNNABLE) >= 5


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
