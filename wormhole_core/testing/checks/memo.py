"""What a memo back end must do: give back what was put, keep it if it says so, never a wrong answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ...contracts.memo import MemoBackend
from ...errors import PluginError, WormholeError
from ..subject import Skip, Subject
from ._register import check

ENTRIES = 60
SHARED_KEYS = 40
PROCESSES = 2


def key_of(number: int) -> bytes:
    """A 32-byte key."""
    return number.to_bytes(4, "big") * 8


def value_of(number: int, rank: int = 1) -> bytes:
    """A value that says which key and rank it belongs to; lengths differ."""
    return b"%d/%d:" % (number, rank) + bytes(range(256)) * (1 + number % 7) + bytes([0, 255, 10, 13])


def build(subject: Subject) -> MemoBackend:
    """A store in the check's own folder; built again, the same store."""
    return subject.build()


@check("memo-backend")
def gives_back(subject: Subject) -> None:
    """What was put is got, byte for byte; a missing key is None; putting twice is fine."""
    store = build(subject)
    subject.expect(store.get(key_of(0)) is None, "None for a key that was never put", repr(store.get(key_of(0))))
    for _ in range(2):
        for number in range(ENTRIES):
            store.put(key_of(number), value_of(number), 1, f"entry {number}")
    for number in range(ENTRIES):
        seen = store.get(key_of(number))
        subject.expect(seen == value_of(number) and type(seen) is bytes, f"the {len(value_of(number))} bytes put", seen)
    store.put(key_of(999), b"", 1)
    subject.expect(store.get(key_of(999)) == b"", "an empty value back", repr(store.get(key_of(999))))
    subject.expect(store.get(key_of(5000)) is None, "None for a missing key", repr(store.get(key_of(5000))))
    store.close()


@check("memo-backend")
def higher_rank_wins(subject: Subject) -> None:
    """A put with a lower rank is ignored; an equal or higher one replaces."""
    store = build(subject)
    for rank, wanted in ((5, 5), (3, 5), (5, 5), (9, 9), (1, 9)):
        store.put(key_of(1), value_of(1, rank), rank)
        seen = store.get(key_of(1))
        subject.expect(
            seen == value_of(1, wanted), f"the value of rank {wanted} after a put of rank {rank}", _head(seen)
        )
    store.put(key_of(1), b"another of rank 9", 9)
    subject.expect(
        store.get(key_of(1)) == b"another of rank 9", "an equal rank to replace", _head(store.get(key_of(1)))
    )
    store.close()


def _head(value: bytes | None) -> str:
    return repr(value if value is None else value[:20])


@check("memo-backend")
def scan_and_delete(subject: Subject) -> None:
    """scan lists everything in key order with rank, uses and tags; size_bytes adds up; delete says how many."""
    store = build(subject)
    for number in reversed(range(ENTRIES)):
        store.put(key_of(number), value_of(number), number, f"entry {number}")
    store.touch(key_of(7))
    store.touch(key_of(7))
    store.touch(key_of(5000))
    wanted = [(key_of(n), value_of(n), n, 2 * (n == 7), f"entry {n}") for n in range(ENTRIES)]
    seen = [tuple(row) for row in store.scan()]
    place = next((n for n, pair in enumerate(zip(seen, wanted, strict=False)) if pair[0] != pair[1]), len(seen))
    subject.expect(seen == wanted, f"{ENTRIES} entries in key order", f"{len(seen)}, other ones from number {place} on")
    total = sum(len(row[1]) for row in wanted)
    subject.expect(store.size_bytes() == total, f"size_bytes() = {total}", store.size_bytes())
    gone = store.delete([key_of(1), key_of(2), key_of(5000)])
    subject.expect(gone == 2, "delete to say that 2 of 3 were there", gone)
    subject.expect(store.get(key_of(1)) is None, "None for a deleted key", _head(store.get(key_of(1))))
    subject.expect(store.get(key_of(3)) == value_of(3), "the others kept by delete", _head(store.get(key_of(3))))
    store.close()


@check("memo-backend")
def remembers(subject: Subject) -> None:
    """After close and reopen it still knows everything, if it says that it is persistent."""
    if not subject.component.traits.get("persistent", False):
        raise Skip("it does not say that it is persistent")
    _filled(subject)
    store = build(subject)
    for number in range(ENTRIES):
        seen = store.get(key_of(number))
        subject.expect(seen == value_of(number), f"entry {number} after close and reopen", _head(seen))
    store.close()


