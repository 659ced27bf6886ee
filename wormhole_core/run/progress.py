"""How a run tells how far it is. What is shown, and where, is the caller's business."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class Progress:
    """A run in progress. Totals are None where the workload does not know them beforehand."""

    now_ps: int
    flows_done: int
    flows_started: int
    flows_total: int | None
    bytes_done: int
    bytes_total: int | None
    events: int
    elapsed_s: float

    @property
    def share(self) -> float | None:
        """Share of the work done, 0 to 1: by bytes, else by flows."""
        done, total = (
            (self.bytes_done, self.bytes_total) if self.bytes_total else (self.flows_done, self.flows_total or 0)
        )
        return min(1.0, done / total) if total else None

    @property
    def remaining_s(self) -> float | None:
        """Wall-clock time left if the work goes on as so far."""
        share = self.share
        return self.elapsed_s * (1 - share) / share if share and self.elapsed_s > 0 else None


class Watcher:
    """Told about a run between slices of it; does nothing by default.

    `advanced` may raise KeyboardInterrupt to end the run: what is done by then is kept.
    """

    def run_begins(self, what: str) -> None:
        """Of several runs the next begins: "run 2 of 3, wormhole". Not called for a single run."""

    def started(self, notes: tuple[str, ...]) -> None:
        """The run is built; notes say what was understood of the inputs."""

    def advanced(self, progress: Progress) -> None:
        """A slice was simulated (several times a second)."""

    def ended(self) -> None:
        """The run is over, well or badly."""
