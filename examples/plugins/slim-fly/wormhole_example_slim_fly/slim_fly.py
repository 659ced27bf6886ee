"""Slim Fly: a network of diameter 2 from McKay-Miller-Siran graphs (Besta and Hoefler, SC 2014).

For an odd prime q = 4w + d, d = 1 or -1, there are 2 q^2 routers, (0, x, y) and (1, m, c) with x, y, m, c
counted modulo q. With generator sets X and X' made of powers of a primitive root (section II-B):

(1) (0, x, y) - (0, x, y')  if y - y' is in X
(2) (1, m, c) - (1, m, c')  if c - c' is in X'
(3) (0, x, y) - (1, m, c)   if y = m x + c

Each router has (3q - d) / 2 links to others and, balanced, half as many hosts (rounded up). q = 5 gives
the Hoffman-Singleton graph: 50 routers with 7 links, the most that diameter 2 allows.
"""

from __future__ import annotations

import attrs

from wormhole_core import Graph, Stream, add_link, add_switch, check_graph, new_graph, optional, positive
from wormhole_core.errors import ConfigError

MOST = 64
"""Largest order taken: 8,192 routers."""


@attrs.frozen(kw_only=True)
class SlimFlyConfig:
    """Options of `slim-fly`."""

    order: int = positive(default=5)
    """q, an odd prime: 2 q^2 routers."""
    hosts_per_router: int | None = optional()
    """Hosts on each router; default half its links to other routers, rounded up."""
    rate_bps: int = positive(default=100_000_000_000)
    delay_ps: int = positive(default=500_000)
    """Propagation delay of each link."""


def primitive_root(q: int) -> int:
    """The smallest number whose powers give all of 1 .. q - 1 modulo the prime q."""
    return next(g for g in range(1, q) if len({pow(g, i, q) for i in range(q - 1)}) == q - 1)


def generator_sets(q: int) -> tuple[frozenset[int], frozenset[int]]:
    """X and X' for an odd prime q; both hold the negative of each of their members."""
    root = primitive_root(q)
    if q % 4 == 1:
        exponents, others = [*range(0, q - 2, 2)], [*range(1, q - 1, 2)]
    else:
        w = (q + 1) // 4
        exponents = [*range(0, 2 * w - 1, 2), *range(2 * w - 1, 4 * w - 2, 2)]
        others = [*range(1, 2 * w, 2), *range(2 * w, 4 * w - 1, 2)]
    return frozenset(pow(root, i, q) for i in exponents), frozenset(pow(root, i, q) for i in others)


def build(config: SlimFlyConfig, rng: Stream) -> Graph:
    """Hosts first, router by router; routers (0, x, y), then (1, m, c). Raises ConfigError for other orders."""
    q = config.order
    usable = [n for n in range(3, MOST) if all(n % d for d in range(2, n))]
    if q not in usable:
        raise ConfigError(
            f"topology 'slim-fly': order must be an odd prime: {', '.join(map(str, usable[:6]))}, ..., "
            f"{usable[-1]}; got {q}"
        )
    links = (3 * q - (1 if q % 4 == 1 else -1)) // 2
    per_router = config.hosts_per_router if config.hosts_per_router is not None else (links + 1) // 2
    graph = new_graph(2 * q * q * per_router)
    routers = [add_switch(graph) for _ in range(2 * q * q)]
    for host in range(len(routers) * per_router):
        add_link(graph, host, routers[host // per_router], config.rate_bps, config.delay_ps)
    first = [[routers[x * q + y] for y in range(q)] for x in range(q)]
    second = [[routers[q * q + m * q + c] for c in range(q)] for m in range(q)]
    for rows, differences in zip((first, second), generator_sets(q), strict=True):
        for row in rows:
            for a in range(q):
                for b in range(a + 1, q):
                    if b - a in differences:
                        add_link(graph, row[a], row[b], config.rate_bps, config.delay_ps)
    for x in range(q):
        for m in range(q):
            for c in range(q):
                add_link(graph, first[x][(m * x + c) % q], second[m][c], config.rate_bps, config.delay_ps)
    graph.graph["diameter_hops"] = 4
    graph.graph["notes"] = (f"slim-fly: {len(routers)} routers with {links} links to others, {per_router} hosts each",)
    check_graph(graph, "topology 'slim-fly'")
    return graph
