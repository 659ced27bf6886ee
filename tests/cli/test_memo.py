"""`wormhole-sim memo` and the options that make a store: look, check, prune, export, draw; files that are none."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from wormhole_core.accel.conflict_graph import checked_shape, conflict_graph
from wormhole_core.accel.recording import Recording
from wormhole_core.run import pictures

QUICK = ("--topology", "star", "--set", "topology.hosts=4", "--cca", "hpcc", "--quiet")
RING = ("run", "--workload", "ring-all-reduce", "--set", "workload.size_bytes=400kB", *QUICK)
INCAST = ("run", "--workload", "incast", "--set", "workload.size_bytes=20kB", *QUICK)


@pytest.fixture
def store(cli, tmp_path):
    """A ring's step, replayed five times, and an incast of three flows, never replayed."""
    path = tmp_path / "memo"
    for command in (RING, INCAST):
        assert cli(*command, "--memo", path).code == 0
    return path


def change(path, statement, *values):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


def stats(cli, path):
    return json.loads(cli("memo", "stats", path, "--json").out)


# --- options ---


def test_the_short_options_are_the_long_ones(cli, tmp_path):
    path = tmp_path / "m"
    result = cli(*RING, "--memo", path, "--json").result
    assert result["experiment"]["acceleration"]["memo"] == {"plugin": "sqlite", "path": str(path)}
    assert result["acceleration"]["memo"] == "sqlite"
    assert cli(*RING, "--no-memo", "--json").result["acceleration"]["memo"] == "none"
    policy = cli(*RING, "--fast-forward", "rate-window", "--json").result["acceleration"]["fast_forward"]
    assert policy == "rate-window"
    assert "contradict" in cli(*RING, "--memo", path, "--no-memo").line
    assert "did you mean 'settled'" in cli(*RING, "--fast-forward", "setled").line


def test_a_second_run_finds_everything(cli, tmp_path):
    costs = [cli(*RING, "--memo", tmp_path / "m", "--json").result["cost"] for _ in range(2)]
    assert [c["acceleration"]["misses"] for c in costs] == [1, 0]
    assert costs[1]["frame_hops"] == 0 and costs[1]["acceleration"]["memo_bytes"] > 0


def test_tables_end_with_what_the_run_rests_on(cli, tmp_path):
    shown = cli(*(word for word in RING if word != "--quiet"))
    assert "6: 5 replayed" in shown.out
    assert "16.7% simulated, 83.3% replayed" in " ".join(shown.out.split())
    packet = cli(*(word for word in RING if word != "--quiet"), "--mode", "packet")
    assert "replayed" not in packet.out


# --- looking ---


def test_stats(cli, store):
    known = stats(cli, store)
    assert (known["entries"], known["episodes"], known["damaged"], known["unused"]) == (2, 2, 0, 1)
    assert (known["flows"], known["uses"]) == (4 + 3, 5)
    assert known["most_used"][0]["uses"] == 5 and known["most_used"][0]["flows"] == 4
    shown = cli("memo", "stats", store)
    assert shown.out.startswith("2 entries") and "replayed 5 times" in shown.out and shown.err == ""


def test_export(cli, store, tmp_path):
    lines = [json.loads(line) for line in cli("memo", "export", store).out.splitlines()]
    assert sorted(line["flows"] for line in lines) == [3, 4]
    incast = next(line for line in lines if line["flows"] == 3)
    assert incast["sizes_bytes"] == [20_000] * 3 and len(incast["key"]) == 64
    assert [e["what"] for e in incast["events"]].count("acked") == 3
    assert incast["events"][-1]["at_ps"] == incast["duration_ps"]
    shared = set.intersection(*map(set, incast["paths"]))
    assert len(shared) == 1  # the port into the receiver
    out = tmp_path / "lines.jsonl"
    assert cli("memo", "export", store, "--out", out).out == ""
    assert [json.loads(line) for line in out.read_text().splitlines()] == lines
    assert "cannot write" in cli("memo", "export", store, "--out", tmp_path / "none" / "x").line


def test_show_as_text(cli, store):
    out = cli("memo", "show", store).out
    ring, incast = out.index("4 flows, 0 edges and 4 by ACKs"), out.index("3 flows, 3 edges")
    assert ring < incast  # the one used most comes first
    assert "flow 0 (" in out and "1, 2" in out and "1 x2 (ACKs)" in out
    assert "3 flows" not in cli("memo", "show", store, "--top", 1).out
    assert "at least 1" in cli("memo", "show", store, "--top", 0).line


def test_show_as_a_picture(cli, store, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra `plots`)")
    for name in ("graphs.png", "graphs.svg"):
        answer = cli("memo", "show", store, "--out", tmp_path / name)
        assert answer.code == 0 and name in answer.out
        assert (tmp_path / name).stat().st_size > 5_000
    assert (tmp_path / "graphs.png").read_bytes()[:4] == b"\x89PNG"
    assert "cannot write a picture" in cli("memo", "show", store, "--out", tmp_path / "graphs.nothing").line


def test_no_picture_without_matplotlib(cli, store, tmp_path, monkeypatch):
    monkeypatch.setattr("wormhole_core.cli.memo.can_draw", lambda: False)
    assert "wormhole-sim[plots]" in cli("memo", "show", store, "--out", tmp_path / "x.png").line


def test_a_large_graph_is_shown_in_part(cli):
    shape = checked_shape([[[0, i + 1], [i + 101], 1000, 10**11] for i in range(100)])
    lines = pictures.adjacency(conflict_graph(shape, []))
    assert len(lines) == pictures.MOST_LISTED + 1
    assert "more" in lines[0] and lines[-1] == "and 84 more flows"


