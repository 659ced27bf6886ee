"""A ring of switches, one host on each: long paths and links shared by many pairs."""

from __future__ import annotations

import attrs

from wormhole_core import Graph, Stream, add_link, new_graph, optional, positive
from wormhole_core.errors import ConfigError

from ._build import DEFAULT_DELAY_PS, DEFAULT_RATE_BPS, add_switches, declare


@attrs.frozen(kw_only=True)
class RingConfig:
    """Options of `ring`."""

    hosts: int = positive(default=8)
    """At least 3: two switches make no ring."""
    host_rate_bps: int = positive(default=DEFAULT_RATE_BPS)
    ring_rate_bps: int | None = optional()
    """Rate of the links between switches; default: the hosts' rate."""
    delay_ps: int = positive(default=DEFAULT_DELAY_PS)
    """Propagation delay of each link."""


def build(config: RingConfig, rng: Stream) -> Graph:
    """Host links first, then switch i to switch i + 1 around the ring."""
    count = config.hosts
    if count < 3:
        raise ConfigError(f"topology 'ring': hosts = {count} cannot be built; a ring takes 3 or more")
    rate = config.ring_rate_bps or config.host_rate_bps
    graph = new_graph(count)
    switches = add_switches(graph, count, tier=1)
    for host in range(count):
        add_link(graph, host, switches[host], config.host_rate_bps, config.delay_ps)
    for number, switch in enumerate(switches):
        add_link(graph, switch, switches[(number + 1) % count], rate, config.delay_ps)
    bisection = min(count // 2 * config.host_rate_bps, 2 * rate)
    return declare(
        graph, "ring", diameter_hops=2 + count // 2, equal_paths=2 - count % 2, bisection_bps=bisection, notes=[]
    )
