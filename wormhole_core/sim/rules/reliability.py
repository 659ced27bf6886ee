"""Reliable delivery: what the receiver answers and what the sender sends again.

Go-back-N: the receiver takes frames in order only; the first one out of order is answered by a NACK
and the sender goes back. Selective repeat: the receiver keeps what comes out of order, each ACK also
names the frame it answers, and the sender repeats what is missing once frames sent `reorder_window`
packets later were acknowledged. In both the sender goes back to the oldest unacknowledged byte when
nothing was acknowledged for the retransmission timeout, so that losing the last frame hangs nothing.
(InfiniBand specification 1.3, section 9.7; IRN, SIGCOMM 2018, section 3 for selective repeat.)
"""

from __future__ import annotations

from bisect import insort

IN_ORDER, DUPLICATE, OUT_OF_ORDER = 0, 1, 2


class GoBackNReceiver:
    """Receiver of one flow; `next_seq` is the next byte expected."""

    __slots__ = ("nacked", "next_seq")

    def __init__(self) -> None:
        self.next_seq = 0
        self.nacked = False

    def take(self, seq: int, payload: int) -> int:
        """Account for a data frame; says what it was."""
        if seq == self.next_seq:
            self.next_seq = seq + payload
            self.nacked = False
            return IN_ORDER
        return DUPLICATE if seq < self.next_seq else OUT_OF_ORDER

    def wants_nack(self) -> bool:
        """Whether to ask for going back (once per gap)."""
        first, self.nacked = not self.nacked, True
        return first

    def snapshot(self, base: int) -> tuple:
        """State relative to byte `base`."""
        return self.next_seq - base, self.nacked, ()

    def restore(self, state: tuple, base: int) -> None:
        """Inverse of snapshot."""
        self.next_seq, self.nacked = state[0] + base, state[1]


class SelectiveReceiver(GoBackNReceiver):
    """Keeps frames that come out of order."""

    __slots__ = ("beyond",)

    def __init__(self) -> None:
        super().__init__()
        self.beyond: list[tuple[int, int]] = []

    def take(self, seq: int, payload: int) -> int:
        if seq < self.next_seq or (self.beyond and (seq, payload) in self.beyond):
            return DUPLICATE
        if seq > self.next_seq:
            insort(self.beyond, (seq, payload))
            return OUT_OF_ORDER
        self.next_seq = seq + payload
        while self.beyond and self.beyond[0][0] == self.next_seq:
            self.next_seq += self.beyond.pop(0)[1]
        return IN_ORDER

    def wants_nack(self) -> bool:
        return False

    def snapshot(self, base: int) -> tuple:
        return self.next_seq - base, False, tuple((s - base, p) for s, p in self.beyond)

    def restore(self, state: tuple, base: int) -> None:
        self.next_seq = state[0] + base
        self.beyond = [(s + base, p) for s, p in state[2]]


class SelectiveSender:
    """What a selective-repeat sender knows of its outstanding frames, in order of sending.

    `sent` maps seq -> (payload, order of sending); a frame is lost once frames sent `window` orders
    later were acknowledged. `queue` holds the frames to repeat, oldest first.
    """

    __slots__ = ("order", "queue", "sent", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.sent: dict[int, tuple[int, int]] = {}
        self.queue: list[tuple[int, int]] = []
        self.order = 0

    def on_send(self, seq: int, payload: int) -> None:
        """A frame left (again)."""
        self.sent.pop(seq, None)
        self.sent[seq] = payload, self.order
        self.order += 1

    def on_ack(self, ack_seq: int, first_seq: int) -> int:
        """Frames below ack_seq and the one at first_seq arrived; returns newly lost payload bytes."""
        entry = self.sent.pop(first_seq, None)
        if first_seq < ack_seq:
            for seq in [s for s in self.sent if s < ack_seq]:
                del self.sent[seq]
            if self.queue:
                self.queue = [q for q in self.queue if q[0] >= ack_seq]
        if self.queue:
            self.queue = [q for q in self.queue if q[0] != first_seq]
        if entry is None:
            return 0
        lost = 0
        for seq, (payload, order) in list(self.sent.items()):
            if order + self.window > entry[1]:
                break
            insort(self.queue, (seq, payload))
            del self.sent[seq]
            lost += payload
        return lost

    def on_timeout(self) -> int:
        """Everything outstanding is to be repeated; returns its payload bytes."""
        for seq, (payload, _) in self.sent.items():
            insort(self.queue, (seq, payload))
        lost = sum(p for p, _ in self.sent.values())
        self.sent.clear()
        return lost

    def snapshot(self, base: int) -> tuple:
        """State relative to byte `base` and to the present order number."""
        return tuple((s - base, p, o - self.order) for s, (p, o) in self.sent.items()), tuple(
            (s - base, p) for s, p in self.queue
        )

    def restore(self, state: tuple, base: int) -> None:
        """Inverse of snapshot."""
        self.sent = {s + base: (p, o + self.order) for s, p, o in state[0]}
        self.queue = [(s + base, p) for s, p in state[1]]
