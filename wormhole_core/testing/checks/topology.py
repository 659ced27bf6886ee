"""What a topology must be: connected, labelled, repeatable, of the size asked for, as it declares itself."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import networkx as nx

from ...contracts.topology import Graph, check_graph
from ...errors import ConfigError
from ..subject import Skip, Subject
from ._register import check

SIZES = (2, 3, 4, 8, 13, 16, 24)
DECLARED = ("diameter_hops", "equal_paths", "bisection_bps")
MOST_HOSTS_FOR_PATHS = 256


def build(subject: Subject, **more: Any) -> Graph:
    """A graph, always with the same random stream."""
    return subject.build(subject.rng("topology"), **more)


@check("topology")
def connected(subject: Subject) -> str:
    """At least two hosts, each with a link; no self loops; every node can be reached."""
    graph = build(subject)
    subject.expect(isinstance(graph, nx.MultiGraph), "a networkx.MultiGraph", type(graph).__name__)
    _contract(subject, graph)
    reached = nx.node_connected_component(graph, graph.graph["hosts"][0])
    lost = [node for node in graph if node not in reached]
    subject.expect(not lost, "all nodes to be connected", f"node {lost[:1]} and {len(lost) - 1} others apart")
    return f"{len(graph.graph['hosts'])} hosts, {graph.number_of_edges()} links"


def _contract(subject: Subject, graph: Graph) -> None:
    try:
        check_graph(graph, subject.owner)
    except ConfigError as error:
        raise AssertionError(
            f"{subject.owner}: expected the promises of contracts.topology kept; saw {error}"
        ) from None


@check("topology")
def attributes(subject: Subject) -> None:
    """Attributes are there, integers and positive; link indices run from 0; both directions are one link."""
    graph = build(subject)
    for node, data in graph.nodes(data=True):
        subject.expect(type(node) is int, "node ids that are whole numbers", repr(node))
        for name in ("buffer_bytes", "tier", "server"):
            value, least = data.get(name, 1), 1 if name == "buffer_bytes" else 0
            good = isinstance(value, int) and not isinstance(value, bool) and value >= least
            subject.expect(good, f"{name} of node {node} to be a whole number of at least {least}", repr(value))
        if data.get("nvswitch"):
            subject.expect(data.get("kind") == "switch", "nvswitch on switches only", f"on node {node}")
    links = list(graph.edges(data=True))
    for a, b, data in links:
        for name in ("rate_bps", "delay_ps"):
            value = data.get(name)
            good = isinstance(value, int) and not isinstance(value, bool) and value > 0
            subject.expect(good, f"{name} of link {a}-{b} to be a whole number above 0", repr(value))
    indices = sorted((str(data.get("link_index")) for _, _, data in links), key=lambda text: (len(text), text))
    wanted = [str(number) for number in range(len(links))]
    subject.expect(indices == wanted, f"link_index 0 to {len(links) - 1}, each once", f"{indices[:20]}")
    subject.expect(not graph.is_directed(), "an undirected graph: a link is both its directions", "a directed one")


@check("topology")
def same_graph_again(subject: Subject) -> None:
    """The same options give the same graph, order of nodes and links included; each host is listed once."""
    first, second = _frozen(build(subject)), _frozen(build(subject))
    for what, one, other in zip(("nodes", "links", "graph attributes"), first, second, strict=True):
        if one != other:
            place = next((pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]), (len(one), len(other)))
            subject.fail(f"the same {what} from a second build", f"{place[1]} in place of {place[0]}")
    hosts = build(subject).graph["hosts"]
    subject.expect(isinstance(hosts, tuple), "hosts as a tuple", type(hosts).__name__)
    twice = [host for host, count in Counter(hosts).items() if count > 1]
    subject.expect(not twice, "each host listed once", f"host {twice[:1]} more often")


def _frozen(graph: Graph) -> tuple[list[Any], list[Any], list[Any]]:
    nodes = [(node, list(data.items())) for node, data in graph.nodes(data=True)]
    links = [(a, b, list(data.items())) for a, b, data in graph.edges(data=True)]
    return nodes, links, [(key, repr(value)) for key, value in graph.graph.items()]


@check("topology")
def sizes_asked_for(subject: Subject) -> str:
    """hosts = N builds N hosts, or ConfigError says which sizes exist."""
    if "hosts" not in subject.fields():
        raise Skip("it has no option 'hosts'")
    built = []
    for size in SIZES:
        try:
            graph = build(subject, hosts=size)
        except ConfigError as error:
            digits = "".join(c if c.isdigit() else " " for c in str(error)).split()
            told = "hosts" in str(error) and any(int(number) != size for number in digits)
            subject.expect(told, f"ConfigError for hosts={size} to say which sizes exist", str(error))
            continue
        seen = len(graph.graph["hosts"])
        subject.expect(seen == size, f"{size} hosts when {size} are asked for", f"{seen}")
        built.append(size)
    return f"sizes built: {', '.join(map(str, built)) or 'none'}"


@check("topology")
def every_pair_routed(subject: Subject) -> str:
    """The core's routing leads from every host to every other, never through a host."""
    from ...sim.routing import Routes

    graph = build(subject)
    hosts = graph.graph["hosts"]
    routes = Routes(graph)
    kinds = {node: data["kind"] for node, data in graph.nodes(data=True)}
    walked = 0
    for src, dst in _pairs(hosts, int(subject.limit("pairs"))):
        try:
            path = [node for node, _ in routes.first_path(src, dst)]
        except ConfigError as error:
            raise AssertionError(f"{subject.owner}: expected a route from {src} to {dst}; saw {error}") from None
        through = [node for node in path[:-1] if kinds[node] == "host"]
        subject.expect(not through, f"no host inside the path from {src} to {dst}", f"host {through[:1]}")
        walked += 1
    return f"{walked} pairs walked"


