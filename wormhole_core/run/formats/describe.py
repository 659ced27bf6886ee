"""What a file was understood to say: `facts` for programs and tests, `describe` for people."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...errors import InputError
from ...units import PS_PER_NS, PS_PER_S, format_rate, format_size, format_time
from .detect import detect
from .flows import FlowsFile, read_flows
from .flows_neutral import iter_paths
from .hpcc_config import read_hpcc_config
from .hpcc_trace import read_hpcc_trace
from .htsim import read_cm
from .simai_workload import SimaiWorkload, read_simai_workload
from .topology import TopologyFile, distances_from, read_topology

_TOPOLOGIES = ("neutral-topology", "hpcc-topology", "simai-topology", "htsim-topo")


def facts(path: object, lenient: bool = False, format: str = "auto") -> dict[str, Any]:
    """Everything countable about a file; keys depend on its kind, `kind` and `notes` are always there.

    format: the dialect if it is a topology (or cannot be told from its text). lenient: rows missing
    against a declared count pass. Raises InputError if the file is not valid (lenient: reads on,
    and says so under `valid`).
    """
    try:
        kind = detect(path)
    except InputError:
        if format == "auto":
            raise
        kind = "hpcc-topology"
    if kind in _TOPOLOGIES:
        return topology_facts(read_topology(path, format, lenient))
    if kind in ("neutral-flows", "hpcc-flow"):
        return flow_facts(read_flows(path, lenient=lenient))
    if kind == "simai-workload":
        return workload_facts(read_simai_workload(path, lenient))
    if kind == "htsim-cm":
        return _matrix_facts(path, lenient)
    if kind == "hpcc-config":
        config = read_hpcc_config(path)
        return {
            "kind": kind, "cca": config.cca, "cca_options": config.cca_options, "network": config.network,
            "stop_s": None if config.stop_ps is None else config.stop_ps / PS_PER_S,
            "topology": config.topology and str(config.topology), "flows": config.flows and str(config.flows),
            "ignored": [key for key, _ in config.ignored], "unknown": config.unknown, "notes": config.notes,
        }  # fmt: skip
    if kind == "hpcc-trace":
        nodes, notes = read_hpcc_trace(path, lenient)
        return {"kind": kind, "nodes": len(nodes), "notes": notes}
    if kind == "neutral-paths":
        rows = [row for _, row in iter_paths(path)]
        pinned = sum(bool(row["data_path"]) for row in rows)
        return {"kind": kind, "flows": len(rows), "data_paths": pinned, "notes": []}
    return {"kind": kind, "notes": []}


def topology_facts(topology: TopologyFile) -> dict[str, Any]:
    """Counts, rates and reachability of a topology; a dialect's own numbers where it has them."""
    graph, hosts = topology.graph, topology.hosts
    if topology.layout:
        return {"kind": topology.dialect, **topology.layout, "notes": topology.notes}
    reached = distances_from(graph, hosts[0])
    others = [host for host in hosts if host in reached]
    rates = Counter(data["rate_bps"] for _, _, data in graph.edges(data=True))
    result: dict[str, Any] = {
        "kind": topology.dialect,
        "nodes": graph.number_of_nodes(),
        "hosts": len(hosts),
        "switches": topology.switches,
        "links": graph.number_of_edges(),
        "first_host": hosts[0],
        "host_degree": sorted({graph.degree(host) for host in hosts}),
        "hosts_unreachable_from_first": len(hosts) - len(others),
        "max_links_from_first_host": max(reached[host] for host in others),
        "link_rates_bps": {str(rate): count for rate, count in sorted(rates.items())},
        "link_delays": dict(sorted(topology.delay_texts.items())),
        "tokens_after_declared_links": topology.trailing_tokens,
        "notes": topology.notes,
    }
    for name in ("gpus_per_server", "gpu_type", "nvswitches", "tors"):
        if getattr(topology, name) is not None:
            result[name] = getattr(topology, name)
    return result


def flow_facts(file: FlowsFile) -> dict[str, Any]:
    """Counts, sizes and starts of a flow list."""
    sizes = [flow.size_bytes for flow in file.flows]
    independent = [flow.start_ps for flow in file.flows if not flow.deps] or [0]
    return {
        "kind": file.kind,
        "flows": len(sizes),
        "flows_present_in_file": file.present,
        "bytes": sum(sizes),
        "min_bytes": min(sizes),
        "max_bytes": max(sizes),
        "sources": len({flow.src for flow in file.flows}),
        "destinations": len({flow.dst for flow in file.flows}),
        "first_start_s": min(independent) / PS_PER_S,
        "last_start_s": max(independent) / PS_PER_S,
        "dependent_flows": sum(bool(flow.deps) for flow in file.flows),
        "notes": file.notes,
    }


