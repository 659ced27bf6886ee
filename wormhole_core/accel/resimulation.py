"""Stretches of a finished run simulated again packet by packet, one after the other, for the audit.

Everything is as in the run (graph, options, congestion control, paths, who waits for whom) but for
the random streams, which are new. Each stretch begins in an empty network.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import attrs

from ..contracts.workload import Workload
from ..errors import StalledError
from ..rng import Stream
from ..sim.kernel import Halt
from ..sim.simulation import Simulation
from .busy import Causes, Flight, Link

REST_RTTS = 64
SLICE = 50_000
MOST = 1 << 40


class Start(NamedTuple):
    """When a flow starts: after_ps beyond the last of `waits` (places in the stretch), or beyond the
    beginning of the stretch."""

    flight: Flight
    waits: tuple[int, ...]
    after_ps: int


class Stretch:
    """Successive busy periods of a chain, as one scenario.

    starts: its flows. places, first: per busy period those that are its own, and those it begins with.
    leads: (waits, after_ps) of the flows that the following one on the chain begins with."""

    def __init__(self, links: Sequence[Link], following: Link | None, causes: Causes) -> None:
        self.links, self.following = tuple(links), following
        origin = links[0].unit.start_ps
        # By index, as in the run: it decides what happens first in one instant.
        owners = sorted(((f, n) for n, link in enumerate(links) for f in link.unit.flights), key=lambda o: o[0].index)
        place = {flight.index: number for number, (flight, _) in enumerate(owners)}
        self.starts: list[Start] = []
        self.places: list[list[int]] = [[] for _ in links]
        for number, (flight, owner) in enumerate(owners):
            waits, after = _waits(flight, links[owner] if owner else None, place, causes)
            self.starts.append(Start(flight, waits, after if waits else flight.start_ps - origin))
            self.places[owner].append(number)
        self.first = [
            [i for i in places if self.starts[i].flight.start_ps == link.unit.start_ps]
            for places, link in zip(self.places, links, strict=True)
        ]
        self.leads: tuple[tuple[tuple[int, ...], int], ...] = ()
        if following is not None:
            firsts = [f for f in following.unit.flights if f.start_ps == following.unit.start_ps]
            self.leads = tuple(lead for f in firsts if (lead := _waits(f, following, place, causes))[0])


def _waits(flight: Flight, link: Link | None, place: dict[int, int], causes: Causes) -> tuple[tuple[int, ...], int]:
    found = [f for _, f in causes.of(flight) if f.index in place]
    if not found and link is not None:
        found = [f for f in link.triggers if f.index in place]
    if not found:
        return (), 0
    return tuple(place[f.index] for f in found), flight.start_ps - max(f.done_ps for f in found)


class Trial(NamedTuple):
    """What a stretch gave. Times count from its beginning: per busy period the mean start of the flows
    it began with and the end of its last flow; and when the one after it would have begun."""

    begins_ps: tuple[float, ...]
    ends_ps: tuple[int, ...]
    next_ps: float | None
    random: bool
    events: int

    def period_ps(self, number: int) -> float | None:
        """From the beginning of a busy period to the beginning of the next one on the chain."""
        after = self.next_ps if number + 1 == len(self.begins_ps) else self.begins_ps[number + 1]
        return None if after is None else after - self.begins_ps[number]


class _Nothing(Workload):
    def advance(self, now_ps: int, done: Sequence[Any]) -> Iterable[Any]:
        return ()


class Resimulation(Simulation):
    """A packet-level simulation that runs stretches."""

    def __init__(
        self, graph: Any, config: Any, *, make_cca: Any, routing: Any, seed: int, no_progress_ps: int | None = None
    ) -> None:
        self._streams: list[Stream] = []
        self._todo: Stretch | None = None

        def make(info: Any, rng: Stream) -> Any:
            self._streams.append(rng)
            return make_cca(info, rng)

        config = attrs.evolve(config, link_failures=())
        super().__init__(
            graph, config, make_cca=make, routing=routing, workload=_Nothing(), seed=seed, no_progress_ps=no_progress_ps
        )  # fmt: skip
        self._serial = 0
        self._receiver = config.dependency == "receiver"

    def _numbers_drawn(self) -> int:
        drawn = sum(p.draws.counter for p in self.network.port_list if p.draws is not None)
        drawn += sum(p.loss_draws.counter for p in self.network.port_list if p.loss_draws is not None)
        return drawn + sum(s.counter for s in self._streams)

    # --- one stretch ---

    def run(self, stretch: Stretch, limit_events: int) -> Trial | None:
        """Simulate a stretch to its end and let the network come to rest. None if that takes clearly more
        than so many events; nothing more can be run then. Raises StalledError."""
        env = self.motion.env
        self._todo, self._origin = stretch, int(env._now)
        count = len(stretch.starts)
        self._base = self._serial
        self._serial += count
        self._begun, self._done, self._ended = [-1] * count, [-1] * count, [-1] * count
        self._left = count
        self._waiting = [len(set(s.waits)) for s in stretch.starts]
        self._held: dict[int, list[int]] = {}
        for number, start in enumerate(stretch.starts):
            for wait in set(start.waits):
                self._held.setdefault(wait, []).append(number)
        self._due: dict[int, list[int]] = {}
        self._asked: set[int] = set()
        self._streams.clear()
        drawn, executed = self._numbers_drawn(), env.executed
        for number, start in enumerate(stretch.starts):
            if not start.waits:
                self._plan(number, self._origin + start.after_ps)
        before: Any = None
        while self._left:
            if env.executed - executed > limit_events:
                return None
            if env.advance(SLICE, env._now + self.no_progress_ps) and self._left:
                moved = sum(f.snd_una for f in self.motion.flows.values()), self._left, len(self._due)
                if moved == before:
                    raise StalledError(self._stall_text("nothing moved"))
                before = moved
        events, random = env.executed - executed, self._numbers_drawn() != drawn
        rest = max(s.flight.plan.info.base_rtt_ps for s in stretch.starts) * REST_RTTS
        until = int(env._now) + rest
        env.advance(MOST, until)
        env._now = until
        self._todo = None
        return self._result(stretch, random, events)

    def _result(self, stretch: Stretch, random: bool, events: int) -> Trial:
        begun = [t - self._origin for t in self._begun]
        begins = tuple(sum(begun[i] for i in first) / len(first) for first in stretch.first)
        ends = tuple(max(self._ended[i] for i in places) - self._origin for places in stretch.places)
        after = [max(self._done[i] for i in waits) + later - self._origin for waits, later in stretch.leads]
        return Trial(begins, ends, sum(after) / len(after) if after else None, random, events)

    def _plan(self, number: int, time_ps: int) -> None:
        self._due.setdefault(time_ps, []).append(number)
        self._ask(time_ps)

    def _ask(self, time_ps: int) -> None:
        if time_ps not in self._asked:
            self._asked.add(time_ps)
            self.motion.wake(time_ps, self._late)

    # --- told by the motion ---

    def _received(self, flow: Any, now_ps: int) -> None:
        if self._receiver:
            self._finished(flow.index - self._base, now_ps)

    def _completed(self, flow: Any, now_ps: int) -> None:
        number = flow.index - self._base
        self._ended[number] = now_ps
        self._left -= 1
        if not self._receiver:
            self._finished(number, now_ps)
        self._ask(now_ps)

    def _finished(self, number: int, now_ps: int) -> None:
        assert self._todo is not None
        self._done[number] = now_ps
        for other in self._held.pop(number, ()):
            self._waiting[other] -= 1
            if not self._waiting[other]:
                self._plan(other, now_ps + self._todo.starts[other].after_ps)

    def _late(self, now_ps: int) -> None:
        self._asked.discard(now_ps)
        for number in sorted(self._due.pop(now_ps, ())):
            self._begin(number, now_ps)
        if not self._left:
            raise Halt

    def _begin(self, number: int, now_ps: int) -> None:
        """Start a flow on the ports it had in the run."""
        assert self._todo is not None
        plan = self._todo.starts[number].flight.plan
        self._begun[number] = now_ps
        ports = self.network.port_list
        own = attrs.evolve(
            plan,
            index=self._base + number,
            path=tuple(ports[p.index] for p in plan.path),
            back=tuple(ports[p.index] for p in plan.back),
        )
        self.motion.start_flow(self.network.build_flow(own, now_ps))