# --- checking and pruning ---


def test_verify_lists_what_is_damaged(cli, store):
    assert cli("memo", "verify", store).out.endswith("2 entries, all sound\n")
    exported = map(json.loads, cli("memo", "export", store).out.splitlines())
    (key,) = (line["key"] for line in exported if line["flows"] == 3)
    for wrong in ("substr(value, 1, length(value) - 1)", "x'00'", "value || x'00'", "x'57484d3200000000'"):
        change(store, f"UPDATE entries SET value = {wrong} WHERE key = ?", bytes.fromhex(key))
        answer = cli("memo", "verify", store)
        assert answer.code == 1
        assert answer.out.startswith(key)
        assert "1 of 2 entries" in answer.line and "prune --damaged" in answer.line
    assert cli("memo", "prune", store, "--damaged").out.startswith("1 entry deleted")
    assert cli("memo", "verify", store).code == 0


def test_prune_by_use_and_by_size(cli, store):
    assert "--unused" in cli("memo", "prune", store).line
    before = store.stat().st_size
    assert cli("memo", "prune", store, "--unused").out.startswith("1 entry deleted")
    known = stats(cli, store)
    assert (known["entries"], known["uses"]) == (1, 5)
    assert cli("memo", "prune", store, "--max-bytes", "1MB").out.startswith("0 entries deleted")
    assert cli("memo", "prune", store, "--max-bytes", "10B").out.startswith("1 entry deleted")
    assert stats(cli, store)["entries"] == 0
    assert store.stat().st_size <= before
    assert "No episodes" in cli("memo", "show", store).out
    assert "--max-bytes" in cli("memo", "prune", store, "--max-bytes", "lots").line


def test_the_least_used_goes_first(cli, store):
    size = stats(cli, store)["bytes"]
    cli("memo", "prune", store, "--max-bytes", f"{size - 1}B")
    assert stats(cli, store)["most_used"][0]["uses"] == 5


# --- files that are no store ---


@pytest.mark.parametrize("action", ["stats", "verify", "export", "show", "prune --unused"])
def test_files_that_are_no_store(cli, tmp_path, action):
    action, *more = action.split()
    text = tmp_path / "notes.txt"
    text.write_text("hello " * 1000)
    foreign = tmp_path / "foreign.db"
    change(foreign, "CREATE TABLE t (x)")
    empty = tmp_path / "empty"
    empty.touch()
    for path, told in (
        (text, "not a memo store"), (foreign, "another program"), (empty, "the file is empty"),
        (tmp_path / "nowhere", "no such memo store"), (tmp_path, "folder"),
    ):  # fmt: skip
        before = path.read_bytes() if path.is_file() else None
        answer = cli("memo", action, path, *more)
        assert answer.code == 2 and told in answer.line and str(path) in answer.line
        assert (path.read_bytes() if path.is_file() else None) == before
    assert not (tmp_path / "nowhere").exists()


def test_a_newer_store_and_a_torn_one(cli, store):
    change(store, "PRAGMA user_version = 99")
    assert "newer version" in cli("memo", "stats", store).line
    assert "newer version" in cli(*RING, "--memo", store).line
    change(store, "PRAGMA user_version = 1")
    change(store, "PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(store.read_bytes())
    data[100:3000] = b"\xff" * 2900
    store.write_bytes(data)
    assert cli("memo", "stats", store).code == 2


def test_actions_are_told(cli):
    assert "prune" in cli("memo").out
    assert "did you mean 'stats'" in cli("memo", "stat", "x").line


# --- conflict graphs ---


def graph(*paths, sizes=None, ends=(), backs=None):
    count = len(paths)
    flows = zip(paths, backs or [()] * count, sizes or [1000] * count, [10**11] * count, strict=True)
    return conflict_graph(list(flows), ends)


def test_edges_count_shared_links_and_vertices_have_rates():
    found = graph((0, 1, 2), (3, 1, 2), (4, 5), sizes=[125_000, 250_000, 10], ends=[(0, 10**7), (1, 10**7)])
    assert found.edges == {(0, 1): 2}
    assert found.rate_bps == (100 * 10**9, 200 * 10**9, 10**11)  # the last has no end known: its line rate


def test_a_graph_is_a_summary_not_a_key():
    """Three flows on one link and three flows pairwise on three links: one graph, two fair shares."""
    one = graph((0,), (0,), (0,))
    three = graph((0, 1), (1, 2), (2, 0))
    assert one.name == three.name and one.edges == three.edges
    assert graph((0,), (0,), (1,)).name != one.name
    assert graph((0, 1), (0, 1), (0, 1)).name != one.name  # two links shared by each pair
    assert graph((5,), (0, 9), (9,)).name == graph((1, 2), (2,), (3,)).name  # numbering does not count


def test_flows_that_meet_only_by_acks_are_joined_by_edges_of_their_own():
    ring = graph((0,), (1,), (2,), backs=[(1,), (2,), (0,)])
    assert ring.edges == {} and ring.ack_edges == {(0, 1): 1, (1, 2): 1, (0, 2): 1}
    assert graph((0,), (0,), backs=[(1,), (0, 1)]).ack_edges == {}  # these share a link by their data
    assert ring.name != graph((0,), (1,), (2,)).name != graph((0,), (0,), (0,)).name


def test_a_recording_keeps_its_shape():
    recording = Recording(2)
    recording.shape = ((0, 1), (3,), 7, 10), ((2, 1), (), 8, 10)
    assert Recording.decode(recording.encode()).shape == recording.shape
