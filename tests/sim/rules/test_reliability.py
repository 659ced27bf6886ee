"""What receivers answer and what senders repeat."""

from __future__ import annotations

from wormhole_core.sim.rules.reliability import (
    DUPLICATE,
    IN_ORDER,
    OUT_OF_ORDER,
    GoBackNReceiver,
    SelectiveReceiver,
    SelectiveSender,
)


def test_go_back_n_asks_once_per_gap():
    receiver = GoBackNReceiver()
    assert receiver.take(0, 10) == IN_ORDER
    assert receiver.take(20, 10) == OUT_OF_ORDER
    assert receiver.wants_nack()
    assert receiver.take(30, 10) == OUT_OF_ORDER
    assert not receiver.wants_nack()
    assert receiver.take(0, 10) == DUPLICATE
    assert receiver.take(10, 10) == IN_ORDER
    assert receiver.next_seq == 20
    assert receiver.take(30, 10) == OUT_OF_ORDER
    assert receiver.wants_nack()


def test_selective_receiver_keeps_what_comes_early():
    receiver = SelectiveReceiver()
    assert receiver.take(20, 10) == OUT_OF_ORDER
    assert receiver.take(10, 10) == OUT_OF_ORDER
    assert receiver.take(20, 10) == DUPLICATE
    assert receiver.next_seq == 0
    assert receiver.take(0, 10) == IN_ORDER
    assert receiver.next_seq == 30
    assert receiver.beyond == []
    assert not receiver.wants_nack()


def sender(window: int, frames: int) -> SelectiveSender:
    made = SelectiveSender(window)
    for n in range(frames):
        made.on_send(n * 10, 10)
    return made


def test_selective_sender_waits_for_its_window():
    s = sender(window=3, frames=6)
    assert s.on_ack(0, 10) == 0  # overtaken by 1
    assert s.on_ack(0, 20) == 0
    assert s.on_ack(0, 30) == 10  # by 3: the first frame is lost
    assert s.queue == [(0, 10)]
    assert sorted(s.sent) == [40, 50]


def test_a_repeated_frame_counts_from_its_last_sending():
    s = sender(window=2, frames=3)
    assert s.on_ack(0, 20) == 10
    s.queue.clear()
    s.on_send(0, 10)  # order 3
    s.on_send(30, 10)
    assert s.on_ack(0, 30) == 10  # the frame at 10 (order 1) is lost, the repeated one is not yet
    assert s.queue == [(10, 10)]
    s.on_send(40, 10)
    assert s.on_ack(0, 40) == 10
    assert s.queue == [(0, 10), (10, 10)]


def test_acknowledged_frames_leave_the_queue():
    s = sender(window=1, frames=3)
    assert s.on_ack(0, 20) == 20
    assert s.queue == [(0, 10), (10, 10)]
    s.on_ack(10, 0)
    assert s.queue == [(10, 10)]
    s.on_ack(30, 10)
    assert s.queue == []
    assert not s.sent


def test_timeout_repeats_all_outstanding_in_order():
    s = sender(window=3, frames=3)
    assert s.on_timeout() == 30
    assert s.queue == [(0, 10), (10, 10), (20, 10)]
    assert not s.sent


def test_snapshots_move_with_the_stream():
    s = sender(window=2, frames=4)
    s.on_ack(0, 20)
    other = SelectiveSender(2)
    other.order = 100
    other.restore(s.snapshot(0), 1_000)
    assert other.queue == [(seq + 1_000, n) for seq, n in s.queue]
    assert {k - 1_000: v[1] - 100 for k, v in other.sent.items()} == {k: v[1] - s.order for k, v in s.sent.items()}
    r = SelectiveReceiver()
    r.take(20, 10)
    moved = SelectiveReceiver()
    moved.restore(r.snapshot(0), 500)
    assert (moved.next_seq, moved.beyond) == (500, [(520, 10)])
