"""The experiments of `bench_wormhole.py`, as `wormhole_core.api` takes them.

Unless said otherwise: one switch, 100 Gbps, 1 us per link, HPCC with an additive increase by the rule
line rate x (1 - eta) / N, N being the flows that share a port.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RATE_BPS = 100_000_000_000
ETA = 0.95
MB, GB = 10**6, 10**9
SHARED = Path(__file__).resolve().parents[2] / "shared"
REFERENCE = SHARED / "reference" / "training"
INPUTS = SHARED / "inputs"
W1, W3 = "w1_gpt13b_dp_128", "w3_pp_dp_overlap_64"
G13B = INPUTS / "simai_workload" / "aicb_G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1_A100.txt"
SPECTRUM_X = INPUTS / "simai_topo" / "Spectrum-X_128g_8gps_100Gbps_A100"


@dataclass(frozen=True)
class Case:
    """An experiment. preset: parameters of the reference. flows: how many it has. packet_s: about how
    long packet mode takes, CPU seconds (for the estimate of the time left only)."""

    name: str
    experiment: dict[str, Any]
    flows: int
    packet_s: float
    preset: str | None = field(default=None)


def hpcc(flows: int) -> dict[str, Any]:
    """HPCC for so many flows on a port."""
    return {"plugin": "hpcc", "eta": ETA, "ai_rate_bps": round(RATE_BPS * (1 - ETA) / flows)}


HPCC_50 = {"plugin": "hpcc", "eta": ETA, "ai_rate_bps": 50_000_000}
DCQCN = {"plugin": "dcqcn"}


def incast(cca: dict[str, Any], name: str = "incast 8 x 100 MB") -> Case:
    """Eight senders, one receiver, 100 MB each."""
    experiment = {
        "topology": {"plugin": "star", "hosts": 9, "rate_bps": RATE_BPS},
        "workload": {"plugin": "incast", "fan_in": 8, "size_bytes": 100 * MB},
        "cca": cca,
    }
    return Case(name, experiment, 8, 8)


def ring(hosts: int, step_bytes: int, name: str) -> Case:
    """A ring all-reduce on one switch: 2 (hosts - 1) dependent steps of step_bytes from each host."""
    experiment = {
        "topology": {"plugin": "star", "hosts": hosts, "rate_bps": RATE_BPS},
        "workload": {"plugin": "ring-all-reduce", "size_bytes": hosts * step_bytes},
        "cca": hpcc(hosts),
    }
    flows = hosts * 2 * (hosts - 1)
    return Case(name, experiment, flows, flows * step_bytes / 1000 * 4 / 400_000)


def all_to_all() -> Case:
    """Eight hosts, 10 MB from each to each other."""
    experiment = {
        "topology": {"plugin": "star", "hosts": 8, "rate_bps": RATE_BPS},
        "workload": {"plugin": "all-to-all", "size_bytes": 10 * MB},
        "cca": hpcc(7),
    }
    return Case("all-to-all 8 x 10 MB", experiment, 56, 6)


def rails(servers: int, gpus: int, ring_hosts: int, step_bytes: int, name: str, iterations: int = 1) -> Case:
    """One ring per rail and per `ring_hosts` servers, all started together, `iterations` times. Host
    s * gpus + r is GPU r of
    server s, and all hosts of a rail are on one switch: the rings share no port."""
    experiment = {
        "topology": {
            "plugin": "rail", "servers": servers, "gpus_per_server": gpus, "host_rate_bps": RATE_BPS,
            "delay_ps": 1_000_000, "nvswitch": False,
        },
        "workload": {
            "plugin": "ring-all-reduce", "size_bytes": ring_hosts * step_bytes, "stride": gpus,
            "group_size": ring_hosts, "iterations": iterations,
        },
        "cca": hpcc(ring_hosts),
    }  # fmt: skip
    flows = iterations * servers * gpus * 2 * (ring_hosts - 1)
    return Case(name, experiment, flows, flows * step_bytes / 1000 * 4 / 400_000)


def reference(scenario: str, cca: str) -> Case:
    """A training scenario of the reference: its topology, flows with dependencies, and routes."""
    folder = REFERENCE / scenario
    experiment = {
        "topology": {"file": str(folder / "topology.json")},
        "workload": {"flows": str(folder / "flows.csv"), "paths": str(folder / "paths.csv")},
    }
    flows = 3840 if scenario == W1 else 0
    return Case(f"{scenario}, {cca}", experiment, flows, 95, f"reference:{cca}")
