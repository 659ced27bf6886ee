"""Rail-optimised training cluster: GPU r of every server on leaf r, servers joined inside by an NVSwitch.

The layout is that of Wang et al., "Rail-only" (HOTI 2024, section 2) with spines: traffic between
equal ranks of two servers stays on its leaf, other traffic between servers crosses a spine, and
inside a server the NVSwitch is preferred. A GPU is a host of its own; hosts never forward.
"""

from __future__ import annotations

import attrs

from wormhole_core import Graph, Stream, add_link, new_graph, optional, positive
from wormhole_core.units import format_rate

from ._build import DEFAULT_RATE_BPS, GBPS, add_switches, connect_all, declare, fabric_rate


@attrs.frozen(kw_only=True)
class RailConfig:
    """Options of `rail`; host s * gpus_per_server + r is GPU r of server s."""

    servers: int = positive(default=4)
    gpus_per_server: int = positive(default=8)
    spines: int = positive(default=4)
    bundle: int = positive(default=1)
    """Parallel links between a leaf and a spine."""
    host_rate_bps: int = positive(default=DEFAULT_RATE_BPS)
    """Rate of each GPU's network port."""
    fabric_rate_bps: int | None = optional()
    """Rate of one link between leaf and spine; derived from the oversubscription if not given."""
    oversubscription: float | None = optional()
    """Host bandwidth below a leaf over fabric bandwidth above it (a ratio); 1 if no rate is given."""
    delay_ps: int = positive(default=500_000)
    """Propagation delay of each network link."""
    nvswitch: bool = True
    """Whether each server has an NVSwitch; without, its GPUs meet over the network."""
    nvlink_rate_bps: int = positive(default=2400 * GBPS)
    """Rate of each GPU's link to its NVSwitch (default: A100)."""
    nvlink_delay_ps: int = positive(default=25_000)


def build(config: RailConfig, rng: Stream) -> Graph:
    """Ids: hosts, NVSwitches, leaves, spines. Links: per host NVLink and network, then leaf by leaf."""
    gpus, servers = config.gpus_per_server, config.servers
    below, uplinks = servers * config.host_rate_bps, config.spines * config.bundle
    rate = fabric_rate("rail", config.fabric_rate_bps, config.oversubscription, below, uplinks)
    graph = new_graph(servers * gpus)
    inside = config.nvswitch and gpus > 1
    nvswitches = add_switches(graph, servers if inside else 0, tier=0, nvswitch=True)
    leaves = add_switches(graph, gpus, tier=1)
    spines = add_switches(graph, config.spines, tier=2)
    for host in range(servers * gpus):
        server, rail = divmod(host, gpus)
        graph.nodes[host]["server"] = server
        if inside:
            add_link(graph, host, nvswitches[server], config.nvlink_rate_bps, config.nvlink_delay_ps)
        add_link(graph, host, leaves[rail], config.host_rate_bps, config.delay_ps)
    connect_all(graph, leaves, spines, config.bundle, rate, config.delay_ps)

    over_spines = gpus > 1 and (servers > 1 or not inside)
    # Between the halves of the servers every rail is a star of its own: only the NICs count. Within
    # one server, or across a half server, more is true than one number says.
    bisection = servers // 2 * gpus * config.host_rate_bps if servers % 2 == 0 else None
    return declare(
        graph, "rail", diameter_hops=4 if over_spines else 2,
        equal_paths=config.spines * config.bundle**2 if over_spines else 1, bisection_bps=bisection,
        notes=[f"fabric links of {format_rate(rate)}, oversubscription {below / (uplinks * rate):.4g}"],
    )  # fmt: skip
