"""A chart as text, and the same as a picture where matplotlib is installed (`pip install "wormhole-sim[plots]"`)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

Series = Mapping[str, Sequence[tuple[float, float]]]
MARKS = "*o+x#"
COLUMNS, ROWS = 64, 14


class Charts:
    """Shows charts as text at once, and collects them for one picture (`--picture FILE`)."""

    def __init__(self, description: str) -> None:
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--picture", metavar="FILE", help="also draw the charts (needs matplotlib)")
        self.picture = parser.parse_args().picture
        self._charts: list[tuple[str, str, str, Series]] = []

    def show(self, title: str, x_label: str, y_label: str, series: Series) -> None:
        """Print a chart; series: name -> points."""
        self._charts.append((title, x_label, y_label, series))
        print("\n" + "\n".join(text_chart(title, x_label, y_label, series)))

    def finish(self) -> None:
        """Write the picture, if one is wanted."""
        if self.picture is None:
            return
        try:
            import matplotlib
        except ImportError:
            sys.exit('a picture needs matplotlib: python -m pip install "wormhole-sim[plots]"')
        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(len(self._charts), 1, figsize=(7.5, 3.1 * len(self._charts)), squeeze=False)
        for axis, (title, x_label, y_label, series) in zip(axes[:, 0], self._charts, strict=True):
            for name, points in series.items():
                style = ".-" if len(points) <= 60 else "-"
                axis.plot(
                    [x for x, _ in points], [y for _, y in points], style, label=name, linewidth=1.2, markersize=5
                )
            axis.set_title(title, loc="left", fontsize=11)
            axis.set_xlabel(x_label)
            axis.set_ylabel(y_label)
            axis.set_ylim(bottom=0)
            axis.grid(alpha=0.25)
            if len(series) > 1:
                axis.legend(frameon=False, fontsize=9)
        figure.tight_layout()
        figure.savefig(self.picture, dpi=110)


def text_chart(title: str, x_label: str, y_label: str, series: Series) -> list[str]:
    """Lines of a chart; where points share a cell, the first series wins."""
    points = [point for values in series.values() for point in values]
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top = max(max(y for _, y in points), 1e-12)
    cells = [[" "] * COLUMNS for _ in range(ROWS)]
    for mark, values in reversed(list(zip(MARKS, series.values(), strict=False))):
        for x, y in values:
            column = round((x - left) / ((right - left) or 1) * (COLUMNS - 1))
            row = round(y / top * (ROWS - 1))
            cells[ROWS - 1 - row][column] = mark
    legend = ", ".join(f"{mark} {name}" for mark, name in zip(MARKS, series, strict=False))
    lines = [title, f"{y_label}" + (f"   ({legend})" if len(series) > 1 else "")]
    for number, row in enumerate(cells):
        scale = f"{top:9.4g}" if number == 0 else f"{0:9d}" if number == ROWS - 1 else " " * 9
        lines.append(f"{scale} |{''.join(row).rstrip()}")
    lines.append(" " * 9 + " +" + "-" * COLUMNS)
    span = f"{left:<.4g}"
    lines.append(" " * 11 + span + f"{right:.4g}  {x_label}".rjust(COLUMNS - len(span)))
    return lines
