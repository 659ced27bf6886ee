"""Memo back ends: what was put is got; several processes share a file; a kill loses nothing committed."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap

import pytest

from wormhole_core.builtin import memo_sqlite
from wormhole_core.builtin.memo_memory import MEMORY
from wormhole_core.builtin.memo_sqlite import APPLICATION_ID, SQLITE
from wormhole_core.errors import InputError


def key(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def value(number: int, size: int = 400) -> bytes:
    return (key(number) * (size // 32 + 1))[:size]


def open_sqlite(path, **options):
    return SQLITE.build(SQLITE.config(path=str(path), **options))


@pytest.fixture(params=["memory", "sqlite"])
def backend(request, tmp_path):
    store = MEMORY.build(MEMORY.config()) if request.param == "memory" else open_sqlite(tmp_path / "memo")
    yield store
    store.close()


def test_put_get_missing(backend):
    assert backend.get(key(1)) is None
    backend.put(key(1), value(1), 5, "tag é")
    backend.put(key(2), b"", 0)
    assert backend.get(key(1)) == value(1) and backend.get(key(2)) == b""
    assert backend.size_bytes() == 400


def test_rank_decides_and_equal_rank_replaces(backend):
    backend.put(key(1), b"long", 10)
    backend.touch(key(1))
    backend.put(key(1), b"short", 9)
    assert backend.get(key(1)) == b"long"
    backend.put(key(1), b"again", 10, "t")
    backend.put(key(1), b"again", 10, "t")
    assert list(backend.scan()) == [(key(1), b"again", 10, 1, "t")]
    backend.put(key(1), b"longer", 2**62)
    assert backend.get(key(1)) == b"longer"


def test_scan_is_in_key_order_counts_uses_and_survives_deletion(backend):
    numbers = range(700)
    for n in numbers:
        backend.put(key(n), value(n, 40), n, f"entry {n}")
    for _ in range(3):
        backend.touch(key(7))
    backend.touch(key(12345))  # unknown: ignored
    rows = list(backend.scan())
    assert [row[0] for row in rows] == sorted(key(n) for n in numbers)
    by_key = {row[0]: row for row in rows}
    assert by_key[key(7)] == (key(7), value(7, 40), 7, 3, "entry 7") and by_key[key(8)][3] == 0
    for row in backend.scan():
        if row[2] % 2:
            assert backend.delete([row[0]]) == 1
    assert backend.delete([key(1), key(2), key(2)]) == 1
    assert len(list(backend.scan())) == 349


def test_memory_drops_the_least_recently_used():
    store = MEMORY.build(MEMORY.config(capacity_bytes=3 * 132))
    for n in range(3):
        store.put(key(n), value(n, 100), 0)
    store.touch(key(0))
    assert store.get(key(1)) is not None
    store.put(key(3), value(3, 100), 0)
    assert [store.get(key(n)) is not None for n in range(4)] == [True, True, False, True]
    store.put(key(4), value(4, 1000), 0)  # larger than everything: not stored, nothing lost
    assert store.get(key(4)) is None and store.size_bytes() == 300
    store.put(key(3), value(3, 232), 0)  # grows: two others make room
    assert store.get(key(3)) == value(3, 232) and store.size_bytes() == 332
    assert store.delete([key(n) for n in range(9)]) == 2 and store.size_bytes() == 0
    for n in range(3):  # deletion gave the room back
        store.put(key(n), value(n, 100), 0)
    assert store.size_bytes() == 300


def test_sqlite_remembers_after_reopening(tmp_path):
    path = tmp_path / "memo"
    store = open_sqlite(path)
    store.put(key(1), value(1), 3, "t")
    store.touch(key(1))
    store.close()
    store.close()
    with pytest.raises(InputError, match="already closed"):
        store.get(key(1))
    again = open_sqlite(path)
    assert list(again.scan()) == [(key(1), value(1), 3, 1, "t")]
    again.close()
    assert os.listdir(tmp_path) == ["memo"]  # the log is folded in


def test_sqlite_writes_held_uses_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(memo_sqlite, "TOUCHES_HELD", 4)
    store, other = open_sqlite(tmp_path / "memo"), open_sqlite(tmp_path / "memo")
    store.put(key(1), b"x", 0)
    for _ in range(5):
        store.touch(key(1))
    assert next(other.scan())[3] == 4
    store.close()
    assert next(other.scan())[3] == 5
    other.close()


def refusal(path) -> str:
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(InputError) as caught:
        open_sqlite(path).close()
    assert before is None or path.read_bytes() == before, "a refused file was changed"
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)
    return str(caught.value)


def test_foreign_files_are_refused(tmp_path):
    text = tmp_path / "text"
    text.write_text("flow_id,src,dst\n" * 100)
    assert "not a memo store" in refusal(text)
    other = tmp_path / "other.db"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE entries (key, value)")
    db.close()
    assert "another program" in refusal(other)
    assert "is a folder" in refusal(tmp_path)
    assert "folder for the memo store does not exist" in refusal(tmp_path / "no" / "memo")


@pytest.mark.parametrize(
    ("version", "told"), [(2, "format 2, written by a newer"), (0, "format 0, written by an older")]
)
def test_stores_of_other_versions_are_refused(tmp_path, version, told):
    path = tmp_path / "memo"
    open_sqlite(path).close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    assert told in refusal(path)


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / "memo").touch()
    store = open_sqlite(tmp_path / "memo")
    store.put(key(1), b"x", 0)
    assert store.get(key(1)) == b"x"
    store.close()


def filled(path, count: int = 300) -> None:
    store = open_sqlite(path)
    for n in range(count):
        store.put(key(n), value(n), n)
    store.close()


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9])
def test_truncated_stores_never_answer_wrongly(tmp_path, keep):
    path = tmp_path / "memo"
    filled(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    assert "memo store is damaged" in refusal(path)
    with pytest.raises(InputError, match="memo store is damaged"):  # also without the check at opening
        list(open_sqlite(path, check=False).scan())


def test_overwritten_pages_are_noticed(tmp_path):
    path = tmp_path / "memo"
    filled(path)
    data = bytearray(path.read_bytes())
    data[8192:12288] = b"\xff" * 4096
    path.write_bytes(data)
    assert "memo store is damaged" in refusal(path)


def test_a_held_store_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(memo_sqlite, "BUSY_S", 0.05)
    path = tmp_path / "memo"
    store = open_sqlite(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(InputError, match=r"held by another program for more than 0\.05 s"):
        store.put(key(1), b"x", 0)
    holder.execute("ROLLBACK")
    holder.close()
    store.put(key(1), b"x", 0)
    store.close()


def test_values_stay_bytes_never_code(tmp_path):
    path = tmp_path / "memo"
    store = open_sqlite(path)
    hostile = b"cos\nsystem\n(S'exit 1'\ntR."
    store.put(key(1), hostile, 0)
    store.close()
    db = sqlite3.connect(path)
    assert db.execute("SELECT typeof(value), value FROM entries").fetchone() == ("blob", hostile)
    assert db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    db.close()


WRITER = textwrap.dedent("""
    import hashlib, sys
    from wormhole_core.builtin.memo_sqlite import SqliteBackend
    path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    def key(n): return hashlib.sha256(str(n).encode()).digest()
    store = SqliteBackend(path)
    for n in range(first, last):
        store.put(key(n), (key(n) * 13)[:400], n)
        store.touch(key(n))
        print(n, flush=True)
    store.close()