def workload_facts(work: SimaiWorkload) -> dict[str, Any]:
    """Rows, collectives, bytes and computing time of a SimAI workload."""
    sizes = work.op_bytes()
    return {
        "kind": "simai-workload",
        "valid": len(work.rows) == work.declared,
        "header": list(work.header),
        "rows_declared": work.declared,
        "rows_present": len(work.rows),
        "ops": work.ops(),
        "bytes": sizes,
        "total_comm_bytes": sum(sizes.values()),
        "compute_ns": {key: value // PS_PER_NS for key, value in work.compute_ps().items()},
        "notes": work.notes,
    }


def _matrix_facts(path: object, lenient: bool) -> dict[str, Any]:
    matrix = read_cm(path, lenient)
    rows = matrix.connections
    return {
        "kind": "htsim-cm",
        "valid": not matrix.undefined
        and len(rows) == matrix.declared["connections"]
        and len(matrix.triggers) == matrix.declared["triggers"],
        "nodes": matrix.nodes,
        "connections_declared": matrix.declared["connections"],
        "connections_present": len(rows),
        "triggers_declared": matrix.declared["triggers"],
        "triggers_present": len(matrix.triggers),
        "undefined_triggers": len(matrix.undefined),
        "sources": len({row.src for row in rows}),
        "destinations": len({row.dst for row in rows}),
        "bytes": sum(row.size_bytes for row in rows),
        "notes": [],
    }


def describe(path: object, lenient: bool = False, format: str = "auto") -> list[str]:
    """Lines that say what was understood, for `validate`. Raises InputError."""
    return describe_facts(path, facts(path, lenient, format))


def describe_facts(path: object, known: dict[str, Any]) -> list[str]:
    """The lines of `describe` from what `facts` returned, without reading the file again."""
    rest = {key: value for key, value in known.items() if key not in ("kind", "notes")}
    notes = (f"note: {note}" for note in known["notes"])
    return [f"{path}: {known['kind']}", *_lines(known["kind"], rest), *notes]


def _lines(kind: str, known: dict[str, Any]) -> list[str]:
    if "link_rates_bps" in known:
        return _topology_lines(known)
    if "flows_present_in_file" in known:
        lines = [
            f"{_count(known['flows'], 'flow')} of {_count(known['sources'], 'source')} "
            f"to {_count(known['destinations'], 'destination')}, "
            f"{known['bytes']} bytes ({format_size(known['bytes'])}), {known['min_bytes']} to {known['max_bytes']}",
            f"starts from {_start(known['first_start_s'])} to {_start(known['last_start_s'])}",
        ]
        if known["dependent_flows"]:
            lines.append(f"{_count(known['dependent_flows'], 'flow')} wait for others")
        return lines
    if kind == "simai-workload":
        compute = {key: format_time(value * PS_PER_NS) for key, value in known["compute_ns"].items()}
        return [
            f"policy {known['header'][0]}, {known['rows_present']} rows ({known['rows_declared']} declared)",
            *(f"{key}: {count} x, {known['bytes'][key]} bytes" for key, count in sorted(known["ops"].items())),
            f"communication {known['total_comm_bytes']} bytes ({format_size(known['total_comm_bytes'])}); computing "
            + ", ".join(f"{key} {value}" for key, value in compute.items()),
        ]
    if kind == "hpcc-config":
        return _config_lines(known)
    return [f"{key}: {value}" for key, value in known.items()]


def _start(seconds: float) -> str:
    """Files of the HPCC family begin at 2 s and differ by less than four digits show."""
    return format_time(round(seconds * PS_PER_S)) if seconds < 1 else f"{seconds:g} s"


def _count(number: int, what: str) -> str:
    plural = "es" if what.endswith("ch") else "s"
    return f"{number} {what}" if number == 1 else f"{number} {what}{plural}"


def _topology_lines(known: dict[str, Any]) -> list[str]:
    nvs = f", {_count(known['nvswitches'], 'NVSwitch')}" if known.get("nvswitches") else ""
    rates = ", ".join(f"{count} x {format_rate(int(rate))}" for rate, count in known["link_rates_bps"].items())
    delays = ", ".join(f"{count} x {delay}" for delay, count in known["link_delays"].items())
    degrees = "/".join(map(str, known["host_degree"]))
    lines = [
        f"{_count(known['hosts'], 'host')}, {_count(known['switches'], 'switch')}{nvs}, "
        f"{_count(known['links'], 'link')}",
        f"link rates: {rates or 'none'}; delays: {delays or 'none'}",
        f"links per host: {degrees}; at most {known['max_links_from_first_host']} hops from {known['first_host']}",
    ]
    if "gpu_type" in known:
        lines.append(f"{known['gpus_per_server']} GPUs of type {known['gpu_type']} per server")
    if known["hosts_unreachable_from_first"]:
        lines.append(
            f"{_count(known['hosts_unreachable_from_first'], 'host')} cannot be reached "
            f"from host {known['first_host']} (hosts do not forward)"
        )
    return lines


def _config_lines(known: dict[str, Any]) -> list[str]:
    def options(values: dict[str, Any]) -> str:
        return ", ".join(f"{key} {value}" for key, value in values.items()) or "defaults"

    lines = [f"cca {known['cca']}: {options(known['cca_options'])}", f"network: {options(known['network'])}"]
    for name in ("topology", "flows"):
        if known[name]:
            lines.append(f"{name}: {known[name]}")
    if known["stop_s"] is not None:
        lines.append(f"stops at {known['stop_s']:g} s")
    for name in ("ignored", "unknown"):
        if known[name]:
            lines.append(f"{name} keys: {', '.join(known[name])}")
    return lines
