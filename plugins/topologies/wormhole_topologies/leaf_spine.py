"""Leaf-spine: every leaf switch is joined to every spine switch."""

from __future__ import annotations

import attrs

from wormhole_core import Graph, Stream, add_link, new_graph, optional, positive
from wormhole_core.units import format_rate

from ._build import DEFAULT_DELAY_PS, DEFAULT_RATE_BPS, add_switches, connect_all, declare, fabric_rate


@attrs.frozen(kw_only=True)
class LeafSpineConfig:
    """Options of `leaf-spine`; host h is on leaf h // hosts_per_leaf."""

    leaves: int = positive(default=4)
    spines: int = positive(default=4)
    hosts_per_leaf: int = positive(default=8)
    bundle: int = positive(default=1)
    """Parallel links between a leaf and a spine."""
    host_rate_bps: int = positive(default=DEFAULT_RATE_BPS)
    fabric_rate_bps: int | None = optional()
    """Rate of one link between leaf and spine; derived from the oversubscription if not given."""
    oversubscription: float | None = optional()
    """Host bandwidth below a leaf over fabric bandwidth above it (a ratio); 1 if no rate is given."""
    delay_ps: int = positive(default=DEFAULT_DELAY_PS)
    """Propagation delay of each link."""


def build(config: LeafSpineConfig, rng: Stream) -> Graph:
    """Host links first, then leaf by leaf its links to each spine. Ids: hosts, leaves, spines."""
    below = config.hosts_per_leaf * config.host_rate_bps
    uplinks = config.spines * config.bundle
    rate = fabric_rate("leaf-spine", config.fabric_rate_bps, config.oversubscription, below, uplinks)
    graph = new_graph(config.leaves * config.hosts_per_leaf)
    leaves = add_switches(graph, config.leaves, tier=1)
    spines = add_switches(graph, config.spines, tier=2)
    for host in graph.graph["hosts"]:
        add_link(graph, host, leaves[host // config.hosts_per_leaf], config.host_rate_bps, config.delay_ps)
    connect_all(graph, leaves, spines, config.bundle, rate, config.delay_ps)

    bisection = config.leaves // 2 * min(below, uplinks * rate) if config.leaves % 2 == 0 else None
    one_leaf = config.leaves == 1
    return declare(
        graph, "leaf-spine", diameter_hops=2 if one_leaf else 4,
        equal_paths=1 if one_leaf else config.spines * config.bundle**2, bisection_bps=bisection,
        notes=[f"fabric links of {format_rate(rate)}, oversubscription {below / (uplinks * rate):.4g}"],
    )  # fmt: skip
