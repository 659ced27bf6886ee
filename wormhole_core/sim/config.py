"""The `[network]` section of an experiment: frames, buffers, PFC, ECN, acknowledgements, reliability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from ..component import between, non_negative, one_of, optional, positive
from ..units import PS_PER_US, parse_rate_bps, parse_size_bytes, parse_time_ps

MIN_RTO_PS = PS_PER_US
"""Shorter timeouts expire many times before any answer can be there."""
_FAILURE = 'entries like ["1ms", 3, 5]: the time, and the two nodes of the link'
_THRESHOLDS = 'entries like "100Gbps" = ["400kB", "1600kB", 0.2]: kmin, kmax and the probability at kmax'


def _failures(value: Any) -> Any:
    """(time_ps, node a, node b) each; raises ValueError."""
    if isinstance(value, str) or isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise ValueError(f"link_failures must have {_FAILURE}; got {value!r}")
    failures = []
    for entry in value:
        match entry:
            case [time, int(a), int(b)] if not isinstance(a, bool) and not isinstance(b, bool):
                time_ps = parse_time_ps(time)
                if time_ps < 0:
                    raise ValueError(f"link_failures: a link cannot fail at {time!r}; times must be at least 0")
                failures.append((time_ps, a, b))
            case _:
                raise ValueError(f"link_failures must have {_FAILURE}; got {entry!r}")
    return tuple(failures)


def _thresholds(value: Any) -> Any:
    """rate_bps -> (kmin_bytes, kmax_bytes, pmax); raises ValueError."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ValueError(f"ecn_map must be a table with {_THRESHOLDS}; got {value!r}")
    ports = {}
    for rate, entry in value.items():
        match entry:
            case [low, high, int() | float() as pmax] if not isinstance(pmax, bool):
                kmin, kmax, rate_bps = parse_size_bytes(low), parse_size_bytes(high), parse_rate_bps(rate)
                if not (0 <= kmin <= kmax and 0 <= pmax <= 1 and rate_bps > 0):
                    raise ValueError(
                        f"ecn_map: {rate} = {entry!r} needs a rate above 0, 0 <= kmin <= kmax, and 0 <= pmax <= 1"
                    )
                ports[rate_bps] = kmin, kmax, pmax
            case _:
                raise ValueError(f"ecn_map must have {_THRESHOLDS}; got {rate} = {entry!r}")
    return ports


def _rto_is_sensible(_instance: Any, _attribute: Any, value: int | None) -> None:
    if value is not None and value < MIN_RTO_PS:
        raise ValueError(f"rto_ps must be at least 1us, got {value} ps")


