"""The result folder: tables written row by row as the run goes, result.json as the mark of its end.

`result.json` says `"status": "partial"` from the first moment and is replaced in one step when the
run ends, so a folder never looks complete when it is not. What the columns mean is in `docs/results.md`.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from ..contracts.observer import Observer
from ..contracts.result import CollectiveRecord, FlowRecord, LinkRecord
from ..errors import OutputError

FLOW_COLUMNS = (
    "flow_index", "id", "src", "dst", "sport", "dport", "bytes", "start_ps", "fct_ps", "rx_last_byte_ps",
    "ideal_fct_ps", "slowdown", "retransmitted_bytes", "label", "group", "step", "job",
)  # fmt: skip
LINK_COLUMNS = (
    "link_index", "from", "to", "rate_bps", "utilisation", "tx_bytes", "tx_frames", "busy_ps", "max_queue_bytes",
    "drops", "dropped_bytes", "marks", "pauses", "paused_ps",
)  # fmt: skip
COLLECTIVE_COLUMNS = (
    "id", "label", "algorithm", "ranks", "bytes", "start_ps", "duration_ps", "bus_bps", "job",
)  # fmt: skip
RESULT = "result.json"
OUR_FILES = frozenset({RESULT, "flows.csv", "links.csv", "collectives.csv", "fct.txt", f".{RESULT}.new"})


def prepare_folder(path: str | Path, force: bool = False) -> Path:
    """Make the folder and prove that it can be written; raises OutputError.

    Earlier results in it are removed. Anything else in it is an error unless `force`.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in OUR_FILES)
        if foreign and not force:
            shown = ", ".join(foreign[:3]) + (", ..." if len(foreign) > 3 else "")
            raise OutputError(
                f"{path}: the folder holds other files ({shown}); name a new or empty folder, or add --force"
            )
        with FolderLock(folder):
            for name in OUR_FILES:
                (folder / name).unlink(missing_ok=True)
            check_writable(folder / f".{RESULT}.new")
    except OSError as error:
        raise OutputError(_cannot_write(path, error)) from None
    return folder