def _pairs(hosts: tuple[int, ...], most: int) -> Iterator[tuple[int, int]]:
    """All ordered pairs, or evenly many per distance in rank."""
    count = len(hosts)
    step = max(1, count * (count - 1) // most)
    for number in range(0, count * (count - 1), step):
        src, distance = divmod(number, count - 1)
        yield hosts[src], hosts[(src + distance + 1) % count]


@check("topology")
def declared_properties(subject: Subject) -> str:
    """diameter_hops, equal_paths and bisection_bps hold where they are declared."""
    graph = build(subject)
    declared = {name: graph.graph[name] for name in DECLARED if name in graph.graph}
    if not declared:
        raise Skip(f"it declares none of {', '.join(DECLARED)}")
    hosts = graph.graph["hosts"]
    if len(hosts) > MOST_HOSTS_FOR_PATHS:
        raise Skip(f"{len(hosts)} hosts; declared properties are worked out up to {MOST_HOSTS_FOR_PATHS}")
    distance, paths = _extremes(graph)
    if "diameter_hops" in declared:
        subject.expect(
            declared["diameter_hops"] == distance, f"diameter_hops = {distance}, as counted", declared["diameter_hops"]
        )
    if "equal_paths" in declared:
        good = paths == {declared["equal_paths"]}
        subject.expect(good, f"equal_paths = {sorted(paths)}, as counted", declared["equal_paths"])
    if "bisection_bps" in declared:
        flow = _bisection(graph)
        subject.expect(
            declared["bisection_bps"] == flow, f"bisection_bps = {flow}, the largest flow", declared["bisection_bps"]
        )
    return ", ".join(f"{name} {value}" for name, value in declared.items())


def _extremes(graph: Graph) -> tuple[int, set[int]]:
    """(links between the farthest hosts, numbers of shortest paths between hosts that far apart)."""
    hosts = set(graph.graph["hosts"])
    farthest = 0
    paths: set[int] = set()
    for src in graph.graph["hosts"]:
        distance, ways = {src: 0}, Counter({src: 1})
        queue = deque([src])
        while queue:
            node = queue.popleft()
            if node in hosts and node != src:
                continue  # hosts do not forward
            for peer in graph.neighbors(node):
                if peer not in distance:
                    distance[peer] = distance[node] + 1
                    queue.append(peer)
                if distance[peer] == distance[node] + 1:
                    ways[peer] += ways[node] * graph.number_of_edges(node, peer)
        for dst in hosts - {src}:
            if distance.get(dst, 0) > farthest:
                farthest, paths = distance[dst], set()
            if distance.get(dst, 0) == farthest:
                paths.add(ways[dst])
    return farthest, paths


def _bisection(graph: Graph) -> int:
    """Largest flow from the first half of the hosts to the second; a host passes nothing on."""
    hosts = graph.graph["hosts"]
    net = nx.DiGraph()
    for a, b, data in graph.edges(data=True):
        for one, other in ((a, b), (b, a)):
            old = net.get_edge_data(one, other, {"capacity": 0})["capacity"]
            net.add_edge(one, other, capacity=old + data["rate_bps"])
    half = len(hosts) // 2
    first, second = hosts[:half], hosts[half:]
    net.remove_edges_from([(switch, host) for host in first for switch in graph.neighbors(host)])
    net.remove_edges_from([(host, switch) for host in second for switch in graph.neighbors(host)])
    net.add_edges_from(("from", host) for host in first)
    net.add_edges_from((host, "to") for host in second)
    return int(nx.maximum_flow_value(net, "from", "to"))


@check("topology")
def large_build(subject: Subject) -> str:
    """1,024 hosts build; the time is reported."""
    wanted = int(subject.limit("large_hosts"))
    started = time.perf_counter()
    if "hosts" in subject.fields():
        try:
            graph, options = build(subject, hosts=wanted), {"hosts": wanted}
        except ConfigError as error:
            if not subject.options:
                raise
            raise Skip(f"not with these options: {error}") from None
    else:
        grown = _grown(subject, wanted)
        if grown is None:
            raise Skip(f"no option found that grows it to {wanted} hosts")
        started = time.perf_counter()
        graph, options = build(subject, **grown), grown
    elapsed_s = time.perf_counter() - started
    seen = len(graph.graph["hosts"])
    subject.expect(seen >= wanted, f"{wanted} hosts with {options}", seen)
    _contract(subject, graph)
    return f"{seen} hosts in {elapsed_s:.2f} s with {', '.join(f'{k}={v}' for k, v in options.items())}"


def _grown(subject: Subject, wanted: int) -> dict[str, Any] | None:
    """Options that give at least so many hosts: the trait `large`, else counts doubled in turn while that helps."""
    if "large" in subject.component.traits:
        return dict(subject.component.traits["large"])
    config = subject.config()
    counts = {
        name: getattr(config, name)
        for name in subject.fields()
        if type(getattr(config, name)) is int and not name.endswith(("_ps", "_bps", "_bytes", "_bits"))
    }
    size = len(build(subject).graph["hosts"])
    grown: dict[str, Any] = {}
    progress = True
    while size < wanted and progress:
        progress = False
        for name, value in counts.items():
            now = grown.get(name, value)
            # Twice as much, or the most below that for options of which only some values exist.
            for larger in range(2 * now, now, -1):
                trial = {**grown, name: larger}
                try:
                    seen = len(build(subject, **trial).graph["hosts"])
                except ConfigError:
                    continue
                if seen > size:
                    grown, size, progress = trial, seen, True
                break
            if size >= wanted:
                break
    return grown if size >= wanted else None
