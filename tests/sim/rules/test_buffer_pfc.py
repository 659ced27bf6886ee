"""The shared buffer: admission, pause, resume and the level below which nothing can happen."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wormhole_core.sim.rules.buffer_pfc import SharedBuffer


def two_ports(pfc: bool = True, capacity: int = 100_000, shift: int = 1) -> SharedBuffer:
    buffer = SharedBuffer(capacity, reserve=1_000, resume_offset=3_000, pfc=pfc)
    for name in ("a", "b"):
        buffer.add_ingress(name, headroom_limit=4_000, divisor_shift=shift)
    return buffer


def test_reserve_and_headroom_are_taken_from_the_shared_part():
    assert two_ports().shared_limit == 100_000 - 2 * (1_000 + 4_000)
    assert two_ports(pfc=False).shared_limit == 100_000 - 2 * 1_000


def test_threshold_is_a_share_of_what_is_free():
    buffer = two_ports()
    a, b = buffer.ingresses
    assert buffer.threshold(a) == 45_000
    assert buffer.admit(a, 11_000)
    assert buffer.shared_used == 10_000  # the first 1,000 are the port's own
    assert buffer.threshold(a) == buffer.threshold(b) == 40_000


def test_faster_ports_may_have_more_than_what_is_free():
    buffer = two_ports(shift=-1)
    assert buffer.threshold(buffer.ingresses[0]) == 180_000


def test_pause_at_the_threshold_then_headroom_then_drop():
    buffer = two_ports()
    a, _ = buffer.ingresses
    admitted = 0
    while not buffer.must_pause(a):
        assert buffer.admit(a, 1_000)
        admitted += 1
    # Held beyond the reserve: s with s >= (90,000 - s) / 2.
    assert admitted == 31
    assert (a.bytes, a.held_headroom, buffer.shared_used) == (31_000, 0, 30_000)
    a.paused = True
    assert not buffer.must_pause(a)
    assert [buffer.admit(a, 1_000) for _ in range(5)] == [True] * 4 + [False]
    assert (a.bytes, a.held_headroom) == (31_000, 4_000)


def test_resume_after_headroom_and_offset():
    buffer = two_ports()
    a, _ = buffer.ingresses
    while not buffer.must_pause(a):
        buffer.admit(a, 1_000)
    a.paused = True
    buffer.admit(a, 1_000)
    released = 0
    while not buffer.may_resume(a):
        buffer.release(a, 1_000)
        released += 1
    # One for the headroom, then s + 3,000 <= (90,000 - s) / 2: from 30,000 down to 28,000.
    assert (released, a.bytes) == (3, 29_000)


def test_without_pfc_the_threshold_drops():
    buffer = two_ports(pfc=False)
    a, b = buffer.ingresses
    count = 0
    while buffer.admit(a, 1_000):
        count += 1
    assert not buffer.must_pause(a)
    # The k-th frame is admitted while k - 1 beyond the reserve <= (98 - what was there) / 2.
    assert count == 34
    assert (a.bytes, a.held_headroom) == (34_000, 0)
    assert buffer.admit(b, 1_000)


def test_a_port_may_always_use_its_reserve():
    buffer = two_ports(pfc=False)
    _, b = buffer.ingresses
    buffer.shared_used = buffer.shared_limit + 500
    assert buffer.admit(b, 1_000)
    assert not buffer.admit(b, 1)


@pytest.mark.parametrize("pfc", [True, False])
@settings(max_examples=150, derandomize=True, deadline=None)
@given(data=st.data())
def test_bookkeeping_never_drifts(pfc: bool, data: st.DataObject):
    """shared_used is the sum of what ports hold beyond their reserves, and all is zero in the end."""
    buffer = two_ports(pfc, capacity=data.draw(st.integers(12_000, 40_000)), shift=data.draw(st.integers(-1, 3)))
    held: list[tuple[int, int]] = []
    calm = buffer.calm_bytes()
    for _ in range(data.draw(st.integers(1, 60))):
        if held and data.draw(st.booleans()):
            port, size = held.pop(0)
            buffer.release(buffer.ingresses[port], size)
        else:
            port, size = data.draw(st.integers(0, 1)), data.draw(st.integers(1, 4_000))
            ingress = buffer.ingresses[port]
            fits = sum(s for _, s in held) + size <= calm
            if buffer.admit(ingress, size):
                held.append((port, size))
            else:
                assert not fits
            if fits:
                assert not buffer.must_pause(ingress)
                assert not ingress.held_headroom
        assert buffer.shared_used == sum(max(0, i.bytes - buffer.reserve) for i in buffer.ingresses)
        assert sum(i.bytes + i.held_headroom for i in buffer.ingresses) == sum(s for _, s in held)
        assert all(i.held_headroom <= i.headroom_limit for i in buffer.ingresses)
    for port, size in held:
        buffer.release(buffer.ingresses[port], size)
    assert buffer.shared_used == 0
    assert buffer.snapshot() == (0, ((0, 0, False), (0, 0, False)))
