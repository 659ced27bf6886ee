"""Congestion control: `good`, and one for each check, named after it, that breaks it."""

import os
import random
import time

import attrs

from wormhole_core import Cca, Component, NoConfig, between, hookimpl, optional


@attrs.frozen(kw_only=True)
class GoodConfig:
    """Options of the good one."""

    gain: float = between(0.0, 1.0, default=0.5)
    """Part of the rate a mark takes away."""
    recovery_ps: int = attrs.field(default=30_000_000, validator=attrs.validators.gt(0))
    max_rate_bps: int | None = optional()


class Good(Cca):
    """Halves its rate at a mark, at most once per base RTT; a timer takes it back to the line rate."""

    __slots__ = ("_at_ps", "_base_rtt_ps", "_config", "_cut_ps", "_line_bps", "rng")
    reacts_to = frozenset({"marks"})

    def __init__(self, config, flow, rng):
        self._config = config if isinstance(config, GoodConfig) else GoodConfig()
        self._line_bps = min(flow.line_rate_bps, self._config.max_rate_bps or flow.line_rate_bps)
        self._base_rtt_ps = flow.base_rtt_ps
        self._at_ps = self._cut_ps = None
        self.rng = rng
        self.rate_bps = self._line_bps
        self.window_bytes = max(1, 4 * flow.bdp_bytes)

    def on_ack(self, fb):
        if fb.ecn_marked and (self._cut_ps is None or fb.now_ps - self._cut_ps >= self._base_rtt_ps):
            self.rate_bps = max(1_000_000, int(self.rate_bps * (1 - self._config.gain)))
            self._cut_ps = fb.now_ps
            self._at_ps = fb.now_ps + self._config.recovery_ps

    def next_timer_ps(self, now_ps):
        return self._at_ps

    def on_timer(self, now_ps):
        self.rate_bps = self._line_bps
        self._at_ps = None

    def snapshot(self, now_ps, snd_una):
        relative = [None if at is None else at - now_ps for at in (self._at_ps, self._cut_ps)]
        return (self.rate_bps, *relative)

    def restore(self, state, now_ps, snd_una):
        self.rate_bps, *relative = state
        self._at_ps, self._cut_ps = (None if at is None else at + now_ps for at in relative)


class Bounds(Good):
    """A window that is no whole number."""

    def __init__(self, config, flow, rng):
        super().__init__(config, flow, rng)
        self.window_bytes = self.window_bytes + 0.5


class AboveTheCeiling(Good):
    """A rate above its option max_rate_bps."""

    def __init__(self, config, flow, rng):
        super().__init__(config, flow, rng)
        self._line_bps = self.rate_bps = flow.line_rate_bps


