"""What congestion control must do on its own: bounds, clocks, snapshots, declared signals, timers, memory."""

from __future__ import annotations

import functools
import gc
import itertools
import time
import tracemalloc
from typing import Any

import attrs

from ...contracts.cca import Cca
from ...units import PS_PER_S
from ..doubles import FAST_LINK, SLOW_LINK
from ..subject import Skip, Subject
from ..walks import SIGNALS, Drive, Event, first_difference, is_plain, walk
from ._register import check

STEPS = 10_000
"""Length of the long walk."""
CUTS = (0, 1, 331, 950)
"""Where snapshots are taken in a walk of 1,200."""
CEILINGS = {"_bps": "rate_bps", "_bytes": "window_bytes", "_packets": "window_bytes"}


def build(subject: Subject, flow: Any = SLOW_LINK, name: object = "flow") -> Cca:
    """A fresh object for a flow, always with the same random stream."""
    return subject.build(flow, subject.rng(name))


@check("cca")
def bounds(subject: Subject) -> None:
    """Window and rate stay positive whole numbers below their ceilings, over 10,000 random events."""
    for flow, seed in ((SLOW_LINK, 1), (FAST_LINK, 2)):
        cca = build(subject, flow)
        ceilings = _ceilings(subject, flow)
        _within(subject, cca, ceilings, "fresh")
        drive = Drive(cca, flow)
        for event in walk(seed, STEPS if seed == 1 else 2000, flow):
            for answer in drive.step(event):
                _within(subject, cca, ceilings, answer)
        for hint in ("settling_ps", "period_ps"):
            value = getattr(cca, hint)()
            good = value is None or (_whole(value) and value >= 0)
            subject.expect(good, f"None or whole picoseconds from {hint}()", repr(value))
        moved = cca.scale(0.5, event.now_ps)
        subject.expect(isinstance(moved, bool), "True or False from scale()", repr(moved))
        _within(subject, cca, ceilings, "scale(0.5)")
        cca.scale(1000.0, event.now_ps)
        _within(subject, cca, ceilings, "scale(1000)")


def _ceilings(subject: Subject, flow: Any) -> dict[str, int]:
    """The line rate, and what options called max_... say of window and rate."""
    found = {"rate_bps": flow.line_rate_bps}
    for name, value in attrs.asdict(subject.config()).items():
        suffix = next((unit for unit in CEILINGS if name.endswith(unit)), None)
        about = any(word in name for word in ("window", "cwnd", "rate"))
        if name.startswith("max_") and suffix and about and isinstance(value, (int, float)):
            size = value * flow.payload_bytes if suffix == "_packets" else value
            target = CEILINGS[suffix]
            found[target] = min(found.get(target, int(size)), int(size))
    return found


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _within(subject: Subject, cca: Cca, ceilings: dict[str, int], after: object) -> None:
    window, rate = cca.window_bytes, cca.rate_bps
    if window is None and rate is None:
        subject.fail("a window, a rate or both", f"neither after {after}")
    for name, value in (("window_bytes", window), ("rate_bps", rate)):
        if value is None:
            continue
        if not _whole(value) or value <= 0:
            subject.fail(f"{name} to be None or a whole number above 0", f"{value!r} after {after}")
        if value > ceilings.get(name, value):
            subject.fail(f"{name} of at most {ceilings[name]}", f"{value} after {after}")


@check("cca")
def declared_signals(subject: Subject) -> str:
    """It reacts to what `reacts_to` declares and to nothing else."""
    declared = type(build(subject)).reacts_to
    subject.expect(declared <= SIGNALS, f"reacts_to within {sorted(SIGNALS)}", sorted(declared))
    if "telemetry" in declared:
        telemetry = build(subject).telemetry
        subject.expect(telemetry == "int", 'telemetry = "int", since it declares telemetry', repr(telemetry))
    answers = functools.cache(functools.partial(_answers, subject))
    for signal in sorted(SIGNALS):
        moved = any(
            answers(have, seed) != answers(have - {signal}, seed)
            for have, seed in itertools.product((frozenset({signal}), SIGNALS), (1, 2))
        )
        if signal in declared:
            subject.expect(moved, f"window or rate to react to {signal}, which reacts_to declares", "no difference")
        else:
            subject.expect(not moved, f"no reaction to {signal}, which reacts_to does not declare", "a reaction")
    return f"reacts to {', '.join(sorted(declared)) or 'nothing'}"


