"""Routings, partitioners and observers: `good`, and one for each check, named after it, that breaks it."""

import itertools

from wormhole_core import Component, NoConfig, Observer, Partitioner, Routing, hookimpl


class GoodRouting(Routing):
    """By flow and switch."""

    def __init__(self, config=None, rng=None):
        self.seed = rng.below(1000)

    def choose(self, key, switch, links, now_ps, seq):
        return (self.seed + key.flow_index + key.is_ack + switch) % links


class ValidChoice(GoodRouting):
    """False in place of the first link."""

    def choose(self, key, switch, links, now_ps, seq):
        return super().choose(key, switch, links, now_ps, seq) or False


class SameChoicesAgain(GoodRouting):
    """Every second object chooses otherwise at far-away switches."""

    numbers = itertools.count()

    def __init__(self, config=None, rng=None):
        super().__init__(config, rng)
        self.odd = next(self.numbers) % 2

    def choose(self, key, switch, links, now_ps, seq):
        return (super().choose(key, switch, links, now_ps, seq) + (self.odd and switch >= 100)) % links

    def snapshot(self):
        return (self.odd,)


class PerFlowKept(GoodRouting):
    """Every packet another way, although per_flow is promised."""

    def choose(self, key, switch, links, now_ps, seq):
        return (super().choose(key, switch, links, now_ps, seq) + seq // 1000) % links


class SnapshotSaysAll(GoodRouting):
    """In turn, and the turn is not in the snapshot."""

    def __init__(self, config=None, rng=None):
        super().__init__(config, rng)
        self.turn = 0

    def choose(self, key, switch, links, now_ps, seq):
        self.turn += 1
        return self.turn % links


ROUTINGS = {
    "good": (GoodRouting, True),
    "valid-choice": (ValidChoice, True),
    "same-choices-again": (SameChoicesAgain, True),
    "per-flow-kept": (PerFlowKept, True),
    "snapshot-says-all": (SnapshotSaysAll, False),
}


class GoodPartitioner(Partitioner):
    """By the smallest node."""

    def __init__(self, config=None):
        self.count = itertools.count()

    def resources(self, ports):
        return (("node", min(ports)[0]),)


class ResourcesAreNames(GoodPartitioner):
    """A resource with a new name each time."""

    def resources(self, ports):
        return [("asked", next(self.count))]


class OrderDoesNotMatter(GoodPartitioner):
    """By the node that happens to come first."""

    def resources(self, ports):
        return [("first", ports[0][0])]


class OnlyCoarsens(GoodPartitioner):
    """Takes the ports away."""

    def resources(self, ports):
        named = super().resources(ports)
        if isinstance(ports, list):
            ports.clear()
        return named


PARTITIONERS = {
    "good": GoodPartitioner,
    "resources-are-names": ResourcesAreNames,
    "order-does-not-matter": OrderDoesNotMatter,
    "only-coarsens": OnlyCoarsens,
}


class GoodObserver(Observer):
    """Counts flows."""

    def __init__(self, config, run):
        self.flows = 0

    def flow_finished(self, record):
        self.flows += 1


class ListensToEvents(GoodObserver):
    """A misspelt event."""

    def flow_finish(self, record):
        self.flows += 1


class ListensWithOtherArguments(GoodObserver):
    """An event with an argument too many."""

    def flow_started(self, now_ps, flow_index):
        self.flows += 1


class ChangesNothing(GoodObserver):
    """Writes into the record it is shown."""

    def flow_finished(self, record):
        object.__setattr__(record, "fct_ps", 1)


class ClosesQuietly(GoodObserver):
    """Can be closed once."""

    open = True

    def close(self):
        if not self.open:
            raise ValueError("closed already")
        self.open = False


class InManifest(GoodObserver):
    """Takes the plugins out of the manifest."""

    def __init__(self, config, run):
        super().__init__(config, run)
        run.manifest.get("plugins", {}).get("components", []).clear()


OBSERVERS = {
    "good": GoodObserver,
    "listens-to-events": ListensToEvents,
    "listens-to-events-arguments": ListensWithOtherArguments,
    "changes-nothing": ChangesNothing,
    "closes-quietly": ClosesQuietly,
    "in-manifest": InManifest,
}


def _of(name, build, **more):
    return Component(name=name, build=build, summary=build.__doc__, config=NoConfig, **more)


@hookimpl
def wormhole_routings():
    """All of them."""
    return [_of(name, build, traits={"per_flow": per_flow}) for name, (build, per_flow) in ROUTINGS.items()]


@hookimpl
def wormhole_partitioners():
    """All of them."""
    return [_of(name, build) for name, build in PARTITIONERS.items()]


@hookimpl
def wormhole_observers():
    """All of them."""
    return [_of(name, build) for name, build in OBSERVERS.items()]
