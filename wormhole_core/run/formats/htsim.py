"""htsim connection matrices (`.cm`) and fat-tree descriptions (`.topo`): read and checked.

A matrix: header counts (Nodes, Connections, Triggers, Failures), then one row per connection, trigger
or failure; counts must match and every referenced trigger must be defined. A topology: 2 or 3 tiers
of switches from integer keys, from which the wiring follows (see `read_topo`).
"""

from __future__ import annotations

import re
from pathlib import Path

import attrs

from ...component import near_match
from ...contracts.topology import add_link, add_switch, new_graph
from ...errors import InputError
from ...units import PS_PER_NS
from .text import iter_lines, shown, whole
from .topology import TopologyFile, finish_graph

_HEADER = ("nodes", "connections", "triggers", "failures")
_CONNECTION = re.compile(r"(\S+?)->(\S+)\Z")
_CONNECTION_KEYS = ("id", "start", "trigger", "size", "prio", "send_done_trigger", "recv_done_trigger", "msg", "addon")
_TIER_KEYS = (
    "downlink_speed_gbps", "radix_down", "radix_up", "oversubscribed", "downlink_latency_ns", "switch_latency_ns",
    "queue_up", "queue_down", "bundle",
)  # fmt: skip
_MAX_HOSTS = 1_000_000
_MAX_LINKS = 4_000_000


@attrs.define(kw_only=True)
class Connection:
    """One row. start: as written (picoseconds for htsim, microseconds by its generators), or a
    trigger's id. size_bytes: 0 means without end."""

    src: int
    dst: int
    size_bytes: int
    line: int
    id: int | None = None
    start: int | None = None
    trigger: int | None = None
    send_done_trigger: int | None = None
    recv_done_trigger: int | None = None


@attrs.define(kw_only=True)
class ConnectionMatrix:
    """A whole matrix. triggers: id -> line it is defined on. undefined: referenced, not defined."""

    path: Path
    nodes: int
    declared: dict[str, int]
    connections: list[Connection]
    triggers: dict[int, int]
    failures: int
    undefined: list[int]


def read_cm(path: object, lenient: bool = False) -> ConnectionMatrix:
    """Read a connection matrix. lenient: counts that do not match and undefined triggers pass.

    Raises InputError.
    """
    declared: dict[str, int] = {}
    lines: dict[str, int] = {}
    connections: list[Connection] = []
    triggers: dict[int, int] = {}
    failures = 0
    for line, text in iter_lines(path):
        words = text.split()
        key = words[0].lower()
        if key.startswith("#"):
            continue
        if key in _HEADER:
            if len(words) != 2 or key in declared:
                raise InputError(f"{shown(text)}: expected '{words[0]} COUNT' once", path, line)
            declared[key], lines[key] = whole(words[1], words[0], path, line), line
        elif "->" in words[0]:
            if "nodes" not in declared:
                raise InputError("no line 'Nodes' before the first connection; expected 'Nodes COUNT'", path, line)
            connections.append(_connection(words, declared["nodes"], path, line))
        elif key == "trigger":
            _trigger(words, triggers, path, line)
        elif key == "failure":
            failures += 1
        else:
            raise InputError(
                f"{shown(words[0])} is unknown{near_match(key, (*_HEADER, 'trigger', 'failure'))}; expected a "
                "count, 'src->dst ...', 'trigger ...' or 'failure ...'",
                path,
                line,
            )
    for key in ("nodes", "connections"):
        if key not in declared:
            raise InputError(f"no line {key.capitalize()!r}; expected '{key.capitalize()} COUNT' before the rows", path)
    found = {"connections": len(connections), "triggers": len(triggers), "failures": failures}
    used = {t for c in connections for t in (c.trigger, c.send_done_trigger, c.recv_done_trigger) if t is not None}
    result = ConnectionMatrix(
        path=Path(str(path)), nodes=declared["nodes"], declared={"triggers": 0, "failures": 0, **declared},
        connections=connections, triggers=triggers, failures=failures, undefined=sorted(used - triggers.keys()),
    )  # fmt: skip
    if lenient:
        return result
    for key, count in found.items():
        if count != result.declared[key]:
            raise InputError(
                f"the file declares {result.declared[key]} {key} but has {count}; correct one of them",
                path,
                lines.get(key, lines["connections"]),
            )
    if result.undefined:
        line = next(
            c.line for c in connections if result.undefined[0] in (c.trigger, c.send_done_trigger, c.recv_done_trigger)
        )
        raise InputError(
            f"trigger {result.undefined[0]} is used but not defined; add a 'trigger id ...' row", path, line
        )
    return result


