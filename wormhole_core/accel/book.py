"""The memo of a run: keys in, recordings out; growing ones, stored ones, variants, back-off."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import attrs

from ..contracts.memo import MemoBackend
from ..rng import stream
from .key import variant_key
from .members import Partition
from .recording import DamagedRecording, Recording

VARIANTS = 8
PATIENCE = 32
"""Look-ups in a row that found nothing before only every so many are made."""
CACHE = 256


@attrs.define
class Statistics:
    """What acceleration did.

    hits: recordings played, of them hits_approximate with other sizes or starts, hits_of_skipped from
    recordings with skips or shortened ends, hits_of_random from those that drew random numbers;
    followers: episodes that followed one alike; refused: hits without room in the buffers; resimulated:
    partitions taken to packets privately.
    """

    episodes: int = 0
    hits: int = 0
    hits_approximate: int = 0
    hits_of_skipped: int = 0
    hits_of_random: int = 0
    followers: int = 0
    flows_replayed: int = 0
    refused: int = 0
    resimulated: int = 0
    events_resimulated: int = 0
    skips: int = 0
    skipped_ps: int = 0
    tails: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Name -> count."""
        return attrs.asdict(self)


class Book:
    """Recordings by key. backend None: nothing is remembered (enabled is False)."""

    def __init__(self, backend: MemoBackend | None, dynamics: bytes, seed: int) -> None:
        self.backend = backend
        self.enabled = backend is not None
        self.dynamics = dynamics
        self.seed = seed
        self.looks = self.misses = self.damaged = 0
        self._growing: dict[bytes, Recording] = {}
        self._cache: OrderedDict[bytes, Recording] = OrderedDict()
        self._occurrences: dict[bytes, int] = {}
        self._seen: dict[bytes, int] = {}
        self._variants: set[bytes] = set()
        self._fruitless = 0

    def worth_a_tail(self, key: bytes) -> bool:
        """Whether finishing a tail early buys something: the episode is known, or comes up again."""
        if self._find(key) is not None:
            return True
        seen = self._seen[key] = self._seen.get(key, 0) + 1
        return seen > 1

    def look_up(self, key: bytes, partition: Partition) -> tuple[bytes | None, Recording | None]:
        """The key to use (a variant's, if the episode uses random numbers) and its recording.

        (None, None): not even recorded, because look-ups do not pay at present."""
        self.looks += 1
        found = self._find(key)
        if found is not None and found.random:
            key = self._next_variant(key)
            found = self._find(key)
        if found is not None and found.complete and not found.suits(len(partition.members), len(partition.ports)):
            self.damaged += 1
            found = None
        if found is None:
            self.misses += 1
            self._fruitless += 1
            if self._fruitless > PATIENCE and self._fruitless % PATIENCE:
                return None, None
        else:
            self._fruitless = 0
            if self.backend is not None and found.complete:
                self.backend.touch(key)
        return key, found

    def _find(self, key: bytes) -> Recording | None:
        growing = self._growing.get(key)
        if growing is not None:
            return growing
        known = self._cache.get(key)
        if known is not None:
            self._cache.move_to_end(key)
            return known
        data = self.backend.get(key) if self.backend is not None else None
        if data is None:
            return None
        try:
            recording = Recording.decode(data)
        except DamagedRecording:
            self.damaged += 1
            return None
        self._keep(key, recording)
        return recording

    def _keep(self, key: bytes, recording: Recording) -> None:
        self._cache[key] = recording
        if len(self._cache) > CACHE:
            self._cache.popitem(last=False)

    def begin(self, key: bytes | None, flows: int) -> Recording:
        """A new recording, known by its key from now on."""
        recording = Recording(flows)
        recording.random = key in self._variants
        if key is not None:
            self._growing[key] = recording
        return recording

    def store(self, key: bytes, recording: Recording) -> None:
        """The recording is complete."""
        if self._growing.get(key) is recording:
            del self._growing[key]
        self._keep(key, recording)
        if self.backend is not None:
            tags = f"{recording.flows} flows, {recording.duration_ps} ps"
            self.backend.put(key, recording.encode(), recording.duration_ps, tags)

    def drop(self, key: bytes, recording: Recording) -> None:
        """The recording will not be completed."""
        if self._growing.get(key) is recording:
            del self._growing[key]

    def make_random(self, key: bytes, recording: Recording) -> bytes:
        """A growing recording turned out to use random numbers: `key` now only says so, and the
        recording goes by the key of its variant."""
        if self._growing.get(key) is recording:
            del self._growing[key]
        marker = Recording(recording.flows)
        marker.random = marker.complete = True
        self._keep(key, marker)
        if self.backend is not None:
            self.backend.put(key, marker.encode(), 0, f"{recording.flows} flows, random")
        recording.random = True
        variant = self._next_variant(key)
        self._growing[variant] = recording
        return variant

    def _next_variant(self, key: bytes) -> bytes:
        """The key of the variant whose turn it is."""
        occurrence = self._occurrences.get(key, 0)
        self._occurrences[key] = occurrence + 1
        variant = variant_key(key, self.seed, stream(self.seed, "variant", key.hex(), occurrence).below(VARIANTS))
        self._variants.add(variant)
        return variant
