"""Memo back ends: `good`, and one for each check, named after it, that breaks it."""

import fcntl
import json
from pathlib import Path

import attrs

from wormhole_core import Component, MemoBackend, hookimpl
from wormhole_core.errors import InputError


@attrs.frozen(kw_only=True)
class Config:
    """Options of them all."""

    path: str = "store.json"


class Good(MemoBackend):
    """One JSON file, rewritten under a lock at every change."""

    def __init__(self, config):
        self.path = Path(config.path)
        self.read()

    def read(self):
        if not self.path.exists():
            return {}
        try:
            return json.loads(self.path.read_text() or "{}")
        except ValueError as error:
            raise InputError(f"damaged store ({error}); remove it", self.path) from None

    def change(self, action):
        with open(f"{self.path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            entries = self.read()
            result = action(entries)
            temporary = self.path.with_suffix(".new")
            temporary.write_text(json.dumps(entries))
            temporary.replace(self.path)
        return result

    def get(self, key):
        entry = self.read().get(key.hex())
        return None if entry is None else bytes.fromhex(entry[0])

    def put(self, key, value, rank, tags=""):
        def action(entries):
            old = entries.get(key.hex())
            if old is None or self.wins(rank, old[1]):
                entries[key.hex()] = [value.hex(), rank, old[2] if old else 0, tags]

        self.change(action)

    def wins(self, rank, old):
        return rank >= old

    def touch(self, key):
        def action(entries):
            if key.hex() in entries:
                entries[key.hex()][2] += 1

        self.change(action)

    def scan(self):
        for key, (value, rank, uses, tags) in sorted(self.read().items()):
            yield bytes.fromhex(key), bytes.fromhex(value), rank, uses, tags

    def delete(self, keys):
        return self.change(lambda entries: sum(entries.pop(key.hex(), None) is not None for key in keys))


class GivesBack(Good):
    """An empty value is taken for none."""

    def get(self, key):
        return super().get(key) or None


class HigherRankWins(Good):
    """The last one wins."""

    def wins(self, rank, old):
        return True


class ScanAndDelete(Good):
    """Says how many keys it was given."""

    def delete(self, keys):
        keys = list(keys)
        super().delete(keys)
        return len(keys)


class Remembers(Good):
    """Forgets the last entry when it is closed."""

    def close(self):
        self.change(lambda entries: entries.pop(max(entries), None) if entries else None)


class SurvivesDamage(Good):
    """Damage comes out as an error nobody understands."""

    def read(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}


class SurvivesDamageWrongly(Good):
    """A file that was cut short is mended with a guess."""

    def get(self, key):
        try:
            return super().get(key)
        except InputError:
            return b"a guess"

    def read(self):
        try:
            return super().read()
        except InputError:
            return {(number.to_bytes(4, "big") * 8).hex(): ["00", 1, 0, ""] for number in range(100)}


class SharedByProcesses(Good):
    """Keeps what it puts to itself and leaves only that behind when it is closed."""

    def __init__(self, config):
        self.own = {}
        super().__init__(config)

    def change(self, action):
        if not self.own:
            self.own = super().read()
        return action(self.own)

    def read(self):
        return self.own or super().read()

    def put(self, key, value, rank, tags=""):
        if not self.own:
            self.own = {"": ["", 0, 0, ""]}
        super().put(key, value, rank, tags)
        self.own.pop("", None)

    def close(self):
        if self.own:
            self.path.write_text(json.dumps(self.own))


@hookimpl
def wormhole_memo_backends():
    """All of them."""
    return COMPONENTS


COMPONENTS = [
    Component(
        name=name, build=build, summary=build.__doc__, config=Config,
        traits={"persistent": True, "shared": name in ("good", "shared-by-processes")},
    )
    for name, build in {
        "good": Good, "gives-back": GivesBack, "higher-rank-wins": HigherRankWins, "scan-and-delete": ScanAndDelete,
        "remembers": Remembers, "survives-damage": SurvivesDamage, "survives-damage-wrongly": SurvivesDamageWrongly,
        "shared-by-processes": SharedByProcesses,
    }.items()
]  # fmt: skip
