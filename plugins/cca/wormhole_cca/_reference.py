"""The packet model of the reference simulator, as presets `reference:LABEL`.

The reference is an independently built C++ simulator of RDMA networks. Each label names one
congestion control with its parameters and the network it was measured on: 1 ns clock, frames of
1000 B payload, PFC with a shared buffer, one bandwidth-delay product for all flows. Telemetry bytes
(42 B for INT, 8 B for a time stamp) are added to the frames by the core. ECN thresholds hold at
100 Gbps and grow with the port's rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MIN_RATE_BPS = 1_000_000_000
RANDOM_MARKING = (400_000, 1_600_000, 0.2)
STEP_400K = (400_000, 400_000, 1.0)
STEP_300K = (300_000, 300_000, 1.0)
INT_TX_STEP_BYTES = 128
INT_QUEUE_STEP_BYTES = 80

Preset = Mapping[str, Mapping[str, Any]]


def reference_preset(
    cca: Mapping[str, Any],
    *,
    ack_high_priority: bool = False,
    marking: tuple[int, int, float] = RANDOM_MARKING,
    buffer_mib: int = 32,
    int_multiple: int = 0,
) -> Preset:
    """One label: the component's own options and the `[network]` section.

    ack_high_priority: the hosts' ACKs are never paused. marking: Kmin and Kmax in bytes and Pmax, at
    100 Gbps. int_multiple: granularity of INT counters in units of 128 B sent and 80 B queued; 0 for
    algorithms without INT.
    """
    kmin_bytes, kmax_bytes, pmax = marking
    network = {
        "payload_bytes": 1000,
        "header_bytes": 48,
        "ack_bytes": 60,
        "clock_resolution_ps": 1000,
        "base_rtt": "global",
        "buffer_bytes": buffer_mib * 2**20,
        "pfc": True,
        "pfc_reserve_bytes": 4096,
        "pfc_headroom_rule": "three-delays",
        "pfc_alpha_shift": 3,
        "pfc_resume_offset_bytes": 3072,
        "pfc_frame_bytes": 43,
        "ecn": True,
        "ecn_kmin_bytes": kmin_bytes,
        "ecn_kmax_bytes": kmax_bytes,
        "ecn_pmax": pmax,
        "acks": "in-band",
        "ack_every_packets": 1,
        "ack_obeys_pause": not ack_high_priority,
        "dependency": "sender",
        "nic_wake": "earliest",
        "order": "scheduled",
        "reliability": "go-back-n",
    }
    if int_multiple:
        network["int_tx_unit_bytes"] = INT_TX_STEP_BYTES * int_multiple
        network["int_queue_unit_bytes"] = INT_QUEUE_STEP_BYTES * int_multiple
    return {"cca": dict(cca), "network": network}
