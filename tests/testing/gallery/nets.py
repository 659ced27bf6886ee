"""Topologies: `good`, and one for each check, named after it, that breaks it."""

import itertools

import attrs

from wormhole_core import Component, add_link, add_switch, hookimpl, new_graph, positive
from wormhole_core.errors import ConfigError

RATE_BPS, DELAY_PS = 25 * 10**9, 1_000_000
NUMBERS = itertools.count()


@attrs.frozen(kw_only=True)
class Config:
    """Options of them all."""

    hosts: int = positive(default=4)


def star(hosts):
    """All hosts on one switch."""
    graph = new_graph(hosts)
    switch = add_switch(graph)
    for host in range(hosts):
        add_link(graph, host, switch, RATE_BPS, DELAY_PS)
    return graph


def good(config, rng):
    graph = star(config.hosts)
    graph.graph.update(diameter_hops=2, equal_paths=1, bisection_bps=config.hosts // 2 * RATE_BPS)
    return graph


def connected(config, rng):
    """A switch that nothing leads to."""
    graph = star(config.hosts)
    add_switch(graph)
    return graph


def attributes(config, rng):
    """A tier that is no number."""
    graph = star(config.hosts)
    graph.nodes[config.hosts]["tier"] = "top"
    return graph


def same_graph_again(config, rng):
    """A note that is another one each time."""
    graph = star(config.hosts)
    graph.graph["notes"] = [f"graph number {next(NUMBERS)}"]
    return graph


def sizes_asked_for(config, rng):
    """Odd numbers are rounded up."""
    return star(config.hosts + config.hosts % 2)


def sizes_asked_for_silently(config, rng):
    """Refuses odd numbers and does not say what it takes."""
    if config.hosts % 2:
        raise ConfigError("this cannot be built")
    return star(config.hosts)


def every_pair_routed(config, rng):
    """Two switches that only a host joins, hosts in turn on the one and the other."""
    graph = new_graph(config.hosts)
    switches = [add_switch(graph), add_switch(graph)]
    for host in range(config.hosts):
        add_link(graph, host, switches[host % 2], RATE_BPS, DELAY_PS)
    add_link(graph, 0, switches[1], RATE_BPS, DELAY_PS)
    return graph


def declared_properties(config, rng):
    """A diameter that is not its own."""
    graph = good(config, rng)
    graph.graph["diameter_hops"] = 3
    return graph


def large_build(config, rng):
    """No more than a thousand hosts, whatever is asked for."""
    return star(min(config.hosts, 1000))


@hookimpl
def wormhole_topologies():
    """All of them."""
    return COMPONENTS


COMPONENTS = [
    Component(name=build.__name__.replace("_", "-"), build=build, summary=build.__doc__ or "a star", config=Config)
    for build in (
        good, connected, attributes, same_graph_again, sizes_asked_for, sizes_asked_for_silently, every_pair_routed,
        declared_properties, large_build,
    )
]  # fmt: skip
