"""Max-min fair shares over ports, recomputed only where something changed.

A share is one flow's claim: its rate is one number, and each port it touches spends `weight`
picoseconds per byte of it (frames one way, acknowledgements the other). A port is full when the sum of
weight x rate reaches 1. Shares are max-min fair in their rates: none can grow without taking from one
that has no more (progressive filling; Bertsekas and Gallager, Data Networks, section 6.5.2).

All numbers are integers in fixed point, so that a sum does not depend on its order: symmetric flows get
the same rate to the last bit and end in the same picosecond. This module knows no flows, no
topologies and no time other than what it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

WEIGHT_BITS = 40
"""Weights are picoseconds per byte times 2**40."""
RATE_BITS = 60
"""Rates are bytes per picosecond times 2**60; amounts are bytes times 2**60."""
FULL = 1 << (WEIGHT_BITS + RATE_BITS)
"""Sum of weight x rate at a port that never rests."""


class Bottleneck:
    """Something with limited time: an egress port. `index` orders those that fill up together."""

    __slots__ = ("index", "left", "open", "shares", "total")

    def __init__(self, index: int) -> None:
        self.index = index
        self.shares: dict[Share, int] = {}
        """Who uses it, and at which weight."""
        self.total = 0
        self.left = 0
        self.open = 0


class Share:
    """One claim. amount: bytes to move, times 2**RATE_BITS; owner: whatever the caller needs."""

    __slots__ = ("amount", "ends_ps", "fixed", "group", "moved", "owner", "rate", "settled_ps", "weights")

    def __init__(self, owner: Any, amount: int, now_ps: int) -> None:
        self.owner = owner
        self.amount = amount
        self.moved = 0
        self.rate = 0
        self.settled_ps = now_ps
        self.ends_ps = -1
        self.fixed = False
        self.weights: Sequence[tuple[Bottleneck, int]] = ()
        self.group: Group | None = None

    def attach(self, weights: Sequence[tuple[Bottleneck, int]]) -> None:
        """Claim these bottlenecks, each listed once, at weights of at least 1."""
        self.weights = weights
        for bottleneck, weight in weights:
            bottleneck.shares[self] = weight
            bottleneck.total += weight

    def detach(self) -> None:
        """Give all bottlenecks back."""
        for bottleneck, weight in self.weights:
            del bottleneck.shares[self]
            bottleneck.total -= weight

    def moved_by(self, now_ps: int) -> int:
        """How much is done, at the present rate."""
        return min(self.amount, self.moved + self.rate * (now_ps - self.settled_ps))

    def change_rate(self, rate: int, now_ps: int) -> None:
        """Go on at another rate from now; the end is rounded to the nearest picosecond."""
        if rate == self.rate:
            return
        self.moved = self.moved_by(now_ps)
        self.settled_ps = now_ps
        self.rate = rate
        self.ends_ps = now_ps + max(1, (2 * (self.amount - self.moved) + rate) // (2 * rate))


class Group:
    """Shares that hang together by common bottlenecks, until the next change to any of them."""

    __slots__ = ("alive", "ends_ps", "shares")

    def __init__(self, shares: list[Share]) -> None:
        self.alive = True
        self.shares = shares
        self.ends_ps = 0


def components(changed: Iterable[Bottleneck]) -> Iterator[tuple[list[Share], list[Bottleneck]]]:
    """Shares and bottlenecks connected with those that changed, one connected part at a time."""
    seen: set[Bottleneck] = set()
    known: set[Share] = set()
    for seed in changed:
        if seed in seen or not seed.shares:
            continue
        seen.add(seed)
        shares: list[Share] = []
        bottlenecks = [seed]
        for bottleneck in bottlenecks:
            for share in bottleneck.shares:
                if share not in known:
                    known.add(share)
                    shares.append(share)
                    for other, _ in share.weights:
                        if other not in seen:
                            seen.add(other)
                            bottlenecks.append(other)
        yield shares, bottlenecks


def fair_rates(shares: Iterable[Share], bottlenecks: Iterable[Bottleneck]) -> list[int]:
    """The max-min fair rate of each share of one component, in the order given.

    The bottleneck whose users can have least is full first; its users keep that rate, and what they
    use elsewhere is taken off there. Levels only rise, so outdated heap entries are too low and are
    put back when they surface.
    """
    order = list(shares)
    for share in order:
        share.fixed = False
    heap = []
    for bottleneck in bottlenecks:
        bottleneck.left = FULL
        bottleneck.open = bottleneck.total
        heap.append((FULL // bottleneck.total, bottleneck.index, bottleneck))
    heapify(heap)
    rates: dict[Share, int] = {}
    while len(rates) < len(order):
        level, index, bottleneck = heappop(heap)
        if not bottleneck.open:
            continue
        rate = bottleneck.left // bottleneck.open
        if rate > level:
            heappush(heap, (rate, index, bottleneck))
            continue
        for share in bottleneck.shares:
            if share.fixed:
                continue
            share.fixed = True
            rates[share] = rate
            for other, weight in share.weights:
                other.left -= weight * rate
                other.open -= weight
    return [rates[share] for share in order]


def reshare(changed: Iterable[Bottleneck], now_ps: int) -> list[Group]:
    """New rates for everything connected with what changed; the groups that this makes.

    Groups that its members belonged to are dead afterwards. A group's `ends_ps` is when its first
    share ends if nothing changes before.
    """
    groups = []
    for shares, bottlenecks in components(changed):
        group = Group(shares)
        for share, rate in zip(shares, fair_rates(shares, bottlenecks), strict=True):
            if share.group is not None:
                share.group.alive = False
            share.group = group
            share.change_rate(rate, now_ps)
        group.ends_ps = min(share.ends_ps for share in shares)
        groups.append(group)
    return groups
