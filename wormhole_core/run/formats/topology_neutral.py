"""The neutral topology: `topology.json` with nodes and links, units in the field names.

    {"nodes": [{"id": 0, "type": "host"}, ...], "links": [{"a": 0, "b": 8, "gbps": 100, "delay_ns": 1000}, ...]}

A link gives `gbps` or `rate_bps`, and `delay_ns` or `delay_ps`, optionally `loss` (per frame). A node
may carry `buffer_bytes`, `nvswitch` and `tier` (switches) or `server` (hosts). The order of the links
in the file is their `link_index`, which port numbers and hashing follow.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...contracts.topology import Graph, add_link
from ...errors import InputError
from .text import MAX_DELAY_PS, MAX_RATE_BPS, MAX_SIZE_BYTES, number, read_text, shown
from .topology import TopologyFile, empty_graph, finish_graph, lonely_note

_NODE_FIELDS = {"id", "type", "buffer_bytes", "nvswitch", "tier", "server"}
_LINK_FIELDS = {"a", "b", "gbps", "rate_bps", "delay_ns", "delay_ps", "loss"}


class _Number(str):
    """A JSON number as written; becomes an exact Fraction when its meaning is known."""


def load_json(path: object, text: str | None = None) -> Any:
    """A JSON document with numbers kept exact (as text). Raises InputError."""
    try:
        return json.loads(
            read_text(path) if text is None else text,
            parse_float=_Number, parse_int=_Number, parse_constant=_Number,
        )  # fmt: skip
    except json.JSONDecodeError as error:
        raise InputError(
            f"not valid JSON ({error.msg}, column {error.colno}); correct the file", path, error.lineno
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError("not valid JSON (nested too deeply or a number too long); correct the file", path) from error


def read(path: object) -> TopologyFile:
    """Read a neutral topology. Raises InputError that names the entry, e.g. `links[3]`."""
    document = load_json(path)
    if not isinstance(document, dict):
        raise InputError("expected a JSON object with 'nodes' and 'links'", path, 1)
    graph = empty_graph()
    ignored: Counter[str] = Counter()
    hosts = []
    for i, node in enumerate(_list(document, "nodes", path)):
        where = f"nodes[{i}]"
        if _read_node(graph, node, where, path, ignored):
            hosts.append(_whole(node, "id", where, path))
    if not hosts:
        raise InputError('no node is a host; give at least one node the type "host"', path)
    delays: Counter[str] = Counter()
    for i, link in enumerate(_list(document, "links", path)):
        _read_link(graph, link, f"links[{i}]", path, ignored, delays)
    finish_graph(graph, hosts)
    result = TopologyFile(
        graph=graph, kind="neutral-topology", dialect="neutral", path=Path(str(path)), delay_texts=delays
    )
    nvs = sum(bool(data.get("nvswitch")) for _, data in graph.nodes(data=True))
    result.nvswitches = nvs or None
    if ignored:
        result.notes.append("unknown fields ignored: " + ", ".join(sorted(ignored)))
    lonely_note(graph, result.notes)
    graph.graph["notes"] = list(result.notes)
    return result


def _list(document: dict, name: str, path: object) -> list:
    value = document.get(name)
    if not isinstance(value, list):
        raise InputError(f"{name!r} is missing or not a list, expected a list of objects", path)
    return value


def _read_node(graph: Graph, node: Any, where: str, path: object, ignored: Counter[str]) -> bool:
    if not isinstance(node, dict):
        raise InputError(f"{where} is {shown(node)}, expected an object with id and type", path)
    ident = _whole(node, "id", where, path)
    kind = node.get("type")
    if kind not in ("host", "switch"):
        raise InputError(f'{where}: type is {shown(kind)}, expected "host" or "switch"', path)
    if ident in graph:
        raise InputError(f"{where}: node {ident} is listed twice; give each node its own id", path)
    graph.add_node(ident, kind=kind)
    attributes = graph.nodes[ident]
    if kind == "switch":
        if node.get("nvswitch") not in (None, True, False):
            raise InputError(f"{where}: nvswitch is {shown(node['nvswitch'])}, expected true or false", path)
        if node.get("nvswitch"):
            attributes["nvswitch"] = True
        if "buffer_bytes" in node:
            attributes["buffer_bytes"] = _whole(node, "buffer_bytes", where, path, low=1)
        if "tier" in node:
            attributes["tier"] = _whole(node, "tier", where, path)
    elif "server" in node:
        attributes["server"] = _whole(node, "server", where, path)
    ignored.update(f"nodes.{key[:30]}" for key in node if key not in _NODE_FIELDS)
    return kind == "host"


def _read_link(graph: Graph, link: Any, where: str, path: object, ignored: Counter[str], delays: Counter[str]) -> None:
    if not isinstance(link, dict):
        raise InputError(f"{where} is {shown(link)}, expected an object with a, b, gbps and delay_ns", path)
    a, b = (_whole(link, end, where, path) for end in ("a", "b"))
    for node in (a, b):
        if node not in graph:
            raise InputError(f"{where} names node {node}, which is not in 'nodes'; add it or correct the link", path)
    if a == b:
        raise InputError(f"{where} connects node {a} to itself; name two different nodes", path)
    rate, _ = _either(link, {"gbps": 10**9, "rate_bps": 1}, where, path)
    delay, text = _either(link, {"delay_ns": 1000, "delay_ps": 1}, where, path)
    loss = float(_number(link, "loss", where, path)) if "loss" in link else 0.0
    if not 0 <= loss < 1:
        raise InputError(f"{where}: loss is {loss:g}, expected a probability of at least 0 and less than 1", path)
    add_link(graph, a, b, rate, delay, loss)
    delays[text] += 1
    ignored.update(f"links.{key[:30]}" for key in link if key not in _LINK_FIELDS)


def _either(link: dict, names: dict[str, int], where: str, path: object) -> tuple[int, str]:
    given = [name for name in names if name in link]
    if len(given) != 1:
        found = "both" if given else "neither"
        raise InputError(f"{where} has {found} of {' and '.join(names)}, expected exactly one of them", path)
    name = given[0]
    exact = _number(link, name, where, path)
    value = round(exact * names[name])
    if value <= 0:
        raise InputError(f"{where}: {name} is {shown(str(link[name]))}, expected a number greater than 0", path)
    if value > (MAX_DELAY_PS if name.startswith("delay") else MAX_RATE_BPS):
        raise InputError(f"{where}: {name} is {shown(str(link[name]))}, too large for a link; correct it", path)
    return value, f"{link[name]}{name.rsplit('_', 1)[-1]}"


def _number(entry: dict, name: str, where: str, path: object) -> Fraction:
    value = entry.get(name)
    if not isinstance(value, _Number):
        found = "missing" if name not in entry else f"{shown(value)}"
        raise InputError(f"{where}: {name} is {found}, expected a number", path)
    return number(str(value), f"{where}: {name}", path, None)


def _whole(entry: dict, name: str, where: str, path: object, low: int = 0) -> int:
    exact = _number(entry, name, where, path)
    if exact.denominator != 1 or not low <= exact <= MAX_SIZE_BYTES:
        raise InputError(
            f"{where}: {name} is {shown(str(entry[name]))}, expected a whole number of at least {low}", path
        )
    return int(exact)
