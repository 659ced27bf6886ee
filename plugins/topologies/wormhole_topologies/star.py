"""All hosts on one switch: the network in which only the end links can be the bottleneck."""

from __future__ import annotations

import attrs

from wormhole_core import Graph, Stream, add_link, add_switch, new_graph, positive

from ._build import DEFAULT_DELAY_PS, DEFAULT_RATE_BPS, declare


@attrs.frozen(kw_only=True)
class StarConfig:
    """Options of `star`."""

    hosts: int = positive(default=8)
    rate_bps: int = positive(default=DEFAULT_RATE_BPS)
    delay_ps: int = positive(default=DEFAULT_DELAY_PS)
    """Propagation delay of each link."""


def build(config: StarConfig, rng: Stream) -> Graph:
    """Host i is link i; the switch has the last id."""
    graph = new_graph(config.hosts)
    switch = add_switch(graph)
    for host in range(config.hosts):
        add_link(graph, host, switch, config.rate_bps, config.delay_ps)
    bisection = config.hosts // 2 * config.rate_bps
    return declare(graph, "star", diameter_hops=2, equal_paths=1, bisection_bps=bisection, notes=[])
