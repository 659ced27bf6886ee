"""Synthetic samples for the fast-forward policies: flows that fill one port at given rates."""

from __future__ import annotations

from collections.abc import Callable

from wormhole_core import FastForwardPolicy, PartitionInfo, Sample, SkipPlan

RTT_PS = 4_000_000
LINE_BPS = 100_000_000_000
LINE_BYTES_PER_PS = LINE_BPS / 8e12
PER_RTT = LINE_BPS * RTT_PS // 8_000_000_000_000
PAYLOAD = 1000


def info(flows: int = 2, **changes) -> PartitionInfo:
    """`flows` flows from NICs 1.. into port 0; settled after 5 RTTs."""
    values = dict(
        flows=flows, base_rtt_ps=RTT_PS, settling_ps=5 * RTT_PS, period_ps=None, declared=True,
        flow_ports=tuple((i + 1, 0) for i in range(flows)), port_rate_bps=(LINE_BPS,) * (flows + 1),
        payload_bytes=PAYLOAD, line_rate_bps=(LINE_BPS,) * flows, exchangeable=(0,) * flows,
    )  # fmt: skip
    return PartitionInfo(**{**values, **changes})


class Feed:
    """Drives a policy: `gain(flow, k)` bytes are acknowledged in interval k (counted while it lives)."""

    def __init__(
        self, policy: FastForwardPolicy, partition: PartitionInfo, gain: Callable[[int, int], int], *,
        busy: float = 0.98, queue: Callable[[int], int] = lambda k: 0,
        disturbed: Callable[[int], bool] = lambda k: False, rate: Callable[[int, int], int] | None = None,
        horizon_ps: int | None = None, size: int = 10**9,
    ) -> None:  # fmt: skip
        self.policy, self.partition, self.gain = policy, partition, gain
        self.busy, self.queue, self.disturbed, self.rate = busy, queue, disturbed, rate
        self.horizon_ps, self.size = horizon_ps, size
        self.now_ps = self.k = self.lived_ps = 0
        self.acked = [0] * partition.flows

    def sample(self) -> Sample:
        """The next sample, one interval on."""
        n = self.partition.flows
        interval = self.policy.interval_ps()
        self.now_ps += interval
        self.lived_ps += interval
        for i in range(n):
            self.acked[i] += self.gain(i, self.k)
        rates = tuple(self.rate(i, self.k) if self.rate else LINE_BPS // n for i in range(n))
        disturbed = self.disturbed(self.k)
        self.k += 1
        return self.state(rates, disturbed)

    def state(self, rates: tuple[int, ...] = (), disturbed: bool = False) -> Sample:
        """The present as a sample."""
        n = self.partition.flows
        share = self.lived_ps // n
        return Sample(
            now_ps=self.now_ps, acked_bytes=tuple(self.acked), rates_bps=rates,
            queue_bytes=(self.queue(self.k),) + (0,) * n, busy_ps=(int(self.busy * self.lived_ps),) + (share,) * n,
            disturbed=disturbed, remaining_bytes=tuple(self.size - a for a in self.acked), horizon_ps=self.horizon_ps,
        )  # fmt: skip

    def until_plan(self, limit: int = 300) -> SkipPlan | None:
        """The first plan within `limit` samples."""
        for _ in range(limit):
            plan = self.policy.observe(self.sample())
            if plan is not None:
                return plan
        return None

    def skip(self, plan: SkipPlan, until_ps: int | None = None) -> int:
        """Carry a plan out, to until_ps at the latest; its length."""
        end = plan.until_ps if until_ps is None else min(until_ps, plan.until_ps)
        length = end - self.now_ps
        for i, rate in enumerate(plan.bytes_per_ps):
            self.acked[i] += int(rate * length)
        self.now_ps = end
        self.policy.resumed(self.state())
        return length


def even(flows: int = 2, share: float = 0.95) -> Callable[[int, int], int]:
    """Every flow the same, all the time."""
    return lambda i, k: int(PER_RTT * share) // flows