def _answers(subject: Subject, signals: frozenset[str], seed: int) -> list[Any]:
    """(time, window, rate) after each ACK."""
    answers = Drive(build(subject), SLOW_LINK).run(walk(seed, 800, SLOW_LINK, signals))
    return [(a.now_ps, a.window_bytes, a.rate_bps) for a in answers if a.kind == "ack"]


@check("cca")
def time_shift(subject: Subject) -> None:
    """The same events one second later, on other port clocks: the same answers."""
    events = walk(3, 1500, SLOW_LINK)
    here = Drive(build(subject), SLOW_LINK).run(events)
    there = Drive(build(subject), SLOW_LINK, shift_ps=PS_PER_S, port_shifts_ps=(-777, 5 * PS_PER_S)).run(events)
    seen = first_difference(here, there)
    subject.expect(seen is None, "the same answers to the same events 1 s later", seen)


@check("cca")
def snapshot_is_plain(subject: Subject) -> None:
    """Snapshots are nested tuples of primitives, and taking one changes nothing."""
    events = walk(4, 1000, SLOW_LINK)
    watched, left = Drive(build(subject), SLOW_LINK), Drive(build(subject), SLOW_LINK)
    seen: list[Any] = []
    for event in events:
        seen += watched.step(event)
        for state in _states(watched, event.now_ps, event.seq):
            subject.expect(is_plain(state), "nested tuples of None, bool, int, float and str", repr(state)[:200])
    difference = first_difference(left.run(events), seen)
    subject.expect(difference is None, "snapshot() to change nothing", difference)


@check("cca")
def snapshot_round_trip(subject: Subject) -> None:
    """Restored into a fresh object, here or at another time and place: the same answers from then on."""
    events = walk(5, 1200, SLOW_LINK)
    for cut, (shift_ps, shift_bytes) in itertools.product(CUTS, ((0, 0), (PS_PER_S, 123_000), (-100_000, 10**9))):
        before, after = events[:cut], events[cut:]
        now_ps, una = (before[-1].now_ps, before[-1].seq) if before else (0, 0)
        original = Drive(build(subject), SLOW_LINK)
        original.run(before)
        copy = Drive(build(subject), SLOW_LINK, shift_ps=shift_ps, shift_bytes=shift_bytes)
        states = _states(original, now_ps, una)
        copy.cca.restore(states[0], now_ps + shift_ps, una + shift_bytes)
        if copy.receiver is not None:
            copy.receiver.restore(states[1], now_ps + shift_ps)
        where = f"a snapshot after {cut} events, moved by {shift_ps} ps and {shift_bytes} B"
        again = _states(copy, now_ps + shift_ps, una + shift_bytes)
        subject.expect(again == states, f"the same snapshot again from {where}", f"{again} in place of {states}")
        seen = first_difference(original.run(after), copy.run(after))
        subject.expect(seen is None, f"the same answers from {where}", seen)


def _states(drive: Drive, now_ps: int, una: int) -> tuple[Any, ...]:
    own = drive.cca.snapshot(now_ps, una)
    return (own,) if drive.receiver is None else (own, drive.receiver.snapshot(now_ps))


