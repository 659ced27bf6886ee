"""Fast-forward policies: `good`, and one for each check, named after it, that breaks it."""

from wormhole_core import Component, FastForwardPolicy, NoConfig, SkipPlan, hookimpl

WINDOW = 30
LONGEST_RTTS = 500


class Good(FastForwardPolicy):
    """Skips when bytes per interval and queues were the same for thirty samples."""

    def __init__(self, config, partition, rng):
        self.info = partition
        self.last = None
        self.same = 0

    def interval_ps(self):
        return self.info.base_rtt_ps

    def observe(self, sample):
        now = (sample.now_ps, sample.acked_bytes, sample.rates_bps, sample.queue_bytes)
        last, self.last = self.last, now
        if last is None:
            return self.first(sample)
        elapsed_ps = sample.now_ps - last[0]
        rates = [(new - old) / elapsed_ps for new, old in zip(sample.acked_bytes, last[1], strict=True)]
        calm = self.calm(sample, last)
        self.same = self.same + 1 if calm else 0
        if self.same < WINDOW:
            return None
        return self.plan(sample, rates)

    def first(self, sample):
        return None

    def calm(self, sample, last):
        return not sample.disturbed and last[2] == sample.rates_bps and last[3] == sample.queue_bytes

    def plan(self, sample, rates):
        until_ps = sample.now_ps + LONGEST_RTTS * self.info.base_rtt_ps
        if sample.horizon_ps is not None:
            until_ps = min(until_ps, sample.horizon_ps)
        return SkipPlan(until_ps=until_ps, bytes_per_ps=tuple(rates)) if until_ps > sample.now_ps else None

    def resumed(self, sample):
        self.last, self.same = None, 0

    def snapshot(self):
        return (self.same, None if self.last is None else self.last[1:])

    def restore(self, state, now_ps):
        self.same, rest = state
        self.last = None if rest is None else (now_ps, *rest)


class NotBeforeSamples(Good):
    """A plan at the very first sample, if there is a queue."""

    def first(self, sample):
        if sample.disturbed or not any(sample.queue_bytes):
            return None
        return self.plan(sample, [rate / 8e12 for rate in sample.rates_bps])


class SteadyIsSkipped(Good):
    """Never sure."""

    def plan(self, sample, rates):
        return None


class WithinTheHorizon(Good):
    """Does not look at the horizon."""

    def plan(self, sample, rates):
        return SkipPlan(until_ps=sample.now_ps + 500 * self.info.base_rtt_ps, bytes_per_ps=tuple(rates))


class Rising(Good):
    """Does not look at rates."""

    def calm(self, sample, last):
        return not sample.disturbed and last[3] == sample.queue_bytes


class Growing(Good):
    """Does not look at queues."""

    def calm(self, sample, last):
        return not sample.disturbed and last[2] == sample.rates_bps


class Disturbed(Good):
    """Does not look at disturbances."""

    def calm(self, sample, last):
        return last[2] == sample.rates_bps and last[3] == sample.queue_bytes


class Forgets(Good):
    """Counts from the beginning when restored."""

    def restore(self, state, now_ps):
        super().restore(state, now_ps)
        self.same = 0


class Halves(Good):
    """Skips at half the speed, whatever queues do below 100 kB."""

    def calm(self, sample, last):
        return not sample.disturbed and last[2] == sample.rates_bps and max(sample.queue_bytes) < 100_000

    def plan(self, sample, rates):
        return super().plan(sample, [rate / 2 for rate in rates])


@hookimpl
def wormhole_fast_forward_policies():
    """All of them."""
    return COMPONENTS


COMPONENTS = [
    Component(name=name, build=build, summary=build.__doc__, config=NoConfig)
    for name, build in {
        "good": Good, "not-before-samples": NotBeforeSamples, "steady-is-skipped": SteadyIsSkipped,
        "within-the-horizon": WithinTheHorizon, "rising-is-not-skipped": Rising,
        "growing-queue-is-not-skipped": Growing, "disturbed-is-not-skipped": Disturbed,
        "snapshot-round-trip-of-a-policy": Forgets, "equals-packet-mode": Halves,
    }.items()
]  # fmt: skip