def _filled(subject: Subject) -> None:
    store = build(subject)
    for number in range(ENTRIES):
        store.put(key_of(number), value_of(number), 1)
    store.close()


@check("memo-backend")
def survives_damage(subject: Subject) -> str:
    """A truncated or foreign file is a miss or a clear error, never a wrong answer."""
    if not subject.component.traits.get("persistent", False):
        raise Skip("it does not say that it is persistent")
    _filled(subject)
    whole = {path: path.read_bytes() for path in subject.folder.rglob("*") if path.is_file()}
    subject.expect(whole, "files in the folder of its path option", "none")
    largest = max(whole, key=lambda path: len(whole[path]))
    size = len(whole[largest])
    cuts = sorted({0, 1, size // 10, size // 3, size // 2, size - size // 10, size - 1})
    damages = [(f"cut to {cut} of {size} B", whole[largest][:cut]) for cut in cuts]
    damages.append(("replaced by text", b"this is no store\n" * 40))
    errors = 0
    for what, data in damages:
        for path in [p for p in subject.folder.rglob("*") if p.is_file() and p not in whole]:
            path.unlink()
        for path, content in whole.items():
            path.write_bytes(data if path == largest else content)
        errors += _asked(subject, what)
    return f"{len(damages)} kinds of damage, {errors} refused with a message"


def _asked(subject: Subject, damage: str) -> bool:
    """Whether the damaged store was refused."""
    try:
        store = build(subject)
        try:
            for number in range(ENTRIES):
                seen = store.get(key_of(number))
                good = seen is None or seen == value_of(number)
                subject.expect(good, f"a miss, or the right value, from a file {damage}", _head(seen))
        finally:
            store.close()
    except PluginError as error:
        subject.fail(f"a miss or a clear error (InputError) from a file {damage}", str(error))
    except WormholeError as error:
        subject.expect(str(error).strip() and "\n" not in str(error), "an error of one line", str(error))
        return True
    except AssertionError:
        raise
    except Exception as error:
        subject.fail(f"a miss or a clear error (InputError) from a file {damage}", f"{type(error).__name__}: {error}")
    return False


@check("memo-backend")
def shared_by_processes(subject: Subject) -> str:
    """Two processes that write the same keys at once leave whole values, the highest rank of each."""
    if not subject.component.traits.get("shared", False):
        raise Skip("it does not say that processes may share it")
    build(subject).close()
    order = {
        "files": list(subject.files), "name": subject.entry.name, "options": dict(subject.options),
        "folder": str(subject.folder),
    }  # fmt: skip
    command = [sys.executable, "-c", "from wormhole_core.testing.checks.memo import write_share; write_share()"]
    writers = [
        subprocess.Popen([*command, json.dumps({**order, "writer": writer})], stderr=subprocess.PIPE, text=True)
        for writer in range(PROCESSES)
    ]
    troubles = [text for writer in writers if (text := writer.communicate(timeout=120)[1]) and writer.returncode]
    subject.expect(
        not troubles, f"{PROCESSES} processes to write at once", troubles and troubles[0].strip().splitlines()[-1]
    )
    store = build(subject)
    for number in range(SHARED_KEYS):
        seen, rank = store.get(key_of(number)), rank_of(number, number % PROCESSES)
        subject.expect(seen == value_of(number, rank), f"the value of rank {rank} for key {number}", _head(seen))
    store.close()
    return f"{PROCESSES} processes, {SHARED_KEYS} keys"


def rank_of(number: int, writer: int) -> int:
    """Each writer has the highest rank of every second key."""
    return 10 if number % PROCESSES == writer else 1 + writer


def write_share() -> None:
    """What each of the processes does: told by JSON on the command line, writes its ranks of all keys."""
    from ...api import load
    from ..subject import Subject as Kit

    order = json.loads(sys.argv[1])
    plugins = load(plugins=order["files"])
    kit = Kit(
        entry=plugins.registry.get("memo-backend", order["name"]), plugins=plugins, folder=Path(order["folder"]),
        options=order["options"],
    )  # fmt: skip
    store = build(kit)
    for number in range(SHARED_KEYS):
        rank = rank_of(number, order["writer"])
        store.put(key_of(number), value_of(number, rank), rank)
        store.get(key_of(number))
    store.close()
