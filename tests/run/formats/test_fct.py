"""fct.txt has the layout that existing scripts take apart."""

from __future__ import annotations

import pytest

from wormhole_core.contracts.result import FlowRecord
from wormhole_core.errors import OutputError
from wormhole_core.run.formats import FctWriter, fct_line, write_fct


def record(src=0, dst=3, **changes):
    values = {
        "index": 0, "id": 0, "sport": 10000, "dport": 100, "size_bytes": 1_000_000, "start_ps": 2 * 10**12,
        "fct_ps": 91_234_400, "rx_last_byte_ps": 90_000_000, "ideal_fct_ps": 84_999_500, **changes,
    }  # fmt: skip
    return FlowRecord(src=src, dst=dst, **values)


def test_line():
    assert fct_line(record()) == "0b000001 0b000301 10000 100 1000000 2000000000000 91234 85000\n".replace(
        "2000000000000", "2000000000"
    )


def test_addresses_invert_as_scripts_do():
    for node in (0, 1, 255, 256, 1000, 65535):
        address = int(fct_line(record(src=node)).split()[0], 16)
        assert (address >> 8) & 0xFFFF == node
    with pytest.raises(OutputError, match="cannot hold host 65536"):
        fct_line(record(dst=65536))


def test_rows_are_there_before_the_file_is_closed(tmp_path):
    path = tmp_path / "fct.txt"
    with FctWriter(path) as writer:
        writer.write(record())
        assert path.read_text() == fct_line(record())
        writer.write(record(src=1))
    assert write_fct([record(), record(src=1), record(src=2)], path) == 3
    assert len(path.read_text().splitlines()) == 3


def test_unwritable(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        FctWriter(tmp_path / "no" / "fct.txt")
