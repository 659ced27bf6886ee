"""Documentation points at what exists: files, headings, make targets, modules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    path for path in ROOT.rglob("*.md") if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """Headings as links name them: lower case, punctuation dropped, spaces to dashes."""
    headings = re.findall(r"^#+\s+(.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


def faults(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    found = []
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        if not place.exists():
            found.append(f"{target}: no such file")
        elif anchor and place.suffix == ".md" and anchor not in anchors(place.read_text(encoding="utf-8")):
            found.append(f"{target}: no such heading")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE):
        if command not in targets:
            found.append(f"make {command}: no such target")
    for module in re.findall(r"`(wormhole_core(?:\.[a-z_]+)+)`", text):
        parts = module.split(".")
        if not any(
            (ROOT.joinpath(*parts[:n]).with_suffix(".py")).is_file() or ROOT.joinpath(*parts[:n]).is_dir()
            for n in (len(parts), len(parts) - 1)
        ):
            found.append(f"{module}: no such module")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_points_at_what_exists(page):
    assert faults(page) == []


def test_this_test_can_fail(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A b\n[x](gone.md) [y](#a-b) [z](#c)\n`make tea`\n`wormhole_core.attic.trunk`\n")
    assert faults(page) == [
        "gone.md: no such file",
        "#c: no such heading",
        "make tea: no such target",
        "wormhole_core.attic.trunk: no such module",
    ]
