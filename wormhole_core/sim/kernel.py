"""SimPy's environment, with a tighter loop, and the reusable heap event of the fast model.

The heap and the entry format are SimPy's own; ordinary SimPy events and processes run unchanged.
`advance` does what `Environment.run` does, inlined for speed and in slices, so that a caller can
report progress between them (benchmark: benchmarks/bench_packet.py).
"""

from __future__ import annotations

from heapq import heappop, heappush, heappushpop
from typing import Any

import simpy

DEAD: tuple[Any, ...] = ()
NEVER = 1 << 100
"""Later than any event; an integer, because comparing integers with infinity is slow."""


class Tick:
    """A heap event that is re-armed instead of made anew. `callbacks` is set at every push, because
    the loop clears it as SimPy does; a tick whose callbacks are DEAD pops without effect."""

    __slots__ = ("callbacks", "index")
    _ok = True

    def __init__(self, index: int = 0) -> None:
        self.callbacks: Any = DEAD
        self.index = index

    def __lt__(self, other: Tick) -> bool:
        # Reached by arrivals of one instant that began to be sent in one instant: by port index.
        # (Or between a dead tick and its successor, where the order does not matter.)
        return self.index < other.index


class Halt(Exception):
    """Raised by a callback that is the last thing to happen: the run is over."""


class KernelEnvironment(simpy.Environment):
    """Environment whose clock is integer picoseconds."""

    def __init__(self) -> None:
        super().__init__(initial_time=0)
        self.executed = 0
        self.rearmed: Any = None
        """An entry that a callback of `advance` leaves to be pushed: pushing it and taking the next event
        off the heap is then one call. Never set between two calls of `advance`."""

    def push(self, time_ps: int, rank: int, event: Any, callbacks: Any, sequence: int = 0) -> None:
        """Arm a tick. The past is refused: an event there would turn the clock back."""
        if time_ps < self._now:
            raise AssertionError(f"event at {time_ps} ps pushed at {self._now} ps")
        event.callbacks = callbacks
        queue: Any = self._queue
        heappush(queue, (time_ps, rank, sequence, event))

    def advance(self, max_events: int, until_ps: int | None = None) -> bool:
        """Run at most max_events events, none later than until_ps; True if there is nothing left to
        run within that time, or a callback raised `Halt`."""
        queue: Any = self._queue
        limit = NEVER if until_ps is None else until_ps
        done = 0
        try:
            for done in range(1, max_events + 1):
                entry = self.rearmed
                if entry is not None:
                    self.rearmed = None
                    now, rank, sequence, event = heappushpop(queue, entry)
                elif queue:
                    now, rank, sequence, event = heappop(queue)
                else:
                    done -= 1
                    return True
                if now > limit:
                    heappush(queue, (now, rank, sequence, event))
                    done -= 1
                    return True
                self._now = now
                callbacks, event.callbacks = event.callbacks, None
                if callbacks.__class__ is tuple:  # a tick: nothing else keeps its callbacks in a tuple
                    if callbacks:
                        callbacks[0](event)
                    continue
                for callback in callbacks:
                    callback(event)
                if not event._ok and not hasattr(event, "_defused"):
                    raise event._value
        except Halt:
            return True
        finally:
            if self.rearmed is not None:
                heappush(queue, self.rearmed)
                self.rearmed = None
            self.executed += done
        return False