class FolderLock:
    """Keeps a second run out of a result folder while one writes there. Leaves nothing behind; where the
    system has no such locks it does nothing. Raises OutputError if another run holds it."""

    def __init__(self, folder: Path) -> None:
        self._handle: int | None = None
        try:
            import fcntl

            self._handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise OutputError(f"{folder}: another run is writing its results there; name another folder") from None
        except (ImportError, OSError):
            self.release()

    def release(self) -> None:
        """Let others in."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


def check_writable(path: str | Path) -> None:
    """Create and remove a file; raises OutputError where that is not possible."""
    existed = Path(path).exists()
    try:
        with open(path, "a"):
            pass
        if not existed:
            os.unlink(path)
    except OSError as error:
        raise OutputError(_cannot_write(path, error)) from None


class ResultFolder(Observer):
    """Writes the tables of one run. Used as an observer of the run.

    `flush` after each slice of the run leaves every finished row on disk.
    """

    def __init__(self, folder: Path, tables: Sequence[str]) -> None:
        self.folder = folder
        self.tables = frozenset(tables)
        self._files: list[TextIO] = []
        self._flows = self._table("flows", FLOW_COLUMNS)
        self._collectives = self._table("collectives", COLLECTIVE_COLUMNS)
        self.write_result({"status": "partial", "reason": "the run has not ended"})

    def _table(self, name: str, columns: tuple[str, ...]) -> Any:
        if name not in self.tables:
            return None
        try:
            file = open(self.folder / f"{name}.csv", "w", newline="", encoding="utf-8")
        except OSError as error:
            raise OutputError(_cannot_write(self.folder / f"{name}.csv", error)) from None
        self._files.append(file)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        return writer

    def flow_finished(self, record: FlowRecord) -> None:
        """One row of flows.csv."""
        if self._flows is not None:
            self._flows.writerow(flow_row(record))

    def write_collective(self, record: CollectiveRecord) -> None:
        """One row of collectives.csv."""
        if self._collectives is not None:
            self._collectives.writerow((
                show_id(record.id), record.label, record.algorithm, record.ranks, record.size_bytes, record.start_ps,
                record.duration_ps, bus_bps(record), record.job,
            ))  # fmt: skip

    def write_links(self, records: Iterable[LinkRecord], span_ps: int) -> None:
        """links.csv, at the end of the run."""
        writer = self._table("links", LINK_COLUMNS)
        if writer is not None:
            try:
                writer.writerows(link_row(record, span_ps) for record in records)
            except OSError as error:
                raise OutputError(_cannot_write(self.folder / "links.csv", error)) from None

    def flush(self) -> None:
        """Hand all rows so far to the operating system; raises OutputError (disk full)."""
        try:
            for file in self._files:
                file.flush()
        except OSError as error:
            raise OutputError(_cannot_write(self.folder, error)) from None

    def write_result(self, summary: dict[str, Any]) -> None:
        """Replace result.json in one step."""
        temporary = self.folder / f".{RESULT}.new"
        try:
            temporary.write_text(render_json(summary), encoding="utf-8")
            os.replace(temporary, self.folder / RESULT)
        except OSError as error:
            raise OutputError(_cannot_write(self.folder / RESULT, error)) from None

    def close(self) -> None:
        """Close the tables; rows written stay. Raises OutputError (disk full)."""
        files, self._files = self._files, []
        failed = None
        for file in files:
            try:
                file.close()
            except OSError as error:
                failed = error
        if failed is not None:
            raise OutputError(_cannot_write(self.folder, failed)) from None


def render_json(summary: dict[str, Any]) -> str:
    """The text of result.json: ASCII, so that it goes through every terminal and holds every file name."""
    return json.dumps(summary, indent=2, default=str) + "\n"


def flow_row(record: FlowRecord) -> tuple[Any, ...]:
    """The cells of `FLOW_COLUMNS`."""
    return (
        record.index, show_id(record.id), record.src, record.dst, record.sport, record.dport, record.size_bytes,
        record.start_ps, record.fct_ps, record.rx_last_byte_ps, record.ideal_fct_ps, f"{record.slowdown:.6f}",
        record.retransmitted_bytes, record.label, show_id(record.group), record.step, record.job,
    )  # fmt: skip


def link_row(record: LinkRecord, span_ps: int) -> tuple[Any, ...]:
    """The cells of `LINK_COLUMNS`; span_ps: from the first flow's start to the end."""
    return (
        record.link_index, record.node, record.peer, record.rate_bps, f"{utilisation(record, span_ps):.6f}",
        record.tx_bytes, record.tx_frames, record.busy_ps, record.max_queue_bytes, record.drops,
        record.dropped_bytes, record.marks, record.pauses, record.paused_ps,
    )  # fmt: skip


def utilisation(record: LinkRecord, span_ps: int) -> float:
    """Share of the time in which the link was sending; span_ps: from the first flow to the end."""
    return record.busy_ps / span_ps if span_ps else 0.0


def bus_bps(record: CollectiveRecord) -> int:
    """Bus bandwidth: bits each rank's link must carry over the time taken (nccl-tests, PERFORMANCE.md)."""
    ranks = record.ranks
    if "all-reduce" in record.algorithm:
        factor = 2 * (ranks - 1) / ranks
    elif "broadcast" in record.algorithm:
        factor = 1.0
    else:
        factor = (ranks - 1) / ranks
    return round(record.size_bytes * 8 * factor * 1e12 / record.duration_ps) if record.duration_ps else 0


def show_id(name: Any) -> str:
    """Ids are numbers, texts or tuples: `("dp", 3)` becomes `dp/3`."""
    if name is None:
        return ""
    return "/".join(map(show_id, name)) if isinstance(name, tuple) else str(name)


def _cannot_write(path: Any, error: OSError) -> str:
    return f"{path}: cannot write results there: {error.strerror or error}; name a folder you may write to"
