"""One flow: its sender and receiver state around its `Cca`. Shared by both motion models.

Nothing here knows ports or the event heap. The models call `build_packet`, `receive_data`,
`receive_ack`, `on_timeout` and read `next_send_ps`; what must happen elsewhere is returned.

Two clocks: global time, and the flow's own clock `now - skew_ps`, which starts at 0 with the flow and
stands still while the flow is fast-forwarded. Sequence numbers count simulated bytes: skipping n
bytes lowers `end_seq` by n and raises `skipped_bytes`, so that packets in flight need no change.
"""

from __future__ import annotations

from typing import Any

from ..contracts.cca import Cca, Feedback, FlowInfo, LossKind
from ..contracts.routing import FlowKey
from .packet import ACK, DATA, NACK, Packet
from .rules.reliability import IN_ORDER, OUT_OF_ORDER, GoBackNReceiver, SelectiveReceiver, SelectiveSender

_PS_BITS = 8_000_000_000_000


class Flow:
    """A queue pair and its peer."""

    __slots__ = (
        "ack_bytes",
        "ack_every",
        "ack_key",
        "ack_path",
        "ack_router",
        "acks_owed",
        "base_rtt_ps",
        "cca",
        "cca_receiver",
        "cca_timer_ps",
        "data_key",
        "data_path",
        "data_router",
        "dst",
        "echo_owed",
        "end_seq",
        "fct_ps",
        "feedback",
        "finished",
        "first_port",
        "frame_bytes",
        "frame_ps_bits",
        "gap_ps",
        "gap_rate",
        "has_cca_timer",
        "header_bytes",
        "ideal_fct_ps",
        "index",
        "info",
        "last_gap_ps",
        "last_size",
        "line_rate_bps",
        "next_send_ps",
        "nic",
        "partition",
        "payload_bytes",
        "rcv",
        "repaces",
        "resolution_ps",
        "retransmitted_bytes",
        "rto_deadline_ps",
        "rto_ps",
        "rx_last_byte_ps",
        "skew_ps",
        "skipped_bytes",
        "snd",
        "snd_nxt",
        "snd_una",
        "source",
        "spare",
        "src",
        "start_ps",
        "telemetry",
        "ticks",
        "timeouts",
        "transfer",
        "trusted_seq",
    )

    def __init__(
        self, index: int, transfer: Any, start_ps: int, info: FlowInfo, cca: Cca, settings: FlowSettings
    ) -> None:
        self.index = index
        self.transfer = transfer
        self.src, self.dst = transfer.src, transfer.dst
        self.start_ps = start_ps
        self.skew_ps = start_ps
        self.info = info
        self.cca = cca
        self.base_rtt_ps = info.base_rtt_ps
        self.line_rate_bps = info.line_rate_bps
        self.payload_bytes = info.payload_bytes
        self.frame_bytes = info.frame_bytes
        self.frame_ps_bits = info.frame_bytes * _PS_BITS
        self.resolution_ps = info.resolution_ps
        self.header_bytes = info.frame_bytes - info.payload_bytes
        self.telemetry = cca.telemetry == "int"
        self.repaces = cca.repaces_pending
        self.has_cca_timer = type(cca).next_timer_ps is not Cca.next_timer_ps
        self.cca_receiver = cca.make_receiver()
        self.ack_bytes = settings.ack_bytes
        self.ack_every = settings.ack_every_packets
        self.rto_ps = settings.rto_ps(info)
        self.feedback = Feedback()
        # Sender.
        self.end_seq = transfer.size_bytes
        self.snd_una = 0
        self.snd_nxt = 0
        self.trusted_seq = 0
        self.next_send_ps = start_ps
        self.gap_rate: int | None = -1
        self.gap_ps = 0
        self.last_gap_ps = 0
        self.last_size = 0
        self.rto_deadline_ps = 0
        self.cca_timer_ps: int | None = None
        self.finished = False
        self.fct_ps = -1
        self.timeouts = 0
        self.retransmitted_bytes = 0
        self.skipped_bytes = 0
        selective = settings.selective
        self.snd = SelectiveSender(settings.reorder_window(info)) if selective else None
        self.spare: Packet | None = None
        # Receiver.
        self.rcv: Any = SelectiveReceiver() if selective else GoBackNReceiver()
        self.rx_last_byte_ps = -1
        self.acks_owed = 0
        self.echo_owed = False
        # Filled in by the network and by acceleration.
        sport = transfer.sport if transfer.sport is not None else 0
        self.data_key = FlowKey(flow_index=index, src=self.src, dst=self.dst, sport=sport, dport=transfer.dport)
        self.ack_key = FlowKey(
            flow_index=index, src=self.dst, dst=self.src, sport=transfer.dport, dport=sport, is_ack=True
        )
        self.data_path: Any = ()
        self.ack_path: Any = ()
        self.data_router: Any = None
        self.ack_router: Any = None
        self.ideal_fct_ps = 0
        self.first_port: Any = None
        self.nic: Any = None
        self.ticks: Any = None
        self.partition: Any = None
        self.source = "simulated"

    # --- sender ---

    def bytes_left(self) -> bool:
        """Whether anything is left to send (again)."""
        return self.snd_nxt < self.end_seq or (self.snd is not None and bool(self.snd.queue))

    def may_send(self) -> bool:
        """Whether bytes are left and the window is open (the pacing deadline aside)."""
        if self.snd is not None and self.snd.queue and not self.finished:
            return True
        if self.snd_nxt >= self.end_seq:
            return False
        window = self.cca.window_bytes
        return window is None or self.snd_nxt - self.snd_una < window

    def build_packet(self, now_ps: int) -> Packet:
        """The next data frame, which begins to leave now; advances the pacing deadline."""
        snd = self.snd
        if snd is not None and snd.queue:
            seq, payload = snd.queue.pop(0)
            self.retransmitted_bytes += payload
        else:
            seq = self.snd_nxt
            payload = self.end_seq - seq
            if payload > self.payload_bytes:
                payload = self.payload_bytes
            self.snd_nxt = seq + payload
            if seq < self.trusted_seq:
                self.retransmitted_bytes += min(payload, self.trusted_seq - seq)
            else:
                self.trusted_seq = seq + payload
        if snd is not None:
            snd.on_send(seq, payload)
        if not self.rto_deadline_ps:
            self.rto_deadline_ps = now_ps + self.rto_ps
        size = payload + self.header_bytes
        rate = self.cca.rate_bps
        if rate != self.gap_rate:
            self.gap_rate = rate
            self.gap_ps = self._gap(self.frame_bytes)
        gap = self.gap_ps if size == self.frame_bytes else self._gap(size)
        self.last_size = size
        self.last_gap_ps = gap
        self.next_send_ps = now_ps + gap
        path = self.data_path
        if path is None:
            path = self.data_router(self.data_key, now_ps, seq)
        packet = self.spare
        if packet is None:
            packet = Packet(self, seq, payload, size, path, [] if self.telemetry else None, now_ps - self.skew_ps)
            if self.data_path is None:
                packet.there = path
            return packet
        # The object that brought the last ACK is this flow's to use again (benchmarks/NOTES.md).
        self.spare = None
        packet.kind = DATA
        packet.seq = seq
        packet.payload = payload
        packet.size = size
        packet.path = path
        packet.hop = 0
        packet.hops = [] if self.telemetry else None
        packet.sent_ps = now_ps - self.skew_ps
        packet.marked = packet.echo = False
        packet.ingress = None
        if self.data_path is None:
            packet.there = path
        return packet

    def _gap(self, size: int) -> int:
        rate = self.cca.rate_bps
        if rate is None or rate > self.line_rate_bps:
            rate = self.line_rate_bps
        resolution = self.resolution_ps
        if resolution == 1:
            return (size * _PS_BITS + (rate >> 1)) // rate
        unit = rate * resolution
        return (size * _PS_BITS + unit // 2) // unit * resolution

    def receive_ack(self, packet: Packet, now_ps: int) -> bool:
        """Process an ACK or NACK; True when the last byte is now acknowledged."""
        seq = packet.seq
        clock = now_ps - self.skew_ps
        acked = seq - self.snd_una
        cca = self.cca
        if acked > 0:
            self.snd_una = seq
            if self.snd_nxt < seq:
                self.snd_nxt = seq
            self.rto_deadline_ps = now_ps + self.rto_ps if self.snd_nxt > seq or self.snd is not None else 0
            self.timeouts = 0
        else:
            acked = 0
        if self.snd is not None:
            self._selective_ack(packet, clock)
        elif packet.kind == NACK and seq >= self.snd_una and self.snd_nxt > seq:
            lost = self.snd_nxt - seq
            self.snd_nxt = seq
            cca.on_loss(clock, lost, LossKind.NACK)
        fb = self.feedback
        fb.now_ps = clock
        fb.ack_seq = seq
        fb.next_seq = self.snd_nxt
        fb.acked_bytes = acked
        fb.rtt_ps = clock - packet.sent_ps
        fb.sent_ps = packet.sent_ps
        fb.ecn_marked = packet.echo
        hops = packet.hops
        fb.hops = () if hops is None else hops
        if packet.there:
            fb.hop_ports = tuple(port.index for port in packet.there[1:])
        cca.on_ack(fb)
        self.spare = packet
        rate = cca.rate_bps
        if rate != self.gap_rate and self.repaces:
            # HPCC moves the deadline of the frame already being paced by the change of the last gap.
            self.gap_rate = rate
            if rate is None or rate > self.line_rate_bps:
                rate = self.line_rate_bps
            unit = rate * self.resolution_ps
            self.gap_ps = gap = (self.frame_ps_bits + unit // 2) // unit * self.resolution_ps
            if self.last_size != self.frame_bytes:
                gap = self._gap(self.last_size)
            self.next_send_ps += gap - self.last_gap_ps
            self.last_gap_ps = gap
        if self.snd_una >= self.end_seq:
            self.finished = True
            self.rto_deadline_ps = 0
            return True
        return False

    def _repace(self) -> None:
        # HPCC moves the deadline of the frame already being paced by the change of the last gap.
        rate = self.cca.rate_bps
        if rate != self.gap_rate:
            self.gap_rate = rate
            self.gap_ps = gap = self._gap(self.frame_bytes)
            if self.last_size != self.frame_bytes:
                gap = self._gap(self.last_size)
            self.next_send_ps += gap - self.last_gap_ps
            self.last_gap_ps = gap

    def _selective_ack(self, packet: Packet, clock_ps: int) -> None:
        assert self.snd is not None
        lost = self.snd.on_ack(packet.seq, packet.first_seq)
        if lost:
            self.cca.on_loss(clock_ps, lost, LossKind.NACK)
        if not self.snd.sent and not self.snd.queue:
            self.rto_deadline_ps = 0

    def on_timeout(self, now_ps: int) -> None:
        """Nothing was acknowledged for the timeout: go back to the oldest unacknowledged byte."""
        clock = now_ps - self.skew_ps
        self.timeouts += 1
        if self.snd is not None:
            lost = self.snd.on_timeout()
        else:
            lost = self.snd_nxt - self.snd_una
            self.snd_nxt = self.snd_una
        self.rto_deadline_ps = now_ps + (self.rto_ps << min(self.timeouts, 6))
        self.cca.on_loss(clock, lost, LossKind.TIMEOUT)
        self.next_send_ps = min(self.next_send_ps, now_ps)

    def cca_deadline_ps(self, now_ps: int) -> int | None:
        """When the CCA's timer is due, in global time."""
        due = self.cca.next_timer_ps(now_ps - self.skew_ps)
        return None if due is None else due + self.skew_ps

    def on_cca_timer(self, now_ps: int) -> None:
        """The time the CCA asked for has come."""
        self.cca.on_timer(now_ps - self.skew_ps)
        if self.repaces:
            self._repace()

    # --- receiver ---

    def receive_data(self, packet: Packet, now_ps: int) -> Packet | None:
        """Process a data frame at the receiver; the frame turned into its ACK, or None."""
        rcv = self.rcv
        seq, payload = packet.seq, packet.payload
        kind = ACK
        if self.snd is None and seq == rcv.next_seq:
            # GoBackNReceiver.take, inlined for speed.
            rcv.next_seq = seq + payload
            rcv.nacked = False
            verdict = IN_ORDER
        else:
            verdict = rcv.take(seq, payload)
            if verdict == OUT_OF_ORDER and self.snd is None:
                kind = NACK
        echo = packet.marked
        if self.cca_receiver is not None:
            echo = self.cca_receiver.on_data(now_ps - self.skew_ps, echo)
        last = rcv.next_seq >= self.end_seq and self.rx_last_byte_ps < 0
        if last:
            self.rx_last_byte_ps = now_ps - self.start_ps
        if kind == NACK:
            if not rcv.wants_nack():
                return None
        elif self.ack_every > 1 and verdict == IN_ORDER and not last:
            self.acks_owed += 1
            self.echo_owed = self.echo_owed or echo
            if self.acks_owed < self.ack_every:
                return None
        if self.ack_every > 1:
            echo = echo or self.echo_owed
            self.acks_owed, self.echo_owed = 0, False
        path = self.ack_path
        if path is None:
            path = self.ack_router(self.ack_key, now_ps, seq)
            if path is None:
                return None
        packet.kind = kind
        packet.first_seq = seq
        packet.seq = rcv.next_seq
        packet.size = self.ack_bytes
        packet.path = path
        packet.hop = 0
        packet.echo = echo
        packet.marked = False
        packet.ingress = None
        return packet


class FlowSettings:
    """What the flows of a network share.

    drain_ps: how long a full switch buffer takes to empty at a host's rate; a flow may have to wait
    that long at each switch without anything being lost. in_order: packets of a flow keep their order
    unless one is lost.
    """

    __slots__ = (
        "ack_bytes",
        "ack_every_packets",
        "drain_ps",
        "in_order",
        "reorder_window_packets",
        "rto_given_ps",
        "selective",
    )

    def __init__(
        self,
        ack_bytes: int,
        ack_every: int,
        reorder_window: int | None,
        rto_ps: int | None,
        drain_ps: int,
        selective: bool,
        in_order: bool = True,
    ) -> None:
        self.ack_bytes = ack_bytes
        self.ack_every_packets = ack_every
        self.reorder_window_packets = reorder_window
        self.in_order = in_order
        self.rto_given_ps = rto_ps
        self.drain_ps = drain_ps
        self.selective = selective

    def reorder_window(self, info: FlowInfo) -> int:
        """Packets by which one may be overtaken before it counts as lost: as given, else 3 in order;
        out of order what line rate sends in 4 base RTTs, since paths of equal length differ by their
        queues, and longer queues than that are what congestion control is there to prevent."""
        if self.reorder_window_packets is not None:
            return self.reorder_window_packets
        return 3 if self.in_order else max(64, 4 * info.bdp_bytes // info.payload_bytes)

    def rto_ps(self, info: FlowInfo) -> int:
        """Retransmission timeout: as given, else beyond anything that queueing alone can cause."""
        if self.rto_given_ps is not None:
            return self.rto_given_ps
        return 20 * info.base_rtt_ps + 100_000_000 + max(0, info.hops - 1) * self.drain_ps
