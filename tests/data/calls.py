"""A plugin that writes down in which order it is called; used by tests/test_hooks.py."""

import json
import os

from wormhole_core import (
    Cca,
    Component,
    Observer,
    Routing,
    Transfer,
    Workload,
    add_link,
    add_switch,
    hookimpl,
    new_graph,
)

SEEN = []


def seen(name):
    SEEN.append(name)


class Sender(Cca):
    def __init__(self, config, flow, rng):
        seen("Cca.build")
        self.window_bytes, self.rate_bps = flow.bdp_bytes, None

    def make_receiver(self):
        seen("Cca.make_receiver")

    def on_ack(self, fb):
        seen("Cca.on_ack")
        if "WORMHOLE_TEST_FAIL" in os.environ:
            raise RuntimeError("asked for")

    def next_timer_ps(self, now_ps):
        seen("Cca.next_timer_ps")

    def snapshot(self, now_ps, snd_una):
        return ()

    def restore(self, state, now_ps, snd_una):
        pass


def build_topology(config, rng):
    """Two hosts, two switches and two links between these: there is something to choose."""
    seen("topology.build")
    graph = new_graph(2)
    left, right = add_switch(graph), add_switch(graph)
    for a, b in ((0, left), (1, right), (left, right), (left, right)):
        add_link(graph, a, b, 100_000_000_000, 1_000_000)
    return graph


class OneFlow(Workload):
    def __init__(self, config, hosts, rng):
        seen("Workload.build")

    def total_items(self):
        seen("Workload.total_items")
        return 1

    def total_bytes(self):
        seen("Workload.total_bytes")
        return 20_000

    def advance(self, now_ps, done):
        seen("Workload.advance (done)" if done else "Workload.advance")
        return [] if done else [Transfer(id=0, src=0, dst=1, size_bytes=20_000)]


class First(Routing):
    def __init__(self, config, rng):
        seen("Routing.build")

    def choose(self, key, switch, links, now_ps, seq):
        seen("Routing.choose")
        return 0


class Watcher(Observer):
    def __init__(self, config, run):
        seen("Observer.build")

    def flow_started(self, now_ps, flow_index, transfer):
        seen("Observer.flow_started")

    def packet_sent(self, now_ps, flow_index, seq, size_bytes):
        seen("Observer.packet_sent")

    def flow_finished(self, record):
        seen("Observer.flow_finished")

    def close(self):
        seen("Observer.close")
        write()


def offer(build):
    return [Component(name="seen", build=build, summary="writes down its calls", traits={"per_flow": True})]


@hookimpl
def wormhole_ccas():
    seen("wormhole_ccas")
    return offer(Sender)


@hookimpl
def wormhole_topologies():
    seen("wormhole_topologies")
    return offer(build_topology)


@hookimpl
def wormhole_routings():
    seen("wormhole_routings")
    return offer(First)


@hookimpl
def wormhole_workloads():
    seen("wormhole_workloads")
    return offer(OneFlow)


@hookimpl
def wormhole_observers():
    seen("wormhole_observers")
    return offer(Watcher)


@hookimpl
def wormhole_partitioners():
    seen("wormhole_partitioners")
    return []


@hookimpl
def wormhole_memo_backends():
    seen("wormhole_memo_backends")
    return []


@hookimpl
def wormhole_fast_forward_policies():
    seen("wormhole_fast_forward_policies")
    return []


@hookimpl
def wormhole_commands(subparsers):
    seen("wormhole_commands")


@hookimpl
def wormhole_run_started(run):
    seen("wormhole_run_started")


@hookimpl
def wormhole_run_finished(run, result, error):
    seen("wormhole_run_finished" if error is None else "wormhole_run_finished (error)")
    write()


def write():
    with open(os.environ["WORMHOLE_TEST_CALLS"], "w", encoding="utf-8") as file:
        json.dump(SEEN, file)