@attrs.frozen(kw_only=True)
class NetworkConfig:
    """Options of the packet model; None means derived from rates and delays (and then printed).

    Sizes are bytes on the wire unless said otherwise. `ecn_map` and `link_failures` may come from imported files.
    """

    payload_bytes: int = positive(default=1000)
    """Most that one data frame carries of a flow."""
    header_bytes: int = positive(default=48)
    """Ethernet 14 + IPv4 20 + UDP 8 + sequence 6; telemetry of the CCA is added to it."""
    ack_bytes: int = positive(default=60)
    """Size of an ACK without INT; with INT it is 88."""
    clock_resolution_ps: int = positive(default=1)
    """Serialisation times and pacing gaps are rounded to the nearest multiple."""
    base_rtt: str = one_of("flow", "global", default="flow")
    """What FlowInfo.base_rtt_ps is: the flow's own or the largest of the network."""

    buffer_bytes: int = positive(default=32 * 2**20)
    """Packet buffer of each switch that has no size of its own, shared by its ports."""
    pfc: bool = True
    """Switches pause the sender of a port whose share of the buffer is full. false: they drop."""
    pfc_reserve_bytes: int = non_negative(default=4096)
    """Per ingress port: buffer that is always its own."""
    pfc_headroom_bytes: int | None = optional()
    """Per ingress port; derived: enough for what is on the wire when a pause is sent."""
    pfc_headroom_rule: str = one_of("derived", "three-delays", default="derived")
    """"three-delays": rate x delay x 3, as the reference simulator."""
    pfc_alpha_shift: int = between(-30, 30, default=3)
    """Dynamic threshold = free shared buffer / 2**shift for ports at the hosts' rate; one power of
    two larger per doubling of the port rate."""
    pfc_resume_offset_bytes: int = non_negative(default=3072)
    """A paused sender goes on when its port is this far below the threshold."""
    pfc_frame_bytes: int = positive(default=43)
    """Size of a PAUSE or RESUME frame; it takes time on the wire, no buffer."""

    ecn: bool = True
    """Switches mark frames that leave a queue longer than the thresholds."""
    ecn_kmin_bytes: int | None = optional()
    """Queue from which on some frames are marked. Derived: 400 kB at 100 Gbps,
    in proportion at other rates; more on long links."""
    ecn_kmax_bytes: int | None = optional()
    """Queue from which on all frames are marked. Derived: 4 x ecn_kmin_bytes."""
    ecn_pmax: float = between(0.0, 1.0, default=0.2)
    """Probability of marking just below ecn_kmax_bytes; it rises evenly from 0 at ecn_kmin_bytes."""
    ecn_scales_with_rate: bool = True
    """True: the two thresholds are meant at 100 Gbps and scale with each port's rate."""
    ecn_map: Mapping[int, tuple[int, int, float]] | None = attrs.field(default=None, converter=_thresholds)
    """rate_bps -> (kmin_bytes, kmax_bytes, pmax); overrides the three fields above."""

    int_tx_unit_bytes: int = positive(default=1)
    """INT: bytes sent are rounded down to multiples of this (the reference: 128 x INT_MULTI)."""
    int_queue_unit_bytes: int = positive(default=1)
    """INT: queue lengths are rounded down to multiples of this (the reference: 80 x INT_MULTI)."""

    acks: str = one_of("in-band", "lane", default="in-band")
    """"lane": ACKs travel without taking link capacity or buffer."""
    ack_every_packets: int = positive(default=1)
    """An ACK per so many packets, and for the last one. A window of fewer packets waits for the timeout."""
    ack_obeys_pause: bool = True
    """A paused host also holds its ACKs (False: ACKs have their own, never paused queue there)."""
    dependency: str = one_of("receiver", "sender", default="receiver")
    """When a transfer counts as done for those that wait for it: the receiver has the last byte, or
    the sender has the last ACK."""
    nic_wake: str = one_of("any", "earliest", default="any")
    """"any": an idle NIC wakes for the first queue pair that may send. "earliest": only when the
    earliest pacing deadline lies ahead, as the reference simulator."""
    order: str = one_of("index", "scheduled", default="index")
    """What comes first within one instant. "index": by kind of event, then by port or flow. "scheduled":
    what was scheduled first, as the reference simulator; its NIC also keeps a timer it has set, and an
    ACK that arrives as a transmission ends waits for that end. `run.model = "process"` always takes "index"."""

    reliability: str = one_of("derived", "go-back-n", "selective-repeat", default="derived")
    """Derived: "go-back-n" where a flow stays on its path; "selective-repeat" for routings that choose
    per packet, whose packets overtake each other (going back for each would end in timeouts)."""
    rto_ps: int | None = attrs.field(default=None, validator=_rto_is_sensible)
    """Retransmission timeout; derived: 20 x base RTT + 100 us, and for each switch on the way the time
    its buffer takes to drain."""
    reorder_window_packets: int | None = optional()
    """Selective repeat: a packet is lost when one sent this many packets later is acknowledged.
    Derived: 3 where a flow stays on its path, else what it sends in 4 base RTTs, at least 64."""
    link_failures: tuple[tuple[int, int, int], ...] = attrs.field(default=(), converter=_failures)
    """(time, node, node) each, as ["1ms", 3, 5]: the link between them goes down then, and routes change."""


def network_fields() -> Mapping[str, Any]:
    """Field name -> attrs attribute, for the command line and messages."""
    return {a.name: a for a in attrs.fields(NetworkConfig)}
