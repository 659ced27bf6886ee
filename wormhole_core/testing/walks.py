"""Seeded sequences of events for congestion control, and what an object answers to them.

Each signal has a random stream of its own, so that leaving one out changes nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..contracts.cca import Cca, CcaReceiver, Feedback, FlowInfo, HopRecord, LossKind
from ..rng import stream
from ..units import PS_PER_S

SIGNALS = frozenset({"marks", "delay", "loss", "telemetry"})
PHASE = 200
"""Events of calm, then as many of congestion, and so on."""
STORM = 100_000
"""Timer calls between two events that are surely too many."""


class Event(NamedTuple):
    """kind: "ack" or "loss". seq: acknowledged so far. ahead_bytes: in flight."""

    kind: str
    now_ps: int
    seq: int
    ahead_bytes: int
    rtt_ps: int
    marked: bool
    hops: tuple[HopRecord, ...]
    loss: str


class Answer(NamedTuple):
    """What the sender reads after a call, the timer relative to the walk's own clock."""

    kind: str
    now_ps: int
    window_bytes: int | None
    rate_bps: int | None
    timer_ps: int | None


@lru_cache(maxsize=64)
def walk(seed: int, steps: int, flow: FlowInfo, signals: frozenset[str] = SIGNALS) -> tuple[Event, ...]:
    """ACKs of one frame each from time 0; `signals` are those that change, the others stay calm."""
    rng = {name: stream(seed, "walk", name) for name in ("time", "marks", "delay", "loss", "telemetry")}
    frame_ps = flow.frame_bytes * 8 * PS_PER_S // flow.line_rate_bps
    now_ps, seq, stamp_ps, sent, queue = flow.base_rtt_ps, 0, 0, 0, 0
    events = []
    for step in range(steps):
        congested = (step // PHASE) % 2 == 1
        pause = 40 * flow.base_rtt_ps if rng["time"].below(100) == 0 else 0
        now_ps += frame_ps + rng["time"].below(2 * frame_ps) + pause
        ahead = rng["time"].below(max(1, flow.bdp_bytes // flow.payload_bytes)) * flow.payload_bytes
        # Draws are made whether or not they are used: each signal's stream then stays in step.
        marked = rng["marks"].below(3) == 0 and congested
        rise = (step % PHASE) * flow.base_rtt_ps // 2 + rng["delay"].below(flow.base_rtt_ps)
        lost, timeout = rng["loss"].below(60) == 0 and congested, rng["loss"].below(3) == 0
        busy, growth = rng["telemetry"].below(50), rng["telemetry"].below(3 * flow.frame_bytes)
        elapsed_ps = flow.base_rtt_ps // 8
        stamp_ps += elapsed_ps
        load = 50 + busy if congested and "telemetry" in signals else 50
        sent += flow.line_rate_bps * elapsed_ps * load // (100 * 8 * PS_PER_S)
        queue = queue + growth if congested and "telemetry" in signals else 0
        hops = (
            HopRecord(stamp_ps, sent, queue, flow.line_rate_bps),
            HopRecord(stamp_ps + 7, sent // 2, 0, flow.line_rate_bps),
        )
        rtt_ps = flow.base_rtt_ps + (rise if congested and "delay" in signals else 0)
        if lost and "loss" in signals:
            kind = LossKind.TIMEOUT if timeout else LossKind.NACK
            events.append(Event("loss", now_ps - 1, seq, ahead, 0, False, (), kind))
        seq += flow.payload_bytes
        events.append(Event("ack", now_ps, seq, ahead, rtt_ps, marked and "marks" in signals, hops, ""))
    return tuple(events)


class Drive:
    """One object (and its receiver) taken through events; usable piece by piece.

    shift_ps, shift_bytes: added to times and sequence numbers on the way in and taken off on the way out.
    port_shifts_ps: added to the clocks of hops on top, one per hop.
    """

    def __init__(
        self, cca: Cca, flow: FlowInfo, receiver: CcaReceiver | None = None, shift_ps: int = 0, shift_bytes: int = 0,
        port_shifts_ps: Sequence[int] = (0, 0),
    ) -> None:  # fmt: skip
        self.cca, self.flow = cca, flow
        self.receiver = cca.make_receiver() if receiver is None else receiver
        self.shift_ps, self.shift_bytes, self.port_shifts_ps = shift_ps, shift_bytes, port_shifts_ps
        self.telemetry = cca.telemetry == "int"
        self._fb = Feedback()

    def run(self, events: Iterable[Event]) -> list[Answer]:
        """Every answer to the events and to the timers between them."""
        return [answer for event in events for answer in self.step(event)]

    def step(self, event: Event) -> Iterator[Answer]:
        """Timers due before or at the event, then the event."""
        cca, now_ps = self.cca, event.now_ps + self.shift_ps
        yield from self.timers(now_ps)
        if event.kind == "loss":
            cca.on_loss(now_ps, self.flow.payload_bytes, event.loss)
        else:
            echo = event.marked if self.receiver is None else self.receiver.on_data(now_ps, event.marked)
            fb = self._fb
            fb.now_ps, fb.rtt_ps, fb.sent_ps = now_ps, event.rtt_ps, now_ps - event.rtt_ps
            fb.ack_seq = event.seq + self.shift_bytes
            fb.next_seq = fb.ack_seq + event.ahead_bytes
            fb.acked_bytes, fb.ecn_marked = self.flow.payload_bytes, echo
            fb.hops = tuple(
                hop._replace(ts_ps=hop.ts_ps + self.shift_ps + own)
                for hop, own in zip(event.hops, self.port_shifts_ps, strict=True)
            ) if self.telemetry else ()  # fmt: skip
            cca.on_ack(fb)
        yield self._answer(event.kind, now_ps)

    def timers(self, until_ps: int) -> Iterator[Answer]:
        """Fire what is due up to `until_ps` (on the shifted clock)."""
        fired = 0
        while (at_ps := self.cca.next_timer_ps(until_ps)) is not None and at_ps <= until_ps:
            self.cca.on_timer(at_ps)
            fired += 1
            if fired > STORM:
                raise AssertionError(f"expected on_timer to make progress; saw {fired} calls before {until_ps} ps")
            yield self._answer("timer", at_ps)

    def _answer(self, kind: str, now_ps: int) -> Answer:
        timer_ps = self.cca.next_timer_ps(now_ps)
        relative = None if timer_ps is None else timer_ps - self.shift_ps
        return Answer(kind, now_ps - self.shift_ps, self.cca.window_bytes, self.cca.rate_bps, relative)


def first_difference(a: Sequence[Any], b: Sequence[Any]) -> str | None:
    """Where two sequences of answers part, in words; None if they are equal."""
    for number, (one, other) in enumerate(zip(a, b, strict=False)):
        if one != other:
            return f"{other} in place of {one} at answer {number}"
    return None if len(a) == len(b) else f"{len(b)} answers in place of {len(a)}"


def is_plain(value: Any) -> bool:
    """Nested tuples of None, bool, int, float and str, and nothing else."""
    if type(value) is tuple:
        return all(is_plain(part) for part in value)
    return value is None or type(value) in (bool, int, float, str)
