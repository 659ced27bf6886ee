"""`sqlite`: remembered episodes in one file that runs may share, also at the same time.

Write-ahead logging keeps readers and one writer apart; every put is one statement and so one
transaction, which a killed process either finished or never made (https://www.sqlite.org/wal.html).
A file is recognised by its application id and its schema version; anything else is refused before
a byte of it is changed. Values are bytes in, bytes out.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import Any

import attrs

from wormhole_core import Component, MemoBackend
from wormhole_core.errors import InputError

APPLICATION_ID = 0x57484D31  # "WHM1"
SCHEMA_VERSION = 1
BUSY_S = 30.0
"""How long to wait for another process's transaction; each is a few milliseconds at most."""
TOUCHES_HELD = 1024
"""Uses are statistics: counted here and written in batches, so that a hit costs no transaction."""
SCAN_ROWS = 256

_CREATE = """
CREATE TABLE entries (
    key BLOB PRIMARY KEY,
    value BLOB NOT NULL,
    rank INTEGER NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0,
    tags TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID
"""
_PUT = """
INSERT INTO entries (key, value, rank, tags) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, rank = excluded.rank, tags = excluded.tags
WHERE excluded.rank >= entries.rank
"""


@attrs.frozen(kw_only=True)
class SqliteConfig:
    """Options of `sqlite`."""

    path: str = "wormhole-memo.sqlite"
    """The file; made if it is not there. WAL needs a local disk, not a network share."""
    check: bool = True
    """Check the structure of the whole file when it is opened."""


def _told(method: Callable[..., Any]) -> Callable[..., Any]:
    """Errors of the database become one line that names the file and the way out."""

    @wraps(method)
    def call(self: SqliteBackend, *args: Any) -> Any:
        try:
            return method(self, *args)
        except sqlite3.Error as error:
            raise self.trouble(error) from error

    return call


