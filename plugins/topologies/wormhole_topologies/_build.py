"""Steps shared by the topologies: hosts on a switch, the two-level fabric, and what a graph may declare."""

from __future__ import annotations

from wormhole_core import Graph, add_link, add_switch, check_graph
from wormhole_core.errors import ConfigError

GBPS = 10**9
DEFAULT_RATE_BPS = 100 * GBPS
DEFAULT_DELAY_PS = 1_000_000


def add_switches(graph: Graph, count: int, tier: int, **attributes: object) -> list[int]:
    """Ids of `count` new switches of one tier."""
    return [add_switch(graph, tier=tier, **attributes) for _ in range(count)]


def connect_all(graph: Graph, lower: list[int], upper: list[int], bundle: int, rate_bps: int, delay_ps: int) -> None:
    """`bundle` parallel links from each lower switch to each upper one, lower switch by lower switch."""
    for a in lower:
        for b in upper:
            for _ in range(bundle):
                add_link(graph, a, b, rate_bps, delay_ps)


def fabric_rate(
    owner: str, wanted_bps: int | None, oversubscription: float | None, below_bps: int, uplinks: int
) -> int:
    """Rate of one uplink of a switch with `below_bps` of host links below it, in bits per second.

    Given is the rate itself, or the oversubscription (host bandwidth below over fabric bandwidth
    above; 1 if neither is given). Raises ConfigError if both are given and contradict each other.
    """
    ratio = 1.0 if oversubscription is None else oversubscription
    derived = round(below_bps / (uplinks * ratio))
    if wanted_bps is None:
        if derived < 1:
            raise ConfigError(
                f"topology {owner!r}: oversubscription {ratio:g} leaves links of 0 bps; give a smaller one"
            )
        return derived
    if oversubscription is not None and abs(derived - wanted_bps) > 1:
        actual = below_bps / (uplinks * wanted_bps)
        raise ConfigError(
            f"topology {owner!r}: fabric_rate_bps {wanted_bps} means an oversubscription of {actual:g}, "
            f"not {ratio:g}; give only one of the two"
        )
    return wanted_bps


def declare(
    graph: Graph,
    owner: str,
    *,
    diameter_hops: int,
    equal_paths: int,
    bisection_bps: int | None = None,
    notes: list[str],
) -> Graph:
    """Attach what is true of the whole graph, check it, and return it.

    diameter_hops: links between the farthest hosts. equal_paths: shortest paths between any two
    hosts that far apart. bisection_bps: one way, between the first and the second half of the hosts.
    """
    graph.graph["diameter_hops"] = diameter_hops
    graph.graph["equal_paths"] = equal_paths
    if bisection_bps is not None:
        graph.graph["bisection_bps"] = bisection_bps
    graph.graph["notes"] = notes
    check_graph(graph, f"topology {owner!r}")
    return graph