""")


def writer(path, first: int, last: int) -> subprocess.Popen:
    command = [sys.executable, "-c", WRITER, str(path), str(first), str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_create_and_write_one_store_together(tmp_path):
    path = tmp_path / "memo"
    # The ranges overlap: both write keys 100 to 199.
    runs = [writer(path, 0, 200), writer(path, 100, 300)]
    for run in runs:
        run.communicate(timeout=50)
        assert run.returncode == 0
    store = open_sqlite(path)
    rows = {row[0]: row for row in store.scan()}
    assert len(rows) == 300
    assert all(rows[key(n)][1:4] == (value(n), n, 2 if 100 <= n < 200 else 1) for n in range(300))
    store.close()


@pytest.mark.parametrize("after", [0, 1, 25, 130])
def test_a_killed_writer_loses_nothing_committed(tmp_path, after):
    path = tmp_path / "memo"
    run = writer(path, 0, 10**9)
    committed = -1
    for line in run.stdout:
        committed = int(line)
        if committed >= after:
            break
    run.send_signal(signal.SIGKILL)
    committed = max([committed, *map(int, run.stdout.read().split())])
    run.wait()
    run.stdout.close()
    store = open_sqlite(path)
    rows = list(store.scan())
    ranks = sorted(row[2] for row in rows)
    assert ranks == list(range(len(ranks))) and len(ranks) > committed
    assert all(row[0] == key(row[2]) and row[1] == value(row[2]) for row in rows)
    store.put(key(10**9), b"goes on", 0)
    assert store.get(key(10**9)) == b"goes on"
    store.close()


def test_a_copy_made_after_closing_is_complete(tmp_path):
    filled(tmp_path / "memo", 50)
    shutil.copy(tmp_path / "memo", tmp_path / "copy")
    store = open_sqlite(tmp_path / "copy")
    assert len(list(store.scan())) == 50
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_is_kept_from_the_parents_connection(tmp_path):
    store = open_sqlite(tmp_path / "memo")
    store.put(key(1), b"parent", 0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.get(key(1))
        except RuntimeError as error:
            store.close()
            code = 0 if "opened before a fork" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store.put(key(2), b"still there", 0)
    assert store.get(key(2)) == b"still there"
    store.close()
