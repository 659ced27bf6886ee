"""Flow Conflict Graphs as pictures (needs matplotlib, the optional extra `plots`) and as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from ..accel.conflict_graph import ConflictGraph
from ..errors import OutputError
from ..units import format_rate, format_time
from .memo_store import Pattern

MOST_LABELLED = 40
"""Vertices carry text up to this many."""
MOST_LISTED = 16
COLUMNS = 3


def can_draw() -> bool:
    """Whether matplotlib is there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def draw(found: Sequence[Pattern], path: str | Path) -> None:
    """Draw the graphs of patterns into one picture file; raises OutputError."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(COLUMNS, len(found))
    rows = -(-len(found) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(4.2 * columns, 4.4 * rows), squeeze=False)
    try:
        for axis in axes.flat[len(found) :]:
            axis.set_axis_off()
        for axis, pattern in zip(axes.flat, found, strict=False):
            _draw_one(axis, pattern)
        figure.tight_layout()
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise OutputError(
            f"{path}: cannot write a picture there: {error}; "
            "name a .png, .svg or .pdf file in a folder you may write to"
        ) from None
    finally:
        pyplot.close(figure)


def _draw_one(axis: object, pattern: Pattern) -> None:
    graph = pattern.graph
    places = [
        (math.sin(2 * math.pi * i / graph.flows), math.cos(2 * math.pi * i / graph.flows)) for i in range(graph.flows)
    ]
    finer = min(1.0, 24 / max(1, len(graph.edges)))  # many edges are drawn thin
    for a, b in graph.ack_edges:
        (x0, y0), (x1, y1) = places[a], places[b]
        axis.plot([x0, x1], [y0, y1], color="0.55", linewidth=0.4 + 0.6 * finer, linestyle=":", zorder=0)  # type: ignore[attr-defined]
    heaviest = max(graph.edges.values(), default=1)
    for (a, b), weight in sorted(graph.edges.items(), key=lambda item: item[1]):
        (x0, y0), (x1, y1) = places[a], places[b]
        shade = 0.75 - 0.55 * weight / heaviest
        width = 0.4 + 1.6 * finer * weight / heaviest
        axis.plot([x0, x1], [y0, y1], color=str(shade), linewidth=width, zorder=1)  # type: ignore[attr-defined]
        if graph.flows <= 8:
            middle = ((x0 + x1) / 2, (y0 + y1) / 2)
            axis.annotate(str(weight), middle, fontsize=7, ha="center", va="center",  # type: ignore[attr-defined]
                          bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"}, zorder=2)  # fmt: skip
    fastest = max(graph.rate_bps)
    largest = min(200.0, 2_000 / graph.flows)
    sizes = [largest * (0.2 + 0.8 * rate / fastest) for rate in graph.rate_bps]
    axis.scatter(*zip(*places, strict=True), s=sizes, color="#2a7f9e", edgecolor="white", zorder=3)  # type: ignore[attr-defined]
    if graph.flows <= MOST_LABELLED:
        for (x, y), rate in zip(places, graph.rate_bps, strict=True):
            side = "center" if abs(x) < 0.2 else "left" if x > 0 else "right"
            axis.annotate(format_rate(rate), (1.1 * x, 1.12 * y), fontsize=6.5, ha=side, va="center")  # type: ignore[attr-defined]
    axis.set_title(title(pattern).replace(", ", ",\n", 1), fontsize=8.5)  # type: ignore[attr-defined]
    axis.set_xlim(-1.6, 1.6)  # type: ignore[attr-defined]
    axis.set_ylim(-1.4, 1.4)  # type: ignore[attr-defined]
    axis.set_aspect("equal")  # type: ignore[attr-defined]
    axis.set_axis_off()  # type: ignore[attr-defined]


def title(pattern: Pattern) -> str:
    """One line about a pattern."""
    graph = pattern.graph
    return (
        f"{graph.flows} flow{'s' * (graph.flows > 1)}, {len(graph.edges)} edges"
        + (f" and {len(graph.ack_edges)} by ACKs" if graph.ack_edges else "")
        + f", {format_time(pattern.duration_ps)}, replayed {pattern.uses:,} times"
    )


def adjacency(graph: ConflictGraph) -> list[str]:
    """The graph as text: per flow its rate and whom it shares links with (flow x links, if more than one)."""
    near: list[list[tuple[int, str]]] = [[] for _ in range(graph.flows)]
    for edges, kind in ((graph.edges, ""), (graph.ack_edges, " (ACKs)")):
        for (a, b), weight in edges.items():
            text = (f" x{weight}" if weight > 1 else "") + kind
            near[a].append((b, text))
            near[b].append((a, text))
    lines = []
    for flow in range(min(graph.flows, MOST_LISTED)):
        others = [f"{other}{text}" for other, text in sorted(near[flow])]
        rest = f" and {len(others) - MOST_LISTED} more" if len(others) > MOST_LISTED else ""
        shown = ", ".join(others[:MOST_LISTED]) + rest
        lines.append(f"flow {flow} ({format_rate(graph.rate_bps[flow])}): {shown or 'shares no link'}")
    if graph.flows > MOST_LISTED:
        lines.append(f"and {graph.flows - MOST_LISTED} more flows")
    return lines
