"""What a process sleeps on: an alarm that rings at a time of one's choosing, in the order of `order.py`.

SimPy runs events of one instant in the order they were scheduled, and `interrupt()` ahead of them all.
This model has an order of its own, so its processes never wait for anything but alarms, whose heap
entries carry the rank of the phase they belong to:

    while True:
        yield alarm.ring()
        ...

An alarm may be moved while a process waits for it.
"""

from __future__ import annotations

import simpy

from ..kernel import DEAD, KernelEnvironment, Tick


class Alarm:
    """Rings once each time it is set. rank: place within the instant; index: settles what rank and
    sequence leave open."""

    def __init__(self, env: KernelEnvironment, rank: int, index: int = 0) -> None:
        self.env = env
        self.rank = rank
        self.index = index
        self.time_ps: int | None = None
        """When it will ring; None while it is not set."""
        self._entry = Tick(index)
        self._event = simpy.Event(env)

    def ring(self) -> simpy.Event:
        """The event to yield: the next time it rings."""
        return self._event

    def set(self, time_ps: int, rank: int | None = None, sequence: int = 0) -> None:
        """Ring at time_ps and not at the time set before."""
        self.cancel()
        self.time_ps = time_ps
        self._entry = Tick(self.index)
        self.env.push(time_ps, self.rank if rank is None else rank, self._entry, (self._ring,), sequence)

    def set_no_later(self, time_ps: int) -> None:
        """Ring at time_ps, unless an earlier time is set."""
        if self.time_ps is None or time_ps < self.time_ps:
            self.set(time_ps)

    def cancel(self) -> None:
        """Do not ring. (The entry stays in the heap and pops without effect.)"""
        if self.time_ps is not None:
            self._entry.callbacks = DEAD
            self.time_ps = None

    def _ring(self, _entry: Tick) -> None:
        self.time_ps = None
        # Resume the sleeper here and now, as part of the ranked entry: `Event.succeed` would queue it
        # behind everything else of this instant.
        event, self._event = self._event, simpy.Event(self.env)
        event._ok, event._value = True, None
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)
