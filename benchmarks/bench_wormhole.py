"""What wormhole mode gains and what it costs in accuracy, beside what is required of it.

    python benchmarks/bench_wormhole.py [--quick | --long] [--only ROW] [--json FILE]

CPU seconds of the run phase, packet, cold and warm in one process; ratios are what counts. Prints a
line per requirement and exits with 1 if one is missed. The full run takes about half an hour on an idle
machine, most of it packet mode; --quick leaves out the packet runs that take minutes,
--long checks all steps where otherwise the first few are checked. Rows on files that
lie beside the checkout say skipped where those are not there. What was tried is in `NOTES.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from wormhole_lines import Line
from wormhole_measure import Bench, scratch
from wormhole_rows import ROWS, Row, lines_of


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description="Speed-up and error of wormhole mode.")
    parser.add_argument("--quick", action="store_true", help="leave out packet runs that take minutes")
    parser.add_argument("--long", action="store_true", help="check all 30 steps of 100 MB, not the first four")
    parser.add_argument("--only", action="append", metavar="ROW", choices=[r.name for r in ROWS],
                        help=f"one row (may be repeated): {', '.join(r.name for r in ROWS)}")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there as well")
    options = parser.parse_args()
    rows = [row for row in ROWS if not options.only or row.name in options.only]
    lines: list[Line] = []
    with scratch() as folder:
        bench = Bench(options.quick, options.long, Path(folder))
        clock = Estimate(rows, options.quick)
        for row in rows:
            clock.begin(row)
            for line in lines_of(row, bench):
                show(line)
                lines.append(line)
            clock.end(row)
    missed = [line for line in lines if line.ok is False]
    judged = sum(line.ok is not None for line in lines)
    print(f"{judged - len(missed)} of {judged} requirements met" + ("" if not missed else ", missed:"))
    for line in missed:
        show(line)
    if options.json:
        options.json.write_text(
            json.dumps([vars(line) for line in lines], indent=1, default=str) + "\n", encoding="utf-8"
        )
    return 1 if missed else 0


def show(line: Line) -> None:
    """row, what, expected, measured, judgement."""
    judged = {None: "", True: "PASS", False: "FAIL"}[line.ok]
    print(f"{line.row:15} {line.what:40} {line.expected:45} {judged:4} {line.measured}", flush=True)


class Estimate:
    """Time left, on stderr: how long rows usually take, scaled by how long those so far took."""

    def __init__(self, rows: list[Row], quick: bool) -> None:
        self._seconds = {row.name: row.seconds[0 if quick else 1] for row in rows}
        self._done_s = self._usual_s = 0.0
        self._began = 0.0

    def begin(self, row: Row) -> None:
        """A row begins."""
        scale = self._done_s / self._usual_s if self._usual_s else 1.0
        names = list(self._seconds)
        left = sum(self._seconds[name] for name in names[names.index(row.name) :])
        print(f"[{names.index(row.name) + 1}/{len(names)}] {row.name}: about {scale * left:.0f} s left",
              file=sys.stderr, flush=True)  # fmt: skip
        self._began = time.monotonic()

    def end(self, row: Row) -> None:
        """A row is done."""
        self._done_s += time.monotonic() - self._began
        self._usual_s += self._seconds[row.name]


if __name__ == "__main__":
    sys.exit(main())