@check("cca")
def flows_are_apart(subject: Subject) -> None:
    """Two flows do not influence each other: interleaved as apart."""
    walks: list[tuple[Event, ...]] = [walk(6, 800, SLOW_LINK), walk(7, 800, FAST_LINK)]
    flows = (SLOW_LINK, FAST_LINK)
    apart = [Drive(build(subject, f, n), f).run(w) for n, (f, w) in enumerate(zip(flows, walks, strict=True))]
    drives = [Drive(build(subject, flow, number), flow) for number, flow in enumerate(flows)]
    mixed: list[list[Any]] = [[], []]
    for pair in itertools.zip_longest(*walks):
        for number, event in enumerate(pair):
            if event is not None:
                mixed[number] += drives[number].step(event)
    for number in range(2):
        seen = first_difference(apart[number], mixed[number])
        subject.expect(seen is None, f"flow {number} to answer as if it were alone", seen)


@check("cca")
def timers_progress(subject: Subject) -> str:
    """next_timer_ps lies in the future, on_timer makes progress, and silence is not filled with timers."""
    cca = build(subject)
    if type(cca).next_timer_ps is Cca.next_timer_ps:
        raise Skip("it has no timer")
    drive = Drive(cca, SLOW_LINK)
    for event in walk(8, 3000, SLOW_LINK):
        for answer in drive.step(event):
            good = answer.timer_ps is None or (_whole(answer.timer_ps) and answer.timer_ps > answer.now_ps)
            subject.expect(good, "next_timer_ps in the future or None", answer)
    rtts = 2000
    limit = subject.limit("timers_per_rtt") * rtts
    fired = sum(1 for _ in itertools.islice(drive.timers(event.now_ps + rtts * SLOW_LINK.base_rtt_ps), int(limit) + 1))
    subject.expect(fired <= limit, f"at most {limit:g} timer calls in {rtts} base RTTs of silence", f"{fired} or more")
    return f"{fired} timer calls in {rtts} base RTTs of silence"


@check("cca")
def memory_bound(subject: Subject) -> str:
    """From the 2,000th to the 10,000th ACK memory does not grow."""
    events = walk(9, STEPS, SLOW_LINK)
    drive = Drive(build(subject), SLOW_LINK)

    def take(first: int, end: int) -> int:
        for number in range(first, end):
            for _ in drive.step(events[number]):
                pass
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    take(0, 2000)
    already = tracemalloc.is_tracing()
    if not already:
        tracemalloc.start()
    try:
        before = take(0, 0)
        growth = take(2000, len(events)) - before
    finally:
        if not already:
            tracemalloc.stop()
    limit = subject.limit("memory_growth_bytes")
    subject.expect(growth <= limit, f"memory to grow by at most {limit:g} B over 8,000 ACKs", f"{growth} B")
    return f"{growth} B over 8,000 ACKs"


@check("cca")
def cost_of_on_ack(subject: Subject) -> str:
    """What one on_ack costs; reported, never enforced."""
    events = [event for event in walk(10, 3000, SLOW_LINK) if event.kind == "ack"]
    try:
        drive = Drive(build(subject), SLOW_LINK)
        started = time.perf_counter()
        for event in events:
            for _ in drive.step(event):
                pass
        whole = time.perf_counter() - started
    except Exception as error:
        raise Skip("on_ack raises: the other checks tell") from error
    idle = _IdleDrive(build(subject), SLOW_LINK)
    started = time.perf_counter()
    for event in events:
        for _ in idle.step(event):
            pass
    each_us = max(0.0, whole - (time.perf_counter() - started)) / len(events) * 1e6
    budget = subject.limit("on_ack_us")
    return f"{each_us:.1f} us each, {'above' if each_us > budget else 'within'} the budget of {budget:g} us"


class _Idle:
    """Looks like the object that is measured and does nothing: what the walk itself costs."""

    def __init__(self, cca: Cca) -> None:
        self.window_bytes, self.rate_bps, self.telemetry = cca.window_bytes, cca.rate_bps, cca.telemetry

    def on_ack(self, fb: Any) -> None:
        """Nothing."""

    def next_timer_ps(self, now_ps: int) -> None:
        """None."""


class _IdleDrive(Drive):
    """A drive whose object does nothing."""

    def __init__(self, cca: Cca, flow: Any) -> None:
        super().__init__(cca, flow)
        self.cca = _Idle(cca)  # type: ignore[assignment]
