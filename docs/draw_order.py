"""Draws docs/order-of-calls.svg from the list in docs/order-of-calls.md: `python docs/draw_order.py`."""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import escape

FOLDER = Path(__file__).parent
LANES = (("hooks", 20), ("what components build", 290), ("called for each packet or flow", 560))
STEP, TOP, WIDTH, BOX = 30, 84, 830, 240
COLOURS = {"phase": "#5b6770", "hooks": "#2a6f97", "build": "#7a5195", "run": "#c8553d"}


def listed() -> list[str]:
    """Lines of the list: `# phase` or a name."""
    text = (FOLDER / "order-of-calls.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line if line.startswith("#") else line.split("  ")[0].strip() for line in block.splitlines()]


def lane(name: str) -> tuple[str, int]:
    """Colour and x position of a name."""
    if name.startswith("wormhole_"):
        return "hooks", LANES[0][1]
    if name.endswith(".build"):
        return "build", LANES[1][1]
    return "run", LANES[2][1]


def label(x: float, y: float, text: str, colour: str, size: int = 13, anchor: str = "start", bold: bool = False) -> str:
    """A text element."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'
    )


def draw() -> str:
    """The picture: time runs down, one lane for hooks, one for builds, one for methods."""
    shapes: list[str] = []
    y, last = TOP, None
    for line in listed():
        if line.startswith("#"):
            y += 12
            shapes.append(f'<line x1="10" y1="{y - 18}" x2="{WIDTH - 10}" y2="{y - 18}" stroke="#d5dade"/>')
            shapes.append(label(20, y, line.lstrip("# "), COLOURS["phase"], 12))
            y += 14
            last = None
            continue
        kind, x = lane(line)
        if last is not None:
            shapes.append(
                f'<path d="M {last[0]} {last[1]} C {last[0]} {y - 4} {x + 14} {last[1] + 4} {x + 14} {y}" '
                'fill="none" stroke="#9aa5ad" stroke-width="1.2"/>'
            )
        shapes.append(f'<rect x="{x}" y="{y}" width="{BOX}" height="22" rx="4" fill="{COLOURS[kind]}"/>')
        shapes.append(label(x + 10, y + 15.5, line, "#ffffff"))
        last = (x + 14, y + 22)
        y += STEP
    heads = [label(x, 44, title, "#20262b", 14, bold=True) for title, x in LANES]
    title = label(20, 22, "The order of calls, from top to bottom", "#20262b", 13)
    body = "\n".join([title, *heads, *shapes])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 8}" width="{WIDTH}" height="{y + 8}" '
        'font-family="Helvetica, Arial, sans-serif">\n'
        f'<rect width="{WIDTH}" height="{y + 8}" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    (FOLDER / "order-of-calls.svg").write_text(draw(), encoding="utf-8")
