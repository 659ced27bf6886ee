"""What a fast-forward policy must do: skip what is steady, never what is not, never beyond what is known."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from ...contracts.forward import FastForwardPolicy, PartitionInfo, Sample, SkipPlan
from ...units import PS_PER_S
from ..subject import Skip, Subject
from ..walks import is_plain
from ._register import check

LINE_BPS = 100_000_000_000
BASE_RTT_PS = 8_000_000
FLOWS = 2
CLIMB_SAMPLES = 3000
DISTURBED_SAMPLES = 3000
HUGE_BYTES = 10**15


def partition_info(**changes: Any) -> PartitionInfo:
    """Two flows through one port of 100 Gbps."""
    info = PartitionInfo(
        flows=FLOWS, base_rtt_ps=BASE_RTT_PS, settling_ps=5 * BASE_RTT_PS, period_ps=None, declared=True,
        flow_ports=((0, 2), (1, 2)), port_rate_bps=(LINE_BPS,) * 3, payload_bytes=1000,
        line_rate_bps=(LINE_BPS,) * FLOWS, exchangeable=(0, 0),
    )  # fmt: skip
    return attrs.evolve(info, **changes)


INFOS = {
    "settling known": partition_info(),
    "settling unknown": partition_info(settling_ps=None, declared=False, has_dependents=False),
}


def build(subject: Subject, info: PartitionInfo) -> FastForwardPolicy:
    """A fresh policy for a partition."""
    return subject.build(info, subject.rng("policy"))


def samples(
    interval_ps: int, share: Callable[[int], float], queue: Callable[[int], int] = lambda number: 20_000,
    horizon_ps: int | None = None, start_ps: int = 5_000_000, disturbed: bool = False,
) -> Iterator[Sample]:  # fmt: skip
    """Samples of two equal flows; share(number): part of the line both have together in an interval."""
    now_ps, acked, busy_ps, number = start_ps, 0.0, 0.0, 0
    while True:
        rate = share(number) * LINE_BPS / FLOWS
        yield Sample(
            now_ps=now_ps, acked_bytes=(int(acked),) * FLOWS, rates_bps=(int(rate),) * FLOWS,
            queue_bytes=(0, 0, queue(number)), busy_ps=(int(busy_ps / 2), int(busy_ps / 2), int(busy_ps)),
            disturbed=disturbed, remaining_bytes=(HUGE_BYTES,) * FLOWS, horizon_ps=horizon_ps,
        )  # fmt: skip
        number += 1
        now_ps += interval_ps
        acked += rate * interval_ps / (8 * PS_PER_S)
        busy_ps += share(number) * interval_ps


def steady(number: int) -> float:
    """Nearly all of the line, always."""
    return 0.95


def _interval(subject: Subject, policy: FastForwardPolicy) -> int:
    interval_ps = policy.interval_ps()
    good = isinstance(interval_ps, int) and not isinstance(interval_ps, bool) and interval_ps > 0
    subject.expect(good, "interval_ps() to be a whole number above 0", repr(interval_ps))
    return interval_ps


def _sampling(subject: Subject) -> None:
    if subject.component.traits.get("never_skips", False):
        raise Skip("it says that it never skips")


def _first_plan(
    subject: Subject, policy: FastForwardPolicy, stream: Iterator[Sample], most: int
) -> tuple[int, Sample, SkipPlan] | None:
    """(number, sample, plan) of the first plan within `most` samples."""
    for number, sample in zip(range(most), stream, strict=False):
        plan = policy.observe(sample)
        if plan is not None:
            subject.expect(isinstance(plan, SkipPlan), "None or a SkipPlan", repr(plan))
            return number, sample, plan
    return None


@check("fast-forward")
def not_before_samples(subject: Subject) -> None:
    """The first sample, with nothing to compare it to, brings no plan; the interval is a positive time."""
    for name, info in INFOS.items():
        policy = build(subject, info)
        plan = policy.observe(next(samples(_interval(subject, policy), steady)))
        subject.expect(plan is None, f"None at the first sample ({name})", plan)


@check("fast-forward")
def steady_is_skipped(subject: Subject) -> str:
    """At constant rates and queues it sooner or later proposes a skip (unless it says that it never does)."""
    if subject.component.traits.get("never_skips", False):
        policy = build(subject, INFOS["settling known"])
        found = _first_plan(subject, policy, samples(_interval(subject, policy), steady), 2000)
        subject.expect(found is None, "no skip, as it says", found)
        return "never skips, as it says"
    most, told = int(subject.limit("samples")), []
    policy = build(subject, INFOS["settling known"])
    interval_ps = _interval(subject, policy)
    found = _first_plan(subject, policy, samples(interval_ps, steady), most)
    if found is None:
        subject.fail(f"a skip within {most} samples of constant rates", "none")
    told.append(f"after {found[0]} samples, {found[0] * interval_ps / BASE_RTT_PS:.0f} base RTTs")
    return ", ".join(told)


@check("fast-forward")
def within_the_horizon(subject: Subject) -> str:
    """A plan ends after now and never beyond the horizon; its rates are those of the line or less."""
    _sampling(subject)
    plans = 0
    for name, info in INFOS.items():
        for ahead in (1, 40, 4000, 100_000):
            policy = build(subject, info)
            interval_ps = _interval(subject, policy)
            moving = samples(interval_ps, steady)
            for number, sample in zip(range(3000), moving, strict=False):
                sample = attrs.evolve(sample, horizon_ps=sample.now_ps + ahead * BASE_RTT_PS)
                plan = policy.observe(sample)
                if plan is None:
                    continue
                plans += 1
                _sane(subject, plan, sample, f"{name}, sample {number}, horizon {ahead} base RTTs ahead")
                break
    return f"{plans} plans"


def _sane(subject: Subject, plan: SkipPlan, sample: Sample, where: str) -> None:
    horizon_ps = sample.horizon_ps
    good = isinstance(plan.until_ps, int) and plan.until_ps > sample.now_ps
    subject.expect(good, f"until_ps to be a whole number after now = {sample.now_ps} ({where})", repr(plan.until_ps))
    if horizon_ps is not None:
        subject.expect(plan.until_ps <= horizon_ps, f"until_ps of at most {horizon_ps} ({where})", plan.until_ps)
    subject.expect(len(plan.bytes_per_ps) == FLOWS, f"{FLOWS} rates ({where})", plan.bytes_per_ps)
    line = LINE_BPS / (8 * PS_PER_S)
    for rate in plan.bytes_per_ps:
        subject.expect(0 <= rate <= line * 1.001, f"rates from 0 to {line} B/ps ({where})", rate)
    subject.expect(0 <= plan.error_bound < 1, f"error_bound from 0 to 1 ({where})", plan.error_bound)


@check("fast-forward")
def rising_is_not_skipped(subject: Subject) -> None:
    """Rates that rise from sample to sample bring no plan."""
    _sampling(subject)
    for name, info in INFOS.items():
        policy = build(subject, info)
        interval_ps = _interval(subject, policy)
        # From a hundredth of the line to all of it, doubling within 20 base RTTs however often the policy looks.
        per_sample = min(0.5, interval_ps / (20 * BASE_RTT_PS))
        steps = math.ceil(math.log(90) / math.log1p(per_sample))
        fast = samples(interval_ps, functools.partial(_doubling, per_sample), _empty)
        found = _first_plan(subject, policy, fast, steps)
        subject.expect(found is None, f"None while rates rise fast ({name})", found)
        found = _first_plan(subject, build(subject, info), samples(interval_ps, _climbing, _empty), CLIMB_SAMPLES)
        subject.expect(found is None, f"None while rates rise slowly ({name})", found)


def _doubling(per_sample: float, number: int) -> float:
    return 0.01 * (1 + per_sample) ** number


def _climbing(number: int) -> float:
    """From a tenth of the line to nearly all of it, for longer than any window should be."""
    return 0.1 + 0.8 * number / CLIMB_SAMPLES


def _empty(number: int) -> int:
    return 0


@check("fast-forward")
def growing_queue_is_not_skipped(subject: Subject) -> None:
    """A queue that grows from sample to sample brings no plan."""
    _sampling(subject)
    most = int(subject.limit("growing_samples"))
    if not most:
        raise Skip("it does not look at queues: " + subject.overrides()["growing_samples"][1])
    for name, info in INFOS.items():
        policy = build(subject, info)
        interval_ps = _interval(subject, policy)
        growth = max(3000, interval_ps * LINE_BPS // (8 * PS_PER_S) // 4)  # a quarter of the line too much
        growing = samples(interval_ps, steady, functools.partial(operator.mul, growth))
        found = _first_plan(subject, policy, growing, most)
        subject.expect(found is None, f"None while a queue grows ({name})", found)


@check("fast-forward")
def disturbed_is_not_skipped(subject: Subject) -> None:
    """Samples that are disturbed (loss, pause, timer) bring no plan."""
    _sampling(subject)
    policy = build(subject, INFOS["settling known"])
    found = _first_plan(subject, policy, samples(_interval(subject, policy), steady, disturbed=True), DISTURBED_SAMPLES)
    subject.expect(found is None, "None while every sample is disturbed", found)


@check("fast-forward")
def snapshot_round_trip_of_a_policy(subject: Subject) -> None:
    """A restored policy, here or at another time, proposes the same skip at the same sample."""
    _sampling(subject)
    most = int(subject.limit("samples"))
    policy = build(subject, INFOS["settling known"])
    interval_ps = _interval(subject, policy)
    found = _first_plan(subject, policy, samples(interval_ps, steady), most)
    if found is None:
        raise Skip("no skip to compare")
    number = found[0]
    for cut in sorted({0, number // 3, number // 2, max(0, number - 1)}):
        for shift_ps in (0, PS_PER_S):
            stream = list(zip(range(number + 1), samples(interval_ps, steady), strict=False))
            original, copy = (build(subject, INFOS["settling known"]) for _ in range(2))
            for _, sample in stream[:cut]:
                original.observe(sample)
            state = original.snapshot()
            subject.expect(is_plain(state), "nested tuples of primitives", repr(state)[:200])
            last_ps = stream[cut - 1][1].now_ps if cut else stream[0][1].now_ps
            copy.restore(state, last_ps + shift_ps)
            for place, sample in stream[cut:]:
                moved = attrs.evolve(sample, now_ps=sample.now_ps + shift_ps)
                plans = original.observe(sample), copy.observe(moved)
                same = (plans[0] is None) == (plans[1] is None) and (
                    plans[0] is None
                    or plans[1] is None
                    or (plans[0].until_ps + shift_ps, plans[0].bytes_per_ps)
                    == (plans[1].until_ps, plans[1].bytes_per_ps)
                )
                subject.expect(same, f"{plans[0]} at sample {place}, restored at {cut}, {shift_ps} ps later", plans[1])
