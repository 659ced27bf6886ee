"""A file of remembered episodes, opened by hand: what is in it, whether it is sound, what to keep.

The file is the `sqlite` memo backend's; what its entries mean is decoded here. Keys say nothing by
themselves: which options and code an episode belongs to is in them only as a digest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from ..accel.conflict_graph import ConflictGraph, conflict_graph
from ..accel.recording import ACKED, DamagedRecording, Recording
from ..contracts.memo import MemoBackend
from ..errors import InputError

BACKEND = "sqlite"


@attrs.frozen(kw_only=True)
class Entry:
    """One entry. recording: None if its bytes are damaged, `fault` then says how. A recording without
    events only says that its episode uses random numbers."""

    key: bytes
    size_bytes: int
    uses: int
    tags: str
    recording: Recording | None
    fault: str | None = None

    @property
    def name(self) -> str:
        """The beginning of the key, enough to tell entries apart."""
        return self.key.hex()[:12]

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data, for export."""
        known: dict[str, Any] = {"key": self.key.hex(), "bytes": self.size_bytes, "uses": self.uses, "tags": self.tags}
        if self.recording is None:
            return known | {"damaged": self.fault}
        r = self.recording
        return known | {
            "flows": r.flows, "duration_ps": r.duration_ps, "approximate": r.approximate, "random": r.random,
            "error_bound": r.error_bound, "frame_hops": r.hops,
            "events": [{"at_ps": at, "flow": flow, "what": "acked" if kind == ACKED else "received"}
                       for at, flow, kind, _ in r.events],
            "skips": [{"at_ps": at, "duration_ps": span} for at, span, _ in r.segments],
            "paths": [list(path) for path, *_ in r.shape],
            "ack_paths": [list(back) for _, back, *_ in r.shape],
            "sizes_bytes": [size for *_, size, _ in r.shape],
        }  # fmt: skip


@attrs.frozen(kw_only=True)
class Pattern:
    """Recordings whose conflict graphs look the same. uses: how often any of them was replayed."""

    graph: ConflictGraph
    recordings: int
    uses: int
    duration_ps: int
    example: Entry


def open_store(path: str | Path, plugins: Any) -> MemoBackend:
    """The store in a file; raises InputError if there is none, or it is not one of ours."""
    place = Path(path)
    if not place.exists():
        raise InputError("no such memo store; a run with --memo FILE makes one", path=path)
    if place.is_file() and place.stat().st_size == 0:
        raise InputError("not a memo store (the file is empty); name another file", path=path)
    config = plugins.make_config("memo-backend", BACKEND, {"path": str(path)})
    store: MemoBackend = plugins.registry.get("memo-backend", BACKEND).build(config)
    return store


def entries(store: MemoBackend) -> Iterator[Entry]:
    """Every entry, decoded, in order of keys."""
    for key, value, _rank, uses, tags in store.scan():
        try:
            recording, fault = Recording.decode(value), None
        except DamagedRecording as error:
            recording, fault = None, str(error)
        yield Entry(key=key, size_bytes=len(value), uses=uses, tags=tags, recording=recording, fault=fault)


def store_facts(store: MemoBackend) -> dict[str, Any]:
    """What is in a store, in numbers."""
    found = list(entries(store))
    whole = [e for e in found if e.recording is not None and e.recording.events]
    return {
        "entries": len(found),
        "bytes": sum(e.size_bytes for e in found),
        "damaged": sum(1 for e in found if e.recording is None),
        "random_markers": sum(1 for e in found if e.recording is not None and not e.recording.events),
        "episodes": len(whole),
        "approximate": sum(1 for e in whole if e.recording is not None and e.recording.approximate),
        "flows": sum(e.recording.flows for e in whole if e.recording is not None),
        "uses": sum(e.uses for e in found),
        "unused": sum(1 for e in whole if not e.uses),
        "most_used": [
            {"key": e.name, "uses": e.uses, "bytes": e.size_bytes, "flows": r.flows, "duration_ps": r.duration_ps}
            for e in sorted(whole, key=lambda e: (-e.uses, e.key))[:5]
            if (r := e.recording) is not None
        ],
    }


def to_prune(store: MemoBackend, *, max_bytes: int | None, unused: bool, damaged: bool) -> list[Entry]:
    """Entries to delete: damaged ones, those never used, then the least used and largest until the rest
    takes at most max_bytes. What says that an episode is random stays as long as it is used at all."""
    gone: list[Any] = []
    kept: list[Any] = []
    for entry in entries(store):
        marker = entry.recording is not None and not entry.recording.events
        bad = (damaged and entry.recording is None) or (unused and not entry.uses and not marker)
        (gone if bad else kept).append(entry)
    if max_bytes is not None:
        total = sum(e.size_bytes for e in kept)
        for entry in sorted(kept, key=lambda e: (e.uses, -e.size_bytes, e.key)):
            if total <= max_bytes:
                break
            gone.append(entry)
            total -= entry.size_bytes
    return gone


def patterns(store: MemoBackend) -> list[Pattern]:
    """Contention patterns, the most often replayed first."""
    groups: dict[str, list[tuple[ConflictGraph, Entry]]] = {}
    for entry in entries(store):
        recording = entry.recording
        if recording is None or not recording.shape:
            continue
        graph = conflict_graph(recording.shape, ((flow, at) for at, flow, kind, _ in recording.events if kind == ACKED))
        groups.setdefault(graph.name, []).append((graph, entry))
    found = []
    for members in groups.values():
        graph, example = max(members, key=lambda m: (m[1].uses, m[1].key))
        found.append(
            Pattern(
                graph=graph,
                recordings=len(members),
                uses=sum(entry.uses for _, entry in members),
                duration_ps=example.recording.duration_ps if example.recording is not None else 0,
                example=example,
            )
        )
    return sorted(found, key=lambda p: (-p.uses, -p.recordings, p.graph.name))
