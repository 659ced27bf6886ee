"""Congestion control: one `Cca` per flow at the sender, optionally one `CcaReceiver` at the receiver.

`Component.build(config, flow: FlowInfo, rng: Stream) -> Cca`. The sender reads `window_bytes` and
`rate_bps` after every call. All times are the flow's own clock in integer picoseconds: it starts at
0 with the flow and does not advance while the flow is fast-forwarded, so a CCA never needs to know
that time was skipped. Time stamps in `HopRecord` are on each port's clock: only their differences
mean anything, as with real switches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import attrs

State = tuple[Any, ...]
"""Nested tuples of None, bool, int, float and str; never pickled, compared with ==."""


@attrs.frozen(kw_only=True)
class FlowInfo:
    """What a CCA may know of its flow.

    line_rate_bps: rate of the sending NIC port. base_rtt_ps: propagation both ways plus one payload
    serialisation per forward hop, of this flow or of the whole network (`network.base_rtt`).
    bdp_bytes: line rate x base RTT. size_bytes: 0 unless the class sets `uses_size`.
    payload_bytes, frame_bytes: payload and wire size of a full data frame. hops: links on the path.
    resolution_ps: clock resolution.
    """

    line_rate_bps: int
    base_rtt_ps: int
    bdp_bytes: int
    payload_bytes: int
    frame_bytes: int
    hops: int
    size_bytes: int = 0
    resolution_ps: int = 1


class HopRecord(NamedTuple):
    """In-band telemetry of one switch egress port, stamped when the frame began to leave it.

    ts_ps: port clock. tx_bytes: bytes the port had sent before this frame. queue_bytes: bytes left in
    its queue. rate_bps: its line rate. (HPCC, SIGCOMM 2019, section 3.1.) `Feedback.hops` holds plain
    tuples in this order: to name the fields of each would cost more than most algorithms do.
    """

    ts_ps: int
    tx_bytes: int
    queue_bytes: int
    rate_bps: int


class Feedback:
    """One acknowledgement as the sender sees it. The record is reused: copy what you keep.

    now_ps: flow clock. ack_seq: all bytes before it are acknowledged. next_seq: next byte the sender
    will send. acked_bytes: newly acknowledged. rtt_ps: now minus the send time of the packet that
    caused this ACK. ecn_marked: its echo bit. hops: telemetry of that packet, first switch first
    (empty unless `telemetry = "int"`); plain tuples, to be unpacked as `ts_ps, tx_bytes, queue_bytes,
    rate_bps` (`HopRecord`), in a sequence made for this frame, which may be kept but not changed.
    hop_ports: empty while all packets of the flow take one path; else a number per record that says
    which port made it, since only records of one port may be compared.
    sent_ps: when that packet was sent.
    """

    __slots__ = ("ack_seq", "acked_bytes", "ecn_marked", "hop_ports", "hops", "next_seq", "now_ps", "rtt_ps", "sent_ps")

    def __init__(self) -> None:
        self.now_ps = 0
        self.ack_seq = 0
        self.next_seq = 0
        self.acked_bytes = 0
        self.rtt_ps = 0
        self.sent_ps = 0
        self.ecn_marked = False
        self.hops: Sequence[tuple[int, int, int, int]] = ()
        self.hop_ports: tuple[int, ...] = ()


class LossKind:
    """Why `on_loss` was called."""

    NACK = "nack"
    TIMEOUT = "timeout"


class Cca(ABC):
    """Congestion control of one flow."""

    __slots__ = ("rate_bps", "window_bytes")

    telemetry: ClassVar[str] = "none"
    """`"none"`, `"timestamp"` (8 B in each data frame) or `"int"` (42 B in data and ACK frames)."""
    reacts_to: ClassVar[frozenset[str]] = frozenset()
    """Subset of {"marks", "delay", "loss", "telemetry"}; the conformance kit checks it."""
    repaces_pending: ClassVar[bool] = False
    """True: a change of rate also moves the deadline of the next packet already being paced."""
    uses_size: ClassVar[bool] = False
    """True: `FlowInfo.size_bytes` is filled in (and remembered episodes are then kept per size)."""

    window_bytes: int | None
    """Bytes that may be unacknowledged; None: no window."""
    rate_bps: int | None
    """Pacing rate; None: line rate."""

    @property
    def target_utilisation(self) -> float:
        """Share of a switch port's capacity, headers and ACKs included, that this algorithm aims to fill
        (above 0, at most 1). Only fluid mode reads it."""
        return 1.0

    @abstractmethod
    def on_ack(self, fb: Feedback) -> None:
        """React to one acknowledgement."""

    def on_loss(self, now_ps: int, lost_bytes: int, kind: str) -> None:
        """React to a detected loss (`LossKind`)."""

    def on_signal(self, now_ps: int, kind: str, value: int) -> None:
        """React to a frame of the receiver's own making. Provisional: receivers cannot send any yet."""

    def next_timer_ps(self, now_ps: int) -> int | None:
        """When `on_timer` is wanted next (flow clock, > now_ps except in the same call), or None.

        Asked after every other call."""
        return None

    def on_timer(self, now_ps: int) -> None:
        """The time asked for has come."""

    @abstractmethod
    def snapshot(self, now_ps: int, snd_una: int) -> State:
        """All state; times relative to now_ps, sequence numbers relative to snd_una."""

    @abstractmethod
    def restore(self, state: State, now_ps: int, snd_una: int) -> None:
        """Become what `snapshot` described, at another time and place in the byte stream."""

    def settling_ps(self) -> int | None:
        """How long rates take to settle after a change, None if unknown."""
        return None

    def period_ps(self) -> int | None:
        """Length of one cycle of a rate that oscillates for ever, None if it does not or unknown."""
        return None

    def scale(self, factor: float, now_ps: int) -> bool:
        """Move to `factor` times the present rate and window; False if that is not possible."""
        return False

    def make_receiver(self) -> CcaReceiver | None:
        """The receiver's half, or None: every mark is echoed on its ACK."""
        return None


class CcaReceiver:
    """Receiver half of a CCA: decides which marks are echoed."""

    __slots__ = ()

    def on_data(self, now_ps: int, ecn_marked: bool) -> bool:
        """A data frame arrived; return the echo bit for its ACK. now_ps is the flow clock."""
        return ecn_marked

    def snapshot(self, now_ps: int) -> State:
        """All state, times relative to now_ps."""
        return ()

    def restore(self, state: State, now_ps: int) -> None:
        """Become what `snapshot` described."""
