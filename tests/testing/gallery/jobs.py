"""Workloads: `good`, and one for each check, named after it, that breaks it."""

import attrs

from wormhole_core import Component, Transfer, Workload, hookimpl, positive
from wormhole_core.errors import ConfigError


@attrs.frozen(kw_only=True)
class Config:
    """Options of them all."""

    size_bytes: int = positive(default=5000)
    rounds: int = positive(default=2)


class Good(Workload):
    """Each host sends to the next one, in rounds; a host goes on when its own transfer is done."""

    def __init__(self, config, hosts, rng):
        self.config, self.hosts = config, hosts
        self.started = False

    def advance(self, now_ps, done):
        if not self.started:
            self.started = True
            return (self.transfer(0, rank) for rank in range(len(self.hosts)))
        return [self.transfer(number + 1, rank) for number, rank in done if number + 1 < self.config.rounds]

    def transfer(self, number, rank):
        peer = self.hosts[(rank + 1) % len(self.hosts)]
        return Transfer(id=(number, rank), src=self.hosts[rank], dst=peer, size_bytes=self.size(number, rank))

    def size(self, number, rank):
        return self.config.size_bytes

    def expected_bytes(self, host):
        return (self.config.rounds * self.config.size_bytes,) * 2

    def total_items(self):
        return self.config.rounds * len(self.hosts)


class NumbersOfHosts(Good):
    """Does not take three hosts, and does not say what it takes."""

    def __init__(self, config, hosts, rng):
        super().__init__(config, hosts, rng)
        if len(hosts) == 3:
            raise ConfigError("not like this")


class TransfersAreValid(Good):
    """Two transfers with one id."""

    def transfer(self, number, rank):
        return attrs.evolve(super().transfer(number, rank), id=(number, rank - (rank == 1 and number == 1)))


class Terminates(Good):
    """More transfers than it states."""

    def total_items(self):
        return super().total_items() - 1


class TerminatesNever(Good):
    """Goes on for ever."""

    def advance(self, now_ps, done):
        if not self.started:
            return super().advance(now_ps, done)
        return [self.transfer(number + 1, rank) for number, rank in done]


class AnyOrder(Good):
    """Whoever is told of first gets one byte more."""

    def advance(self, now_ps, done):
        items = list(super().advance(now_ps, done))
        if done and items:
            items[0] = attrs.evolve(items[0], size_bytes=items[0].size_bytes + 1)
        return items

    def expected_bytes(self, host):
        return None


class BytesPerHost(Good):
    """States the volume of one round."""

    def expected_bytes(self, host):
        return (self.config.size_bytes,) * 2


class IsLazy(Good):
    """Builds everything at once before it hands out anything."""

    def advance(self, now_ps, done):
        if not self.started:
            rounds = range(self.config.rounds)
            self.all = [self.transfer(number, rank) for number in rounds for rank in range(len(self.hosts))]
        return super().advance(now_ps, done)


class Relabelling(Good):
    """Hosts with large numbers send more."""

    def size(self, number, rank):
        return self.config.size_bytes + (self.hosts[rank] > 500)


@hookimpl
def wormhole_workloads():
    """All of them."""
    return COMPONENTS


COMPONENTS = [
    Component(
        name=name, build=build, summary=build.__doc__.splitlines()[0], config=Config,
        traits={"limits": {"transfers": (2000, "so that endless is soon seen")}} if build is TerminatesNever else {},
    )
    for name, build in {
        "good": Good, "numbers-of-hosts": NumbersOfHosts, "transfers-are-valid": TransfersAreValid,
        "terminates": Terminates, "terminates-never": TerminatesNever, "any-order-of-completion": AnyOrder,
        "bytes-per-host": BytesPerHost, "is-lazy": IsLazy, "relabelling": Relabelling,
    }.items()
]  # fmt: skip