class SqliteBackend(MemoBackend):
    """One connection, of the process that made it. Raises InputError for a file it cannot use."""

    def __init__(self, path: str, check: bool = True) -> None:
        self.path = path
        self._touched: Counter[bytes] = Counter()
        self._held = 0
        self._pid = os.getpid()
        self._connection: sqlite3.Connection | None = self._open(check)

    def get(self, key: bytes) -> bytes | None:
        row = self._run("SELECT value FROM entries WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def put(self, key: bytes, value: bytes, rank: int, tags: str = "") -> None:
        self._run(_PUT, (key, value, rank, tags))

    def touch(self, key: bytes) -> None:
        self._touched[key] += 1
        self._held += 1
        if self._held >= TOUCHES_HELD:
            self._write_touches()

    def scan(self) -> Iterator[tuple[bytes, bytes, int, int, str]]:
        # In slices by key: a reader that pauses half-way must not keep the log from being folded in.
        self._write_touches()
        last = b""
        while True:
            rows = self._run(
                "SELECT key, value, rank, uses, tags FROM entries WHERE key > ? ORDER BY key LIMIT ?", (last, SCAN_ROWS)
            ).fetchall()
            yield from rows
            if len(rows) < SCAN_ROWS:
                return
            last = rows[-1][0]

    def delete(self, keys: Iterable[bytes]) -> int:
        return sum(self._transaction("DELETE FROM entries WHERE key = ?", [(key,) for key in keys]))

    def size_bytes(self) -> int:
        return self._run("SELECT coalesce(sum(length(value)), 0) FROM entries").fetchone()[0]

    def compact(self) -> None:
        self._write_touches()
        self._run("VACUUM")
        self._run("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        if self._connection is None:
            return
        if self._pid != os.getpid():
            return  # the parent's; closing it here would remove the log under the parent
        try:
            self._write_touches()
        finally:
            self._connection.close()
            self._connection = None

    def trouble(self, error: sqlite3.Error) -> InputError:
        """What a database error means for the user."""
        text = str(error)
        if "locked" in text or "busy" in text:
            what = f"memo store is held by another program for more than {BUSY_S:g} s; wait for it or use another file"
        elif "not a database" in text:
            what = "not a memo store (no SQLite file); name another file, or remove this one to start a new store"
        elif "malformed" in text or "corrupt" in text:
            what = f"memo store is damaged ({text}); remove the file, remembered episodes are then simulated again"
        else:
            what = f"memo store cannot be used ({text}); check folder, permissions and free space"
        return InputError(what, path=self.path)

    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            raise InputError("memo store is already closed", path=self.path)
        if self._pid != os.getpid():
            # SQLite's record of the locks a process holds does not survive a fork, not even for a
            # connection opened afterwards, so that parent and child could fold in the log at once.
            raise RuntimeError(f"{self.path}: memo store opened before a fork; open it in the child, or spawn")
        return self._connection

    @_told
    def _run(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        return self._db().execute(statement, values)

    @_told
    def _transaction(self, statement: str, rows: list[tuple[Any, ...]]) -> list[int]:
        """One statement over many rows, all or nothing; the number of rows each changed."""
        db = self._db()
        db.execute("BEGIN IMMEDIATE")
        try:
            counts = [db.execute(statement, row).rowcount for row in rows]
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
        return counts

    def _write_touches(self) -> None:
        if self._touched:
            rows = [(count, key) for key, count in self._touched.items()]
            self._touched.clear()
            self._held = 0
            self._transaction("UPDATE entries SET uses = uses + ? WHERE key = ?", rows)

    @_told
    def _open(self, check: bool) -> sqlite3.Connection:
        place = Path(self.path)
        try:
            is_folder, has_folder = place.is_dir(), place.absolute().parent.is_dir()
        except OSError as error:
            raise InputError(f"memo store cannot be used ({error.strerror}); name another file", self.path) from None
        if is_folder:
            raise InputError("memo store is a folder; name a file", path=self.path)
        if not has_folder:
            raise InputError("the folder for the memo store does not exist; make it first", path=self.path)
        connection = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
        try:
            # In one transaction: else another process may create the store between two of the questions.
            connection.execute("BEGIN")
            empty = self._recognise(connection)
            connection.execute("COMMIT")
            if empty:
                self._create(connection)
            _retry(lambda: connection.execute("PRAGMA journal_mode = WAL"))
            connection.execute("PRAGMA synchronous = NORMAL")
            if check:
                verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                if verdict != "ok":
                    raise sqlite3.DatabaseError(f"malformed: {' '.join(verdict.split())}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _recognise(self, connection: sqlite3.Connection) -> bool:
        """True if the file is empty; False if it is ours; raises InputError otherwise. Changes nothing."""
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        with closing(connection.execute("SELECT count(*) FROM sqlite_master")) as tables:
            count = tables.fetchone()[0]
        if application == 0 and version == 0 and count == 0:
            return True
        if application != APPLICATION_ID:
            raise InputError("an SQLite file of another program, not a memo store; name another file", path=self.path)
        if version != SCHEMA_VERSION:
            age = "newer" if version > SCHEMA_VERSION else "older"
            raise InputError(
                f"memo store has format {version}, written by a{'n' if age == 'older' else ''} {age} version; "
                f"this one uses format {SCHEMA_VERSION}: name another file",
                path=self.path,
            )
        return False

    def _create(self, connection: sqlite3.Connection) -> None:
        _retry(lambda: connection.execute("BEGIN IMMEDIATE"))
        try:
            if self._recognise(connection):  # another process may have been faster
                connection.execute(_CREATE)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _retry(action: Callable[[], Any]) -> None:
    """Changing the journal mode does not wait for other processes by itself."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            action()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _build(config: SqliteConfig) -> SqliteBackend:
    return SqliteBackend(config.path, config.check)


SQLITE = Component(
    name="sqlite",
    build=_build,
    summary="one file, kept between runs and shared by processes",
    config=SqliteConfig,
    traits={"persistent": True, "shared": True},
)
