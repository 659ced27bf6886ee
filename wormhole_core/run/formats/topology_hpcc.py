"""Topologies of the HPCC family: plain text, white-space tokens, the dialect told by the header.

    3 tokens              nodes switches links                                     HPCC, ASTRA-sim, ConWeave
    4 tokens              nodes switches tors links                                PowerTCP
    6, last is a word     nodes gpus_per_server nvswitches switches links gpu_type SimAI
    6 numbers             nodes switches tors links server_rate fabric_rate        Reverie

Then the switch ids (NVSwitches first in SimAI), then `src dst rate delay error_rate` per link. The
declared count is authoritative: what follows the last link is ignored and counted. An error rate of 0
leaves the link to the global value of the configuration, so it is read as no loss of its own.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ...contracts.topology import Graph, add_link
from ...errors import InputError
from .text import MAX_DELAY_PS, Tokens, read_text, shown
from .topology import ISOLATED_NODES_ALLOWED, TopologyFile, empty_graph, finish_graph, lonely_note

_HEADERS = {
    "hpcc3": ("nodes", "switches", "links"),
    "inet4": ("nodes", "switches", "tors", "links"),
    "simai6": ("nodes", "gpus_per_server", "nvswitches", "switches", "links", "gpu_type"),
    "reverie6": ("nodes", "switches", "tors", "links", "server_rate", "fabric_rate"),
}


def dialect_of(text: str) -> str | None:
    """The dialect the first non-blank line announces by its number of tokens, or None."""
    words = text.lstrip().split("\n", 1)[0].split()
    if len(words) == 6:
        return "reverie6" if _numeric(words[5]) else "simai6"
    return {3: "hpcc3", 4: "inet4"}.get(len(words))


def _numeric(word: str) -> bool:
    return word[:1] in "+-.0123456789"


def read(path: object, dialect: str, lenient: bool) -> TopologyFile:
    """Read a topology of a dialect ("auto": by its header). Raises InputError."""
    text = read_text(path)
    if dialect == "auto":
        found = dialect_of(text)
        if found is None:
            count = len(text.lstrip().split("\n", 1)[0].split())
            raise InputError(
                f"the header has {count} tokens, expected 3 (HPCC), 4 (PowerTCP) or 6 (SimAI, Reverie); "
                "correct it or name the dialect with --topology-format",
                path,
                1,
            )
        dialect = found
    tokens = Tokens(path, text)
    header = _read_header(tokens, dialect)
    nodes, links = header["nodes"], header["links"]
    nvswitches = header.get("nvswitches", 0)
    switch_ids = _read_switches(tokens, nodes, header["switches"] + nvswitches)
    if links * 5 > len(tokens) and not lenient:
        raise InputError(
            f"the header declares {links} links but only {len(tokens) // 5} are there; "
            "correct the count or complete the file (--lenient reads what is there)",
            path,
            tokens.lines[0],
        )
    present = min(links, len(tokens) // 5)
    # Guards the memory against a damaged count: links can touch two nodes each at most.
    if nodes > 2 * present + ISOLATED_NODES_ALLOWED:
        raise InputError(
            f"the header declares {nodes} nodes but {present} links cannot connect them; correct the count",
            path,
            tokens.lines[0],
        )
    graph = empty_graph()
    switches = dict.fromkeys(switch_ids)
    nvs = set(switch_ids[:nvswitches])
    per_server = header.get("gpus_per_server")
    for node in range(nodes):
        if node not in switches:
            graph.add_node(node, kind="host")
            if per_server:
                graph.nodes[node]["server"] = node // per_server
        elif node in nvs:
            graph.add_node(node, kind="switch", nvswitch=True)
        else:
            graph.add_node(node, kind="switch")
    delays: Counter[str] = Counter()
    for _ in range(present):
        _read_link(tokens, graph, nodes, delays)
    finish_graph(graph, (n for n in range(nodes) if n not in switches))
    if not graph.graph["hosts"]:
        raise InputError(f"all {nodes} nodes are switches, expected at least one host", path, tokens.lines[0])
    result = TopologyFile(
        graph=graph,
        kind="simai-topology" if dialect == "simai6" else "hpcc-topology",
        dialect=dialect,
        path=Path(str(path)),
        gpus_per_server=per_server,
        gpu_type=header["gpu_type"] if dialect == "simai6" else None,
        nvswitches=nvswitches if dialect == "simai6" else None,
        tors=header.get("tors"),
        trailing_tokens=len(tokens),
        delay_texts=delays,
    )
    _note(result, links, present)
    graph.graph["notes"] = list(result.notes)
    return result


def _read_header(tokens: Tokens, dialect: str) -> dict:
    header: dict = {}
    for name in _HEADERS[dialect]:
        what = f"the header's {name} ({dialect})"
        if name == "gpu_type":
            word = tokens.next(what)
            if _numeric(word):
                raise tokens.fail(f"{what} is {shown(word)}, expected a word such as H100")
            header[name] = word
        elif name.endswith("rate"):
            header[name] = tokens.rate_bps(what)
        else:
            low = 1 if name in ("nodes", "gpus_per_server") else 0
            header[name] = tokens.whole(what, low)
    total = header["switches"] + header.get("nvswitches", 0)
    if total > header["nodes"]:
        raise tokens.fail(f"the header declares {total} switches among {header['nodes']} nodes; correct the counts")
    if header.get("tors", 0) > header["switches"]:
        raise tokens.fail(f"the header declares {header['tors']} ToRs among {header['switches']} switches; correct it")
    return header


def _read_switches(tokens: Tokens, nodes: int, count: int) -> list[int]:
    if count > len(tokens):
        raise InputError(
            f"the header declares {count} switches but the file ends after {len(tokens)} more tokens; "
            "correct the count or complete the file",
            tokens.path,
            tokens.lines[0],
        )
    seen: dict[int, None] = {}
    for _ in range(count):
        node = tokens.whole("a switch id")
        if node >= nodes:
            raise tokens.fail(
                f"switch id {node} does not exist, expected 0 to {nodes - 1}; correct the id or the count"
            )
        if node in seen:
            raise tokens.fail(f"switch id {node} is listed twice; remove one or correct the switch count")
        seen[node] = None
    return list(seen)


def _read_link(tokens: Tokens, graph: Graph, nodes: int, delays: Counter[str]) -> None:
    ends = []
    for which in ("first", "second"):
        node = tokens.whole(f"a link's {which} node")
        if node >= nodes:
            raise tokens.fail(f"a link names node {node}, expected 0 to {nodes - 1}; correct the id or the node count")
        ends.append(node)
    if ends[0] == ends[1]:
        raise tokens.fail(f"a link connects node {ends[0]} to itself; name two different nodes")
    where = f"link {ends[0]}-{ends[1]}"
    rate = tokens.rate_bps(f"the rate of {where}")
    delay = tokens.delay_ps(f"the delay of {where}")
    text = tokens.tokens[tokens.position - 1]
    if delay > MAX_DELAY_PS:
        raise tokens.fail(f"the delay of {where} is {shown(text)}, expected at most an hour; was a unit forgotten?")
    if delay <= 0:
        raise tokens.fail(f"the delay of {where} is {shown(text)}, expected at least 1 ps; write e.g. 1ns")
    loss = tokens.probability(f"the error rate of {where}")
    add_link(graph, ends[0], ends[1], rate, delay, loss)
    delays[text] += 1


def _note(result: TopologyFile, links: int, present: int) -> None:
    notes = result.notes
    if present < links:
        notes.append(
            f"{links} links declared, {present} read; {result.trailing_tokens} tokens of an incomplete row ignored"
        )
    elif result.trailing_tokens:
        notes.append(f"{result.trailing_tokens} trailing tokens ignored")
    per_server = result.gpus_per_server
    if per_server and len(result.hosts) % per_server:
        notes.append(f"{len(result.hosts)} GPUs do not fill servers of {per_server}; the last server is smaller")
    if result.tors is not None:
        notes.append(f"{result.tors} of the switches are declared top-of-rack")
    lonely_note(result.graph, notes)
