"""What is remembered of an episode, and its bytes.

A recording says when each flow's last byte was received and acknowledged, counted from the start of
the episode, and what passed each port. It also says which stretches were skipped, so that the packet
state at any instant can be reached again by simulating from the start and skipping the same.

The bytes: magic, format version, CRC-32, then a JSON text with integers only (rates as hex floats).
Never pickled: a store is data from outside.
"""

from __future__ import annotations

import json
import math
import zlib
from typing import Any

from .conflict_graph import checked_shape

MAGIC = b"WHM2"
RECEIVED, ACKED = 0, 1
LARGEST_BYTES = 1 << 28
"""Of the text of a recording."""


class DamagedRecording(ValueError):
    """The bytes are not a recording of this version."""


class Recording:
    """An episode from its start; grows while its leader is simulated.

    events: (elapsed_ps, position, RECEIVED | ACKED, retransmitted_bytes) in order of time.
    segments: (elapsed_ps, duration_ps, bytes per ps and position) of stretches skipped.
    finish: (elapsed_ps, bytes per ps and position) if the end was worked out from settled rates.
    totals: per port label (bytes, frames, marks, largest queue) over the whole episode.
    streams: per port label the (key, counter) of its marking stream at the start, None without one.
    flow_streams: per flow the key of its congestion control's stream.
    shape: which flow uses which port, for people (`conflict_graph.py`); () if not known.
    sizes: of the flows, together: whether all were ready at once (they need not be in the key of an
    approximate match). draws: random numbers used; random: some were, so that this is one of several
    variants. approximate: the end came from rates or a tail, not from packets.
    """

    __slots__ = (
        "approximate", "complete", "draws", "error_bound", "events", "finish", "flow_streams", "flows", "followers",
        "hops", "leader", "random", "room", "segments", "shape", "sizes", "streams", "together", "totals",
    )  # fmt: skip

    def __init__(self, flows: int) -> None:
        self.flows = flows
        self.events: list[tuple[int, int, int, int]] = []
        self.segments: list[tuple[int, int, tuple[float, ...]]] = []
        self.finish: tuple[int, tuple[float, ...]] | None = None
        self.totals: list[tuple[int, int, int, int]] = []
        self.streams: list[tuple[int, int] | None] = []
        self.flow_streams: list[int] = []
        self.shape: tuple[Any, ...] = ()
        self.room: list[int] = []
        self.sizes: tuple[int, ...] = ()
        self.together = True
        self.complete = False
        self.approximate = False
        self.error_bound = 0.0
        self.random = False
        self.draws = 0
        self.hops = 0
        self.leader: Any = None
        self.followers: list[Any] = []

    @property
    def duration_ps(self) -> int:
        """From the start to the last acknowledgement."""
        return self.events[-1][0] if self.events else 0

    def peak_bytes(self, label: int) -> int:
        """Largest queue at a port."""
        return self.totals[label][3]

    def suits(self, flows: int, ports: int) -> bool:
        """Whether this can be an episode of so many flows and ports."""
        return self.flows == flows and len(self.totals) == ports and bool(self.events)

    def encode(self) -> bytes:
        """As bytes, checksummed."""
        body = {
            "flows": self.flows, "events": self.events,
            "segments": [[a, b, [r.hex() for r in c]] for a, b, c in self.segments],
            "finish": None if self.finish is None else [self.finish[0], [r.hex() for r in self.finish[1]]],
            "totals": self.totals, "approximate": self.approximate, "error_bound": self.error_bound.hex(),
            "random": self.random, "draws": self.draws, "hops": self.hops,
            "streams": self.streams, "flow_streams": self.flow_streams, "shape": self.shape,
            "sizes": self.sizes, "together": self.together,
        }  # fmt: skip
        text = zlib.compress(json.dumps(body, separators=(",", ":")).encode(), 6)
        return MAGIC + zlib.crc32(text).to_bytes(4, "little") + text

    @classmethod
    def decode(cls, data: bytes) -> Recording:
        """Inverse of encode; raises DamagedRecording."""
        if data[:4] != MAGIC:
            raise DamagedRecording("not a Wormhole recording of this version")
        if zlib.crc32(data[8:]) != int.from_bytes(data[4:8], "little"):
            raise DamagedRecording("checksum does not match")
        try:
            body = json.loads(_inflated(data[8:]))
            recording = cls._from_body(body)
            recording._check()
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
            zlib.error,
        ) as error:
            raise DamagedRecording(f"unreadable: {error}") from error
        recording.complete = True
        return recording

    @classmethod
    def _from_body(cls, body: Any) -> Recording:
        recording = cls(int(body["flows"]))
        recording.events = [(int(a), int(b), int(c), int(d)) for a, b, c, d in body["events"]]
        recording.segments = [(int(a), int(b), tuple(float.fromhex(r) for r in c)) for a, b, c in body["segments"]]
        if body["finish"] is not None:
            at, rates = body["finish"]
            recording.finish = int(at), tuple(float.fromhex(r) for r in rates)
        recording.totals = [(int(a), int(b), int(c), int(d)) for a, b, c, d in body["totals"]]
        recording.approximate, recording.random = bool(body["approximate"]), bool(body["random"])
        recording.streams = [None if s is None else (int(s[0]), int(s[1])) for s in body["streams"]]
        recording.flow_streams = [int(key) for key in body["flow_streams"]]
        recording.sizes, recording.together = tuple(int(x) for x in body["sizes"]), bool(body["together"])
        recording.error_bound = float.fromhex(body["error_bound"])
        recording.shape = checked_shape(body.get("shape", ()))
        recording.draws, recording.hops = int(body["draws"]), int(body["hops"])
        return recording

    def _check(self) -> None:
        """Raise ValueError unless playing this ends with every flow received and acknowledged, once."""
        times = [event[0] for event in self.events]
        if times != sorted(times) or (times and times[0] < 0):
            raise ValueError("events are not in order of time")
        told = sorted((position, kind) for _, position, kind, _ in self.events)
        expected = ((position, kind) for position in range(self.flows) for kind in (RECEIVED, ACKED))
        if told and (len(told) != 2 * self.flows or told != list(expected)):
            raise ValueError("a flow does not end, or an event names a flow that is not there")
        stretches = list(self.segments)
        stretches += [] if self.finish is None else [(self.finish[0], 0, self.finish[1])]
        for at, span, rates in stretches:
            if at < 0 or span < 0 or len(rates) != self.flows or not all(0 <= rate < math.inf for rate in rates):
                raise ValueError("a stretch that was skipped makes no sense")
        if any(min(entry) < 0 for entry in self.totals) or not 0 <= self.error_bound < math.inf or self.hops < 0:
            raise ValueError("a count is negative")


def _inflated(data: bytes) -> bytes:
    """Decompressed, unless it would grow beyond reason; raises ValueError or zlib.error."""
    inflater = zlib.decompressobj()
    text = inflater.decompress(data, LARGEST_BYTES)
    if not inflater.eof:
        raise ValueError(f"truncated, or larger than {LARGEST_BYTES} B")
    return text
