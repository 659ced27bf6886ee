"""Two switches joined by one link, hosts on either side: the smallest network with a shared bottleneck."""

from __future__ import annotations

import attrs

from wormhole_core import Graph, Stream, add_link, new_graph, positive

from ._build import DEFAULT_DELAY_PS, DEFAULT_RATE_BPS, add_switches, declare


@attrs.frozen(kw_only=True)
class DumbbellConfig:
    """Options of `dumbbell`."""

    hosts_per_side: int = positive(default=4)
    host_rate_bps: int = positive(default=DEFAULT_RATE_BPS)
    bottleneck_rate_bps: int = positive(default=DEFAULT_RATE_BPS)
    delay_ps: int = positive(default=DEFAULT_DELAY_PS)
    """Propagation delay of each host link."""
    bottleneck_delay_ps: int = positive(default=DEFAULT_DELAY_PS)


def build(config: DumbbellConfig, rng: Stream) -> Graph:
    """Hosts of the left side come first; the bottleneck is the last link."""
    side = config.hosts_per_side
    graph = new_graph(2 * side)
    switches = add_switches(graph, 2, tier=1)
    for host in range(2 * side):
        add_link(graph, host, switches[host // side], config.host_rate_bps, config.delay_ps)
    add_link(graph, switches[0], switches[1], config.bottleneck_rate_bps, config.bottleneck_delay_ps)
    bisection = min(side * config.host_rate_bps, config.bottleneck_rate_bps)
    return declare(graph, "dumbbell", diameter_hops=3, equal_paths=1, bisection_bps=bisection, notes=[])
