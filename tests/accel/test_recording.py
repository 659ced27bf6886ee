"""Bytes of recordings: whatever is not exactly one is refused, and a run goes on without it."""

from __future__ import annotations

import json
import random
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wormhole_core.accel.recording import ACKED, MAGIC, RECEIVED, DamagedRecording, Recording


def example() -> Recording:
    recording = Recording(2)
    recording.events = [(10, 0, RECEIVED, 0), (20, 1, RECEIVED, 0), (30, 1, ACKED, 0), (31, 0, ACKED, 7)]
    recording.segments = [(5, 4, (0.1, 0.2))]
    recording.finish = 12, (0.1, 0.30000000000000004)
    recording.totals = [(1, 2, 3, 4), (5, 6, 7, 8)]
    recording.streams = [None, (1, 2)]
    recording.flow_streams = [3, 1 << 63]
    recording.sizes, recording.hops, recording.error_bound = (9, 8), 5, 0.001
    recording.shape = (((0, 1), (2,), 9, 10), ((1,), (), 8, 10))
    return recording


def fields(recording: Recording) -> dict[str, Any]:
    left_out = ("complete", "followers", "leader", "room")
    return {name: getattr(recording, name) for name in Recording.__slots__ if name not in left_out}


def packed(body: Any) -> bytes:
    text = zlib.compress(body if isinstance(body, bytes) else json.dumps(body).encode())
    return MAGIC + zlib.crc32(text).to_bytes(4, "little") + text


def body_of(recording: Recording) -> Any:
    return json.loads(zlib.decompress(recording.encode()[8:]))


def test_round_trip():
    recording = example()
    again = Recording.decode(recording.encode())
    assert fields(again) == fields(recording) and again.complete
    assert recording.encode() == again.encode()


def test_every_flipped_bit_is_noticed():
    data = example().encode()
    for place in range(len(data)):
        for bit in range(8):
            broken = bytearray(data)
            broken[place] ^= 1 << bit
            with pytest.raises(DamagedRecording):
                Recording.decode(bytes(broken))
    for length in range(len(data)):
        with pytest.raises(DamagedRecording):
            Recording.decode(data[:length])


@settings(derandomize=True, max_examples=300, deadline=None, database=None)
@given(st.binary(max_size=200), st.booleans(), st.booleans())
def test_foreign_bytes(data, checked, compressed):
    if compressed:
        data = packed(data)
    elif checked:
        data = MAGIC + zlib.crc32(data).to_bytes(4, "little") + data
    with pytest.raises(DamagedRecording):
        Recording.decode(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=8,
)  # fmt: skip


@settings(derandomize=True, max_examples=600, deadline=None, database=None)
@given(st.sampled_from(sorted(body_of(example()))), JSON)
def test_fields_of_any_content(field, value):
    """Well-formed outside, anything inside: refused, or something that can be played."""
    body = body_of(example())
    body[field] = value
    try:
        recording = Recording.decode(packed(body))
    except DamagedRecording:
        return
    assert not recording.suits(2, 2) or sorted(e[1:3] for e in recording.events) == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        None,
        "x",
        7,
        float("inf"),
        b"[" * 100_000,
        b"\xff",
        b"{",
    ],
    ids=str,
)
def test_other_documents(body):
    with pytest.raises(DamagedRecording):
        Recording.decode(packed(body))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("events", [[10, 0, 0, 0], [9, 1, 0, 0], [30, 1, 1, 0], [31, 0, 1, 0]]),
        ("events", [[10, 0, 0, 0], [20, 1, 0, 0], [31, 0, 1, 0]]),
        ("events", [[10, 0, 0, 0], [20, 1, 0, 0], [30, 2, 1, 0], [31, 0, 1, 0]]),
        ("events", [[-1, 0, 0, 0], [20, 1, 0, 0], [30, 1, 1, 0], [31, 0, 1, 0]]),
        ("segments", [[1, 2, ["nan", "0x1p-3"]]]),
        ("segments", [[1, 2, ["0x1p-3"]]]),
        ("segments", [[1, -2, ["0x0p0"] * 2]]),
        ("finish", [1, ["-0x1p-3", "0x1p-3"]]),
        ("finish", [1, ["inf", "0x1p-3"]]),
        ("finish", [1]),
        ("finish", [1, ["0x1p99999", "0x0p0"]]),
        ("totals", [[1, 2, 3, -4], [5, 6, 7, 8]]),
        ("streams", [[]]),
        ("flows", float("inf")),
        ("flows", 3),
        ("hops", -1),
    ],
    ids=str,
)
def test_contents_that_cannot_be_played(field, value):
    body = body_of(example())
    body[field] = value
    with pytest.raises(DamagedRecording):
        Recording.decode(packed(body))


def test_an_absurd_number_of_flows_is_refused_at_once():
    body = body_of(example())
    body["flows"] = 1 << 62
    with pytest.raises(DamagedRecording, match="a flow does not end"):
        Recording.decode(packed(body))


def test_bombs(monkeypatch):
    monkeypatch.setattr("wormhole_core.accel.recording.LARGEST_BYTES", 1 << 16)
    with pytest.raises(DamagedRecording, match="larger"):
        Recording.decode(packed(b" " * ((1 << 16) + 1)))


class Damaged:
    """A store that hands out something else than was put in."""

    def __init__(self, inner: Any, change: Any) -> None:
        self.inner, self.change = inner, change

    def get(self, key: bytes) -> bytes | None:
        data = self.inner.get(key)
        return None if data is None else self.change(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def of_other_shape(data: bytes) -> bytes:
    """A valid recording, of an episode with other flows and ports."""
    return example().encode()


def with_one_port_less(data: bytes) -> bytes:
    body = json.loads(zlib.decompress(data[8:]))
    body["totals"].pop()
    return packed(body)


def a_marker(data: bytes) -> bytes:
    marker = Recording(2)
    marker.random = True
    return marker.encode()


def flipped(data: bytes) -> bytes:
    place = random.Random(len(data)).randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize(
    "change",
    [of_other_shape, with_one_port_less, a_marker, flipped, lambda d: b"", lambda d: d[:-1], lambda d: b"WHM0" + d[4:]],
)
def test_a_run_with_a_damaged_store(lab, change):
    flows = [lab.flow(n, n % 3 + 1, 0, 20_000 + n % 3, 200_000_000 * (n // 3)) for n in range(9)]
    case = lab.case(lambda: lab.stars(1, 5), flows)
    memo = lab.memo()
    lab.worm(case, memo=memo)
    run = lab.worm(case, memo=Damaged(memo, change))
    assert run.times == lab.packet(case).times
    if change is not a_marker:
        assert run.did["damaged"] >= 1
    run.assert_clean()
