"""HPCC's `fct.txt`, the table that existing analysis scripts read: one row per finished flow.

    sip dip sport dport size_bytes start_ns fct_ns standalone_fct_ns

Addresses are hexadecimal, `0x0b000001 + (id / 256) * 0x10000 + (id mod 256) * 0x100`; rows come in
finishing order. Times are rounded to the nearest nanosecond.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from ...contracts.result import FlowRecord
from ...errors import OutputError
from ...units import PS_PER_NS

MAX_ADDRESS_ID = 0xFFFF
"""Largest node id an address of this layout can hold."""


def host_address(node: int) -> int:
    """The 11.x address of a node as HPCC numbers it."""
    return 0x0B000001 + (node // 256) * 0x10000 + (node % 256) * 0x100


def fct_line(record: FlowRecord) -> str:
    """The row of one flow, with its line end. Raises OutputError for ids the layout cannot hold."""
    for node in (record.src, record.dst):
        if not 0 <= node <= MAX_ADDRESS_ID:
            raise OutputError(f"fct.txt cannot hold host {node}; its addresses end at {MAX_ADDRESS_ID}. Use flows.csv")
    return (
        f"{host_address(record.src):08x} {host_address(record.dst):08x} {record.sport} {record.dport} "
        f"{record.size_bytes} {_ns(record.start_ps)} {_ns(record.fct_ps)} {_ns(record.ideal_fct_ps)}\n"
    )


def _ns(time_ps: int) -> int:
    return (time_ps + PS_PER_NS // 2) // PS_PER_NS


class FctWriter:
    """Writes rows as flows finish; a context manager. The file is complete up to the last `write`."""

    def __init__(self, path: object) -> None:
        self._file: TextIO
        self._path = path
        try:
            self._file = Path(str(path)).open("w", encoding="ascii", newline="\n", buffering=1)
        except (OSError, ValueError) as error:
            raise self._refused(error) from error

    def write(self, record: FlowRecord) -> None:
        """Add one finished flow. Raises OutputError."""
        line = fct_line(record)
        try:
            self._file.write(line)
        except OSError as error:
            raise self._refused(error) from error

    def close(self) -> None:
        """Finish the file. Raises OutputError."""
        try:
            self._file.close()
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> OutputError:
        why = getattr(error, "strerror", None) or error
        return OutputError(f"{self._path}: cannot be written ({why}); name another file with --fct")

    def __enter__(self) -> FctWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def write_fct(records: Iterable[FlowRecord], path: object) -> int:
    """Write all records in the order given; returns how many. Raises OutputError."""
    count = 0
    with FctWriter(path) as writer:
        for record in records:
            writer.write(record)
            count += 1
    return count
