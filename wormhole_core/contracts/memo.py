"""Memo back ends (provisional): a dumb, atomic store of bytes.

`Component.build(config) -> MemoBackend`. The core makes keys, encodes values, checks versions and
checksums; a back end stores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator


class MemoBackend(ABC):
    """Keys are 32 bytes. `rank` orders recordings of one key: a put with a lower rank is ignored."""

    @abstractmethod
    def get(self, key: bytes) -> bytes | None:
        """The stored value, or None."""

    @abstractmethod
    def put(self, key: bytes, value: bytes, rank: int, tags: str = "") -> None:
        """Store atomically; the higher (or equal) rank wins. `tags` is a line for people."""

    def touch(self, key: bytes) -> None:
        """The entry was used (for least-recently-used eviction and statistics)."""

    @abstractmethod
    def scan(self) -> Iterator[tuple[bytes, bytes, int, int, str]]:
        """(key, value, rank, uses, tags) of every entry, in key order."""

    @abstractmethod
    def delete(self, keys: Iterable[bytes]) -> int:
        """Remove entries; returns how many were there."""

    def size_bytes(self) -> int:
        """Bytes the values take."""
        return sum(len(value) for _, value, *_ in self.scan())

    def compact(self) -> None:
        """Give back the room of what was deleted, where that is not done anyway."""

    def close(self) -> None:
        """Release files."""