class DeclaredSignals(Good):
    """Reacts to loss and does not say so."""

    def on_loss(self, now_ps, lost_bytes, kind):
        self.rate_bps = max(1_000_000, self.rate_bps // 2)


class SaysMore(Good):
    """Says that it reacts to delay and does not."""

    reacts_to = frozenset({"marks", "delay"})


class TimeShift(Good):
    """Recovers on a fixed raster of the clock, not some time after the cut."""

    def on_ack(self, fb):
        super().on_ack(fb)
        if self._at_ps is not None:
            self._at_ps = (fb.now_ps // 30_000_007 + 1) * 30_000_007


class SnapshotIsPlain(Good):
    """A list inside its snapshot."""

    def snapshot(self, now_ps, snd_una):
        rate, *rest = super().snapshot(now_ps, snd_una)
        return (rate, rest)

    def restore(self, state, now_ps, snd_una):
        super().restore((state[0], *state[1]), now_ps, snd_una)


class SnapshotRoundTrip(Good):
    """Forgets when it cut last."""

    def restore(self, state, now_ps, snd_una):
        super().restore(state, now_ps, snd_una)
        self._cut_ps = None


class FlowsAreApart(Good):
    """Recovers to the line rate of the flow that was built last."""

    line_bps = 0

    def __init__(self, config, flow, rng):
        super().__init__(config, flow, rng)
        FlowsAreApart.line_bps = flow.line_rate_bps

    def on_timer(self, now_ps):
        super().on_timer(now_ps)
        self.rate_bps = FlowsAreApart.line_bps


class TimersProgress(Good):
    """Wants its timer at the very instant of a mark."""

    def on_ack(self, fb):
        super().on_ack(fb)
        if fb.ecn_marked:
            self._at_ps = fb.now_ps


class MemoryBound(Good):
    """Remembers every ACK."""

    def __init__(self, config, flow, rng):
        super().__init__(config, flow, rng)
        self.seen = []

    def on_ack(self, fb):
        super().on_ack(fb)
        self.seen.append((fb.now_ps, fb.ack_seq))


class UsesALinkAlone(Good):
    """One packet per round trip."""

    def __init__(self, config, flow, rng):
        super().__init__(config, flow, rng)
        self.window_bytes = flow.payload_bytes


class SharesFairly(Good):
    """Some flows are lucky."""

    def __init__(self, config, flow, rng):
        super().__init__(config, flow, rng)
        self._line_bps = self.rate_bps = flow.line_rate_bps // (1 if rng.uniform() < 0.5 else 20)

    def snapshot(self, now_ps, snd_una):
        return (self._line_bps, *super().snapshot(now_ps, snd_una))

    def restore(self, state, now_ps, snd_una):
        self._line_bps = state[0]
        super().restore(state[1:], now_ps, snd_una)


class Clock(Good):
    """Looks at the clock."""

    def on_ack(self, fb):
        time.perf_counter()
        super().on_ack(fb)


class Randomness(Good):
    """Draws from the global generator."""

    def on_ack(self, fb):
        random.random()
        super().on_ack(fb)


class Environment(Good):
    """Reads an environment variable, and hides the failure."""

    def on_ack(self, fb):
        try:
            os.environ.get("WORMHOLE_GALLERY")
        except AssertionError:
            pass
        super().on_ack(fb)


@attrs.define(kw_only=True)
class Changeable:
    """Not frozen."""

    gain: float = 0.5
    """Part of the rate a mark takes away."""


@attrs.frozen(kw_only=True)
class Unitless:
    """No unit at the end of a name."""

    recovery_time: int = 30


@attrs.frozen(kw_only=True)
class Untyped:
    """An option that takes anything."""

    gain: object = 0.5


def _of(name, build, config=GoodConfig, **more):
    return Component(name=name, build=build, summary=(build.__doc__ or name).splitlines()[0], config=config, **more)


@hookimpl
def wormhole_ccas():
    """All of them."""
    return COMPONENTS


COMPONENTS = [
    _of("good", Good),
    _of("plain", Good, NoConfig),
    _of("bounds", Bounds),
    _of("bounds-ceiling", AboveTheCeiling),
    _of("declared-signals", DeclaredSignals),
    _of("declared-signals-too-many", SaysMore),
    _of("time-shift", TimeShift),
    _of("snapshot-is-plain", SnapshotIsPlain),
    _of("snapshot-round-trip", SnapshotRoundTrip),
    _of("flows-are-apart", FlowsAreApart),
    _of("timers-progress", TimersProgress),
    _of("memory-bound", MemoryBound),
    _of("uses-a-link-alone", UsesALinkAlone),
    _of("uses-a-link-alone-openly", UsesALinkAlone, traits={"limits": {"link_use": (0.05, "one packet per RTT")}}),
    _of("shares-fairly", SharesFairly),
    _of("repeats-itself-clock", Clock),
    _of("repeats-itself-randomness", Randomness),
    _of("repeats-itself-environment", Environment),
    _of("config-class", Good, Changeable),
    _of("config-class-unit", Good, Unitless),
    _of("bad-options", Good, Untyped),
]
