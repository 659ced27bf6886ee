"""`memory`: remembered episodes for the life of the process, least recently used out first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

import attrs

from wormhole_core import Component, MemoBackend, positive


@attrs.frozen(kw_only=True)
class MemoryConfig:
    """Options of `memory`."""

    capacity_bytes: int = positive(default=256 * 2**20)
    """Keys, values and tags together; the least recently used entries make room for new ones."""


class MemoryBackend(MemoBackend):
    """An ordered dictionary, most recently used last."""

    def __init__(self, capacity_bytes: int) -> None:
        self.capacity_bytes = capacity_bytes
        self._entries: OrderedDict[bytes, tuple[bytes, int, int, str]] = OrderedDict()
        self._used_bytes = 0

    def get(self, key: bytes) -> bytes | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: bytes, value: bytes, rank: int, tags: str = "") -> None:
        cost = _cost(key, value, tags)
        if cost > self.capacity_bytes:
            return
        uses = 0
        known = self._entries.get(key)
        if known is not None:
            if rank < known[1]:
                return
            uses = known[2]
            self.delete([key])
        while self._used_bytes + cost > self.capacity_bytes:
            oldest = next(iter(self._entries))
            self.delete([oldest])
        self._entries[key] = (bytes(value), rank, uses, tags)
        self._used_bytes += cost

    def touch(self, key: bytes) -> None:
        entry = self._entries.get(key)
        if entry is not None:
            value, rank, uses, tags = entry
            self._entries[key] = (value, rank, uses + 1, tags)
            self._entries.move_to_end(key)

    def scan(self) -> Iterator[tuple[bytes, bytes, int, int, str]]:
        for key in sorted(self._entries):
            yield (key, *self._entries[key])

    def delete(self, keys: Iterable[bytes]) -> int:
        count = 0
        for key in keys:
            entry = self._entries.pop(key, None)
            if entry is not None:
                self._used_bytes -= _cost(key, entry[0], entry[3])
                count += 1
        return count


def _cost(key: bytes, value: bytes, tags: str) -> int:
    return len(key) + len(value) + len(tags.encode())


def _build(config: MemoryConfig) -> MemoryBackend:
    return MemoryBackend(config.capacity_bytes)


MEMORY = Component(
    name="memory",
    build=_build,
    summary="in this process only, up to capacity_bytes",
    config=MemoryConfig,
    traits={"persistent": False, "shared": False},
)
