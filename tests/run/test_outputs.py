"""The result folder: never complete before the end, never somebody else's files."""

from __future__ import annotations

import json

import pytest

from wormhole_core import CollectiveRecord, FlowRecord, LinkRecord
from wormhole_core.errors import OutputError
from wormhole_core.run.outputs import FolderLock, ResultFolder, bus_bps, prepare_folder, show_id


def flow(**changes) -> FlowRecord:
    values = dict(
        index=0, id=("dp", 1), src=0, dst=1, sport=10_000, dport=100, size_bytes=1000, start_ps=0, fct_ps=3_000,
        rx_last_byte_ps=2_000, ideal_fct_ps=2_000,
    )  # fmt: skip
    return FlowRecord(**(values | changes))


def collective(**changes) -> CollectiveRecord:
    values = dict(
        id=1, label="wg", algorithm="ring-all-reduce", ranks=4, size_bytes=1_000_000, start_ps=0, duration_ps=10**9
    )
    return CollectiveRecord(**(values | changes))


def test_rows_are_on_disk_before_the_end_and_the_folder_says_partial(tmp_path):
    folder = ResultFolder(prepare_folder(tmp_path / "out"), ("flows", "collectives"))
    folder.flow_finished(flow())
    folder.write_collective(collective())
    folder.flush()
    assert json.loads((tmp_path / "out" / "result.json").read_text())["status"] == "partial"
    header, row = (tmp_path / "out" / "flows.csv").read_text().splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert (cells["id"], cells["fct_ps"], cells["slowdown"], cells["step"]) == ("dp/1", "3000", "1.500000", "")
    assert "ring-all-reduce,4,1000000" in (tmp_path / "out" / "collectives.csv").read_text()
    folder.write_result({"status": "complete"})
    folder.close()
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == {"status": "complete"}
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["collectives.csv", "flows.csv", "result.json"]


def test_links_are_written_with_their_utilisation(tmp_path):
    folder = ResultFolder(prepare_folder(tmp_path), ("links",))
    record = LinkRecord(
        link_index=3, node=0, peer=4, rate_bps=10**11, tx_bytes=1090, tx_frames=1, busy_ps=250, max_queue_bytes=7,
        drops=1, dropped_bytes=2, marks=3, pauses=4, paused_ps=5,
    )  # fmt: skip
    folder.write_links([record], 1000)
    folder.close()
    header, row = (tmp_path / "links.csv").read_text().splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["utilisation"] == "0.250000"


def test_stale_tables_of_an_earlier_run_are_removed(tmp_path):
    (tmp_path / "links.csv").write_text("old")
    prepare_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_files_stop_it_unless_forced(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "flows.csv").write_text("perhaps ours")
    with pytest.raises(OutputError, match=r"notes\.txt.*--force"):
        prepare_folder(tmp_path)
    assert (tmp_path / "flows.csv").exists()
    prepare_folder(tmp_path, force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_file_is_no_folder(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write results there"):
        prepare_folder(tmp_path / name)


@pytest.mark.parametrize(
    ("algorithm", "factor"),
    [("ring-all-reduce", 1.5), ("ring-all-gather", 0.75), ("all-to-all", 0.75), ("broadcast", 1.0)],
)
def test_bus_bandwidth(algorithm, factor):
    assert bus_bps(collective(algorithm=algorithm)) == round(8e6 * factor / 1e-3)
    assert bus_bps(collective(duration_ps=0)) == 0


def test_ids_of_all_shapes():
    assert [show_id(i) for i in (None, 3, "a", ("a", (1, 2)))] == ["", "3", "a", "a/1/2"]


def test_two_runs_do_not_share_a_folder(tmp_path):
    pytest.importorskip("fcntl")
    prepare_folder(tmp_path)
    with FolderLock(tmp_path), pytest.raises(OutputError, match="another run is writing"):
        prepare_folder(tmp_path)
    prepare_folder(tmp_path)
    assert not list(tmp_path.iterdir())
