"""Which queue pair a NIC serves next: round robin over those that may send.

A queue pair may send when it has bytes left, its window is open and its pacing deadline has come.
The search begins after the one that sent last; finished pairs leave the list during the search and
new ones are appended, as in the reference simulator.
"""

from __future__ import annotations

from typing import Any


class RoundRobin:
    """The queue pairs of one NIC. Members offer `finished`, `may_send()` and `next_send_ps`."""

    __slots__ = ("last", "pairs")

    def __init__(self) -> None:
        self.pairs: list[Any] = []
        self.last = 0

    def pick(self, now_ps: int) -> Any | None:
        """The pair that sends now, or None."""
        pairs = self.pairs
        count = len(pairs)
        found, dirty = -1, False
        for offset in range(1, count + 1):
            index = (offset + self.last) % count
            pair = pairs[index]
            if pair.may_send():
                if pair.next_send_ps <= now_ps:
                    found = index
                    break
            elif pair.finished:
                dirty = True
        chosen = pairs[found] if found >= 0 else None
        if dirty:
            found -= sum(1 for pair in pairs[: max(found, 0)] if pair.finished)
            self.pairs = [pair for pair in pairs if not pair.finished]
        if chosen is not None:
            self.last = found
        return chosen

    def settle(self) -> None:
        """A pair has finished. When none is left the search begins anew: what ran before must not
        decide who goes first later (the reference keeps its index; it only matters to pairs that start
        together while the NIC is busy with ACKs, and a replayed episode has no index to keep)."""
        if all(pair.finished for pair in self.pairs):
            self.pairs = []
            self.last = 0

    def remove(self, pair: Any) -> None:
        """A pair moves to another NIC; the one whose turn it is stays the same."""
        place = self.pairs.index(pair)
        del self.pairs[place]
        if place <= self.last:
            self.last -= 1

    def wake_ps(self, now_ps: int, rule: str) -> int | None:
        """When to look again if nothing can be sent now; None: not before something else happens.

        "any": the earliest deadline among pairs whose window is open. "earliest": the earliest among
        all with bytes left, and only if it lies ahead (a pair that waits for its window and whose
        deadline has passed then hides the others until the next ACK; the reference does this).
        """
        if rule == "any":
            times = [p.next_send_ps for p in self.pairs if p.may_send()]
        else:
            times = [p.next_send_ps for p in self.pairs if p.bytes_left()]
        earliest = min(times, default=None)
        return earliest if earliest is not None and (rule == "any" or earliest > now_ps) else None
