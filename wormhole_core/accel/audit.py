"""The audit of a finished run: how far its makespan is from packet mode's, with an interval.

A replay that is re-run from its own start proves nothing. So busy periods of the chain that led to
the end of the run, as long as they hang together (`Train`), are simulated again packet by packet with
new random streams (`resimulation.py`), at least once for every kind there is, within a budget counted
in events of the run. What was taken there less what was taken in the run is the error; where a long
train was simulated in part, the rest is taken to go on as its busy periods of the same kind. Trains
that draw random numbers are simulated several times, because packet mode would have been one draw.
Chains that ended almost as late are looked at as well: packet mode ends with the last of all.

The interval comes from some hundred draws of all that is not known (the mean of a kind from few
trials, the luck of each occurrence), from the predictive distribution of a normal sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import StalledError
from ..rng import stream
from .busy import BusyPeriods, Causes, Link, Unit
from .estimate import CONFIDENCE, Part, error_of
from .key import fresh_episode, in_canonical_order
from .resimulation import Resimulation
from .trains import Kind, Train

ENOUGH = 12
"""Trials of trains that draw random numbers; more would hardly narrow the interval."""
ADVISED = 6
"""Trials of such trains to ask for where not even the fewest were possible."""
NEAR_END = 0.02
"""Chains that ended within this share of the makespan before its end are looked at too."""
MOST_CHAINS = 64
UNKNOWN_SHARE = 0.005
"""Share of the makespan that may go without a sample."""
EVENTS_PER_HOP = 1.3
MARGIN = 1.2
"""Of what is asked for over what was estimated to be needed."""
OVERRUN = 2.0


class Audit:
    """Audits one run. fraction: events it may take, as a share of the run's own.

    make(seed): a `Resimulation` of the run's network.
    """

    def __init__(
        self,
        busy: BusyPeriods,
        make: Callable[[int], Resimulation],
        *,
        fraction: float,
        events: int,
        frame_hops: int,
        seed: int,
    ) -> None:
        self.busy, self.make, self.seed = busy, make, seed
        self.run_events = events
        self.budget = int(fraction * events)
        self.per_hop = events / frame_hops if frame_hops else EVENTS_PER_HOP
        self.spent = 0
        self.kinds: dict[Any, Kind] = {}
        self.first: list[Kind] = []
        """Those on the critical chain."""
        self._simulation: Resimulation | None = None
        self._given_up = False
        self._keys: dict[int, Any] = {}
        self._costs: dict[int, int] = {}

    # --- the whole of it ---

    def run(self, untouched: bool) -> dict[str, Any]:
        """The record for result.json. untouched: nothing was skipped, shortened or matched approximately."""
        units = self.busy.close()
        if not units:
            return self.refused("no flow finished")
        if untouched and not self.busy.lucky:
            return self._record(0.0, (0.0, 0.0), "Audit: nothing was estimated, the makespan is packet mode's.")
        self.causes = Causes(self.busy)
        chains = self._chains(units)
        trains = [self._trains(chain) for chain in chains]
        self.first = list({id(kind): kind for _, kind in trains[0]}.values())
        try:
            self._simulate(self.first)
            self._simulate([k for k in self.kinds.values() if k not in self.first])
        except StalledError as error:
            return self.refused("simulating a busy period again stalled: " + str(error).splitlines()[0])
        makespan = max(u.end_ps for u in units)
        begin = min(u.start_ps for u in units)
        missing = self._missing(trains, chains, makespan - begin)
        if missing:
            return self.refused(missing)
        return self._estimate(trains, makespan, begin)

    def _chains(self, units: Sequence[Unit]) -> list[list[Link]]:
        ends = sorted(((u.end_ps, -u.number, u) for u in units), key=lambda e: e[:2], reverse=True)
        last, begin = ends[0][0], min(u.start_ps for u in units)
        near = [u for end, _, u in ends[: MOST_CHAINS * 4] if last - end <= NEAR_END * (last - begin)]
        chains: list[list[Link]] = []
        passed: set[int] = set()
        for unit in near:
            if unit.number not in passed and len(chains) < MOST_CHAINS:
                chains.append(self.causes.chain(unit))
                passed.update(link.unit.number for link in chains[-1])
        return chains

    # --- kinds ---

    def _trains(self, chain: list[Link]) -> list[tuple[Train, Kind]]:
        found = []
        begin = 0
        for i in range(1, len(chain) + 1):
            if i == len(chain) or chain[i].unit.start_ps >= chain[i - 1].unit.end_ps:
                train = Train(tuple(chain[begin:i]), chain[i] if i < len(chain) else None)
                found.append((train, self._kind(train)))
                begin = i
        return found

    def _kind(self, train: Train) -> Kind:
        keys = [self._key(link.unit) for link in train.links]
        classes = list(zip(keys, [None, *keys[:-1]], strict=True))
        after = [*train.links[1:], train.following]
        waits = [
            None if link is None else (self._places(before.unit, link), link.wait_ps)
            for before, link in zip(train.links, after, strict=True)
        ]
        kind = self.kinds.setdefault((tuple(keys), tuple(waits)), Kind(train, classes))
        kind.count += 1
        kind.exact = kind.exact and all(link.unit.exact for link in train.links)
        return kind

    def _key(self, unit: Unit) -> Any:
        known = self._keys.get(unit.number)
        if known is None:
            flights: Any = in_canonical_order(unit.flights)  # type: ignore[arg-type]
            starts = tuple(f.start_ps - unit.start_ps for f in flights)
            known = fresh_episode(flights, b"").key, starts if any(starts) else None
            self._keys[unit.number] = known
        return known

    @staticmethod
    def _places(unit: Unit, link: Link) -> tuple[int, ...]:
        triggers = {f.index for f in link.triggers}
        flights = in_canonical_order(unit.flights)  # type: ignore[arg-type]
        return tuple(i for i, f in enumerate(flights) if f.index in triggers)

    # --- simulating ---

    def _cost(self, kind: Kind, length: int) -> int:
        """Events that simulating so many of its busy periods will take, about."""
        return sum(self._unit_cost(link.unit) for link in kind.train.links[:length])

    def _unit_cost(self, unit: Unit) -> int:
        known = self._costs.get(unit.number)
        if known is None:
            hops = 0
            for flight in unit.flights:
                frames = -(-flight.plan.transfer.size_bytes // flight.plan.info.payload_bytes)
                hops += frames * (len(flight.plan.path) + len(flight.plan.back))
            known = self._costs[unit.number] = int(hops * self.per_hop) + 1
        return known

    def _simulate(self, kinds: list[Kind]) -> None:
        """The shortest trials of all kinds, longer ones as far as the budget goes, then repetitions."""
        kinds = [k for k in kinds if not k.exact and not k.trials]
        kinds.sort(key=lambda k: -k.count * k.train.span_ps)
        least = sum(self._cost(k, k.length) for k in kinds)
        left = self.budget - self.spent - least
        for kind in kinds:
            more = self._cost(kind, len(kind.classes)) - self._cost(kind, kind.length)
            if more <= left:
                left -= more
                kind.length = len(kind.classes)
        for kind in kinds:
            self._try(kind)
        for number in range(1, ENOUGH):
            for kind in kinds:
                if len(kind.trials) == number and not kind.settled:
                    self._try(kind)

    def _try(self, kind: Kind) -> None:
        expected = kind.trials[0].events if kind.trials else self._cost(kind, kind.length)
        if self._given_up or self.spent + expected > self.budget:
            return
        if self._simulation is None:
            self._simulation = self.make(stream(self.seed, "audit").bits() >> 1)
        env = self._simulation.motion.env
        before = env.executed
        trial = self._simulation.run(kind.stretch(self.causes), max(int(OVERRUN * expected), self.budget - self.spent))
        self.spent += env.executed - before
        if trial is None:
            self._given_up = True
            return
        kind.trials.append(trial)

    # --- estimating ---

    def _missing(self, trains: list[list[tuple[Train, Kind]]], chains: list[list[Link]], span_ps: int) -> str:
        """Why there is no estimate; "" if there is."""
        unknown = sum(t.span_ps for t, kind in trains[0] if not kind.known)
        if unknown > UNKNOWN_SHARE * span_ps:
            share = unknown / max(1, sum(t.span_ps for t, _ in trains[0]))
            return f"{share:.0%} of the time on the critical chain has too few samples"
        last = chains[0][-1].unit.end_ps
        for number, parts in enumerate(trains[1:], 1):
            lag = last - chains[number][-1].unit.end_ps
            if lag <= NEAR_END / 4 * span_ps and any(not k.known for _, k in parts):
                return "what ended almost as late has too few samples"
        return ""

    def _estimate(self, trains: list[list[tuple[Train, Kind]]], makespan: int, begin: int) -> dict[str, Any]:
        pools = self._pools()
        parts = [self._parts(chain, pools) for chain in trains if all(k.known for _, k in chain) or chain is trains[0]]
        middle, low, high = error_of(makespan, begin, parts, stream(self.seed, "audit", "draws"))
        text = (
            f"Audit: the makespan is {middle:+.3%} off packet mode's ({low:+.3%} to {high:+.3%} with {CONFIDENCE:.0%} "
            f"confidence), from {self.samples} busy periods simulated again."
        )
        return self._record(middle, (low, high), text)

    def _pools(self) -> dict[Any, list[float]]:
        """Periods by class of busy period, from all trials."""
        pools: dict[Any, list[float]] = {}
        for kind in self.kinds.values():
            for trial in kind.trials:
                for i, c in enumerate(kind.classes[: kind.length]):
                    period = trial.period_ps(i)
                    if period is not None:
                        pools.setdefault(c, []).append(period)
                    pools.setdefault((c, "end"), []).append(trial.ends_ps[i] - trial.begins_ps[i])
        return pools

    def _parts(self, chain: list[tuple[Train, Kind]], pools: dict[Any, list[float]]) -> list[Part]:
        """A chain's time as a sum of things known and drawn."""
        fixed = float(chain[0][0].begin_ps)
        counts: dict[Any, int] = {}
        samples: dict[Any, list[float]] = {}
        for train, kind in chain:
            if kind.exact or not kind.known:
                fixed += train.span_ps
                continue
            values = [kind.value_ps(t) for t in kind.trials]
            if kind.settled:
                fixed += values[0]
            else:
                counts[id(kind)] = counts.get(id(kind), 0) + 1
                samples[id(kind)] = values
            for i in range(kind.length, len(kind.classes)):
                c = kind.classes[i]
                if i + 1 == len(kind.classes) and train.following is None:
                    c = (c, "end")
                counts[c] = counts.get(c, 0) + 1
                samples[c] = pools[c]
        return [Part(None, [fixed], 1), *(Part(key, samples[key], n) for key, n in counts.items())]

    # --- the record ---

    @property
    def samples(self) -> int:
        """Busy periods simulated again."""
        return sum(len(k.trials) * k.length for k in self.kinds.values())

    def _record(
        self, error: float | None, interval: tuple[float, float] | None, text: str, needed: int | None = None
    ) -> dict[str, Any]:
        simulated = {key for k in self.kinds.values() if k.trials for key, _ in k.classes[: k.length]}
        on_chain = {key for k in self.first for key, _ in k.classes}
        return {
            "estimated": error is not None,
            "makespan_error": None if error is None else round(error, 7),
            "interval": None if interval is None else list(interval),
            "confidence": CONFIDENCE,
            "samples": self.samples,
            "entries": len(simulated),
            "entries_on_chain": len(on_chain),
            "events": self.spent,
            "budget": self.budget,
            "needed": needed,
            "text": text,
        }

    def refused(self, why: str) -> dict[str, Any]:
        """The record of an audit that gives no number, and why."""
        if all(kind.known for kind in self.kinds.values()):
            return self._record(None, None, f"Audit: not estimated, {why}.")
        percent = self._percent(MARGIN * sum(self._needed(kind) for kind in self.kinds.values()))
        text = f"Audit: not estimated, {why}; --audit {percent}% would do, as far as one can tell."
        return self._record(None, None, text, -(-percent * self.run_events // 100))

    def _needed(self, kind: Kind) -> int:
        """Events that enough trials of a kind take, about."""
        if kind.exact:
            return 0
        if kind.trials:
            times = ADVISED if kind.trials[0].random and not kind.settled else len(kind.trials)
            return times * max(t.events for t in kind.trials)
        return self._cost(kind, kind.length) * (ADVISED if kind.drew else 1)

    def _percent(self, events: float) -> int:
        """So many events as a share of the run's, rounded up to two digits."""
        percent = 100 * events / max(1, self.run_events)
        unit = 10 ** max(0, int(math.log10(max(1.0, percent))) - 1)
        return math.ceil(percent / unit) * unit
