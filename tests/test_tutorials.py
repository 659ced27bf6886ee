"""The tutorials work: files are written, commands run, and Python blocks executed, in the order of the page."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from wormhole_core.cli import main
from wormhole_core.hooks import KINDS

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tutorials"
PAGES = sorted(FOLDER.glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def follow(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Do what a page says, in a folder; returns the number of blocks. Raises AssertionError if it does not hold."""
    blocks = BLOCK.findall(page)
    for language, text in blocks:
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", text)
            if name:
                (folder / name[1]).write_text(text.partition("\n")[2])
            else:
                exec(compile(text, "tutorial", "exec"), {})
        elif language == "console":
            follow_console(text, capsys)
        else:
            raise AssertionError(f"a block in {language!r} is not run by anybody")
    return len(blocks)


def follow_console(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`$ wormhole-sim ...` and below it lines that its output must contain."""
    out = None
    for line in text.splitlines():
        if line.startswith("$ "):
            command = shlex.split(line[2:])
            assert command[0] == "wormhole-sim", line
            capsys.readouterr()
            code = main(command[1:])
            captured = capsys.readouterr()
            out = " ".join(captured.out.split())
            assert code == 0, f"{line}\n{captured.out}{captured.err}"
        else:
            assert out is not None and " ".join(line.split()) in out, f"{line!r} is not in: {out}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def test_there_is_a_tutorial_per_kind():
    assert {page.stem for page in PAGES} == set(KINDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_works(page, folder, capsys):
    text = page.read_text()
    assert follow(text, folder, capsys) >= 3
    assert f"../contracts.md#{'' if page.stem != 'cca' else 'cca'}" in text
    assert "wormhole-sim check " in text


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("```python\nassert 1 == 2\n```\n", "assert"),
        ("```console\n$ wormhole-sim plugins\nno such plugin\n```\n", "'no such plugin' is not in"),
        ("```console\n$ wormhole-sim describe cca nobody\n```\n", "unknown cca 'nobody'"),
        ("```console\n$ rm -rf .\n```\n", "rm -rf"),
        ("```shell\nls\n```\n", "not run by anybody"),
    ],
)
def test_this_test_can_fail(page, told, folder, capsys):
    with pytest.raises(AssertionError) as caught:
        follow(page, folder, capsys)
    assert told in str(caught.value) or told == "assert"