def _connection(words: list[str], nodes: int, path: object, line: int) -> Connection:
    ends = _CONNECTION.match(words[0])
    if not ends:
        raise InputError(f"{shown(words[0])}: expected src->dst", path, line)
    src, dst = (whole(word, "a node", path, line) for word in ends.groups())
    for node in (src, dst):
        if node >= nodes:
            raise InputError(f"node {node} does not exist, expected 0 to {nodes - 1} as 'Nodes' says", path, line)
    if src == dst:
        raise InputError(f"a connection goes from node {src} to itself; name two different nodes", path, line)
    values: dict[str, int] = {}
    rest = words[1:]
    while rest:
        key = rest.pop(0)
        if key not in _CONNECTION_KEYS:
            raise InputError(f"unknown word {shown(key)}{near_match(key, _CONNECTION_KEYS)}", path, line)
        if not rest:
            raise InputError(f"{key} has no value; expected a number after it", path, line)
        values[key] = whole(rest.pop(0), key, path, line)
    if "size" not in values:
        raise InputError(f"the connection {words[0]} has no size; add 'size BYTES'", path, line)
    if "start" not in values and "trigger" not in values:
        raise InputError(f"the connection {words[0]} has neither start nor trigger; add 'start 0'", path, line)
    return Connection(
        src=src, dst=dst, size_bytes=values["size"], line=line, id=values.get("id"), start=values.get("start"),
        trigger=values.get("trigger"), send_done_trigger=values.get("send_done_trigger"),
        recv_done_trigger=values.get("recv_done_trigger"),
    )  # fmt: skip


def _trigger(words: list[str], triggers: dict[int, int], path: object, line: int) -> None:
    kinds = ("oneshot", "multishot", "barrier")
    if len(words) < 4 or words[1] != "id" or words[3] not in kinds:
        raise InputError(f"expected 'trigger id N {'|'.join(kinds)}'", path, line)
    ident = whole(words[2], "the trigger's id", path, line)
    if ident in triggers:
        raise InputError(f"trigger {ident} is already defined on line {triggers[ident]}", path, line)
    if words[3] == "barrier" and (len(words) != 6 or words[4] != "count"):
        raise InputError("expected 'trigger id N barrier count M'", path, line)
    triggers[ident] = line


