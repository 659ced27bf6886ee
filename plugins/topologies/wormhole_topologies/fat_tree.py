"""Fat trees of equal k-port switches, in two or three tiers.

Three tiers follow Al-Fares, Loukissas and Vahdat (SIGCOMM 2008, section 3): k pods of k/2 edge and
k/2 aggregation switches, (k/2)**2 cores, k**3/4 hosts; core j is joined to aggregation switch
j // (k/2) of every pod. Two tiers: k edge and k/2 top switches, k**2/2 hosts. An oversubscription of o
keeps the hosts and leaves 1/o of each edge switch's uplinks, and with them of the switches above.
"""

from __future__ import annotations

import attrs

from wormhole_core import Graph, Stream, add_link, new_graph, optional, positive
from wormhole_core.errors import ConfigError

from ._build import DEFAULT_DELAY_PS, DEFAULT_RATE_BPS, add_switches, connect_all, declare

DEFAULT_K = 4


@attrs.frozen(kw_only=True)
class FatTreeConfig:
    """Options of `fat-tree`."""

    k: int | None = optional()
    """Ports per switch, even; derived: the smallest that holds `hosts`, or 4."""
    tiers: int = attrs.field(default=3)
    hosts: int | None = optional()
    """Hosts wanted; the ports left over at the end stay empty. Default: all ports have one."""
    oversubscription: int = positive(default=1)
    """Host bandwidth of an edge switch over its uplink bandwidth at equal rates; divides k/2."""
    host_rate_bps: int = positive(default=DEFAULT_RATE_BPS)
    fabric_rate_bps: int | None = optional()
    """Rate of every link between switches; default: the hosts' rate."""
    delay_ps: int = positive(default=DEFAULT_DELAY_PS)
    """Propagation delay of each link."""

    @tiers.validator
    def _known_tiers(self, _attribute: object, value: int) -> None:
        if value not in (2, 3):
            raise ValueError(f"tiers must be 2 or 3, got {value!r}")

    @k.validator
    def _even(self, _attribute: object, value: int | None) -> None:
        if value is not None and (value < 2 or value % 2):
            raise ValueError(f"k must be an even number of ports, at least 2, got {value!r}")


def capacity(k: int, tiers: int) -> int:
    """Hosts of a full fat tree."""
    return k * (k // 2) ** (tiers - 1)


def build(config: FatTreeConfig, rng: Stream) -> Graph:
    """Ids: hosts, edge switches, aggregation switches, cores. Links: hosts, edges up, aggregations up."""
    k, hosts = _size(config)
    half = k // 2
    if half % config.oversubscription:
        fits = ", ".join(str(o) for o in range(1, half + 1) if half % o == 0)
        raise ConfigError(
            f"topology 'fat-tree': oversubscription must divide k/2 = {half}, got {config.oversubscription}; "
            f"with k = {k} these exist: {fits}"
        )
    up = half // config.oversubscription
    rate = config.fabric_rate_bps or config.host_rate_bps
    graph = new_graph(hosts)
    edges = add_switches(graph, k * half if config.tiers == 3 else k, tier=1)
    upper = add_switches(graph, k * up if config.tiers == 3 else up, tier=2)
    cores = add_switches(graph, up * half, tier=3) if config.tiers == 3 else []
    for host in range(hosts):
        add_link(graph, host, edges[host // half], config.host_rate_bps, config.delay_ps)
    if config.tiers == 2:
        connect_all(graph, edges, upper, 1, rate, config.delay_ps)
    else:
        for pod in range(k):
            below, above = edges[pod * half : (pod + 1) * half], upper[pod * up : (pod + 1) * up]
            connect_all(graph, below, above, 1, rate, config.delay_ps)
        for number, switch in enumerate(upper):
            first = number % up * half
            connect_all(graph, [switch], cores[first : first + half], 1, rate, config.delay_ps)
    return _declare(graph, config, k, up, rate)


def _size(config: FatTreeConfig) -> tuple[int, int]:
    """(k, hosts), or a ConfigError that says which sizes exist."""
    k, wanted = config.k, config.hosts
    if k is None:
        k = 2 if wanted is not None else DEFAULT_K
        while wanted is not None and capacity(k, config.tiers) < wanted:
            k += 2
    full = capacity(k, config.tiers)
    if wanted is None:
        wanted = full
    if not 2 <= wanted <= full:
        fit = k
        while capacity(fit, config.tiers) < wanted:
            fit += 2
        way_out = f"k = {fit} takes up to {capacity(fit, config.tiers)}" if wanted > full else "ask for more"
        raise ConfigError(
            f"topology 'fat-tree': hosts = {wanted} cannot be built with k = {k} and {config.tiers} tiers, "
            f"which take 2 to {full} hosts; {way_out}"
        )
    return k, wanted


def _declare(graph: Graph, config: FatTreeConfig, k: int, up: int, rate_bps: int) -> Graph:
    half, hosts = k // 2, len(graph.graph["hosts"])
    full = capacity(k, config.tiers)
    notes = [f"fat tree of {k}-port switches, {config.tiers} tiers, oversubscription {config.oversubscription}"]
    if hosts < full:
        notes.append(f"{full - hosts} of {full} host ports are empty, those at the end")
    if hosts <= half:
        diameter, paths = 2, 1
    elif config.tiers == 2 or hosts <= half * half:
        diameter, paths = 4, up
    else:
        diameter, paths = 6, up * half
    edges = k * half if config.tiers == 3 else k
    bisection = min(hosts // 2 * config.host_rate_bps, edges // 2 * up * rate_bps) if hosts == full and k > 2 else None
    return declare(graph, "fat-tree", diameter_hops=diameter, equal_paths=paths, bisection_bps=bisection, notes=notes)