def read_topo(path: object) -> TopologyFile:
    """Read a fat-tree description and build its graph.

    ToRs = Nodes / Radix_Down of tier 0; pods = Nodes / Podsize; upper switches per pod = Radix_Up of
    tier 0 / Bundle of tier 1; cores = those per pod x Radix_Up of tier 1 / Bundle of tier 2.
    Switch_Latency_ns is added to the delay of the link below the switch. Raises InputError.
    """
    top, tiers = _read_keys(path)
    nodes, podsize = top["nodes"], top["podsize"]
    need = _Need(path, tiers)
    down = [need(t, "radix_down") for t in range(len(tiers))]
    up = [need(t, "radix_up") for t in range(len(tiers) - 1)]
    bundle = [1, *(tiers[t].get("bundle", 1) for t in range(1, len(tiers)))]
    tors, pods = (
        need.divide(nodes, down[0], "Nodes / Radix_Down of tier 0"),
        need.divide(nodes, podsize, "Nodes / Podsize"),
    )
    per_pod = need.divide(up[0], bundle[1], "Radix_Up of tier 0 / Bundle of tier 1")
    tors_per_pod = need.divide(tors, pods, "ToRs / pods")
    if len(tiers) == 2 and pods != 1:
        raise InputError(f"Podsize is {podsize} with 2 tiers, expected {nodes} (= Nodes)", path)
    _check_ratio(need, 0, down[0], up[0])
    need.equal(down[1], tors_per_pod * bundle[1], 1)
    links = nodes + tors * up[0] + (pods * per_pod * up[1] if len(tiers) == 3 else 0)
    if links > _MAX_LINKS:
        raise InputError(f"the radices make {links} links, expected at most {_MAX_LINKS}; correct them", path)
    graph = new_graph(nodes)
    tor_ids = [add_switch(graph) for _ in range(tors)]
    upper = [[add_switch(graph, tier=2) for _ in range(per_pod)] for _ in range(pods)]
    rate = [need(t, "downlink_speed_gbps") * 10**9 for t in range(len(tiers))]
    delay = [
        (need(t, "downlink_latency_ns") + tiers[t].get("switch_latency_ns", 0)) * PS_PER_NS for t in range(len(tiers))
    ]
    for host in range(nodes):
        add_link(graph, host, tor_ids[host // down[0]], rate[0], delay[0])
    for index, tor in enumerate(tor_ids):
        for switch in upper[index // tors_per_pod]:
            for _ in range(bundle[1]):
                add_link(graph, tor, switch, rate[1], delay[1])
    cores = 0
    if len(tiers) == 3:
        _check_ratio(need, 1, down[1], up[1])
        cores_each = need.divide(up[1], bundle[2], "Radix_Up of tier 1 / Bundle of tier 2")
        cores = per_pod * cores_each
        need.equal(down[2], pods * bundle[2], 2)
        for position in range(per_pod):
            for core in [add_switch(graph, tier=3) for _ in range(cores_each)]:
                for pod in upper:
                    for _ in range(bundle[2]):
                        add_link(graph, pod[position], core, rate[2], delay[2])
    finish_graph(graph, range(nodes))
    layout: dict[str, object] = {"nodes": nodes, "tiers": len(tiers), "podsize": podsize, "tors": tors, "pods": pods}
    if len(tiers) == 2:
        layout["spines"] = per_pod
    else:
        layout |= {"aggs_per_pod": per_pod, "aggs": per_pod * pods, "cores": cores}
    layout["tiers_cfg"] = {str(t): dict(sorted(tiers[t].items())) for t in range(len(tiers))}
    return TopologyFile(graph=graph, kind="htsim-topo", dialect="htsim-topo", path=Path(str(path)), layout=layout)


def _read_keys(path: object) -> tuple[dict[str, int], list[dict[str, int]]]:
    top: dict[str, int] = {}
    tiers: list[dict[str, int]] = []
    for line, text in iter_lines(path):
        words = text.split("#", 1)[0].split()
        if not words:
            continue
        key = words[0].lower()
        if len(words) != 2:
            raise InputError(f"{shown(text)}: expected 'KEY NUMBER'", path, line)
        value = whole(words[1], words[0], path, line, high=10**12)
        if key == "tier":
            if value != len(tiers) or value >= top.get("tiers", 0):
                raise InputError(
                    f"Tier {value} does not follow, expected the tiers 0, 1, ... below 'Tiers'", path, line
                )
            tiers.append({})
            continue
        known = _TIER_KEYS if tiers else ("nodes", "tiers", "podsize")
        target = tiers[-1] if tiers else top
        if key not in known:
            raise InputError(
                f"unknown key {shown(words[0])}{near_match(key, known)}; expected one of {', '.join(known)}", path, line
            )
        if key in target:
            raise InputError(f"{words[0]} is given twice; remove one", path, line)
        if value == 0 and key != "switch_latency_ns":
            raise InputError(f"{words[0]} is 0, expected at least 1", path, line)
        target[key] = value
    for key in ("nodes", "tiers", "podsize"):
        if key not in top:
            raise InputError(f"key {key.capitalize()!r} is missing", path)
    if top["tiers"] not in (2, 3) or len(tiers) != top["tiers"]:
        raise InputError(f"Tiers is {top['tiers']} and {len(tiers)} are described, expected 2 or 3 of each", path)
    if top["nodes"] > _MAX_HOSTS:
        raise InputError(f"Nodes is {top['nodes']}, expected at most {_MAX_HOSTS}", path)
    return top, tiers


class _Need:
    """Checks on the keys, each with the same form of message."""

    def __init__(self, path: object, tiers: list[dict[str, int]]) -> None:
        self.path, self.tiers = path, tiers

    def __call__(self, tier: int, key: str) -> int:
        if key not in self.tiers[tier]:
            raise InputError(f"key {key} is missing in tier {tier}", self.path)
        value = self.tiers[tier][key]
        if key.startswith("radix") and value > _MAX_HOSTS:
            raise InputError(f"{key} of tier {tier} is {value}, expected at most {_MAX_HOSTS}", self.path)
        return value

    def divide(self, a: int, b: int, what: str) -> int:
        if a % b:
            raise InputError(f"{what} is {a} / {b}, expected a whole number; correct one of them", self.path)
        return a // b

    def equal(self, radix: int, wired: int, tier: int) -> None:
        if radix != wired:
            raise InputError(
                f"Radix_Down of tier {tier} is {radix} but {wired} links come from below; correct it", self.path
            )


def _check_ratio(need: _Need, tier: int, down: int, up: int) -> None:
    stated = need.tiers[tier].get("oversubscribed")
    speeds = need(tier, "downlink_speed_gbps"), need(tier + 1, "downlink_speed_gbps")
    if stated is not None and stated != down * speeds[0] // (up * speeds[1]):
        ratio = down * speeds[0] / (up * speeds[1])
        raise InputError(
            f"Oversubscribed of tier {tier} is {stated} but the rates give {ratio:g}; correct it", need.path
        )
