"""The plain way to write a network in SimPy: one Store and one process per port.

A yardstick for `bench_packet.py`, not a model to use. Flows on a ring of hosts around one switch do
the same work as there (data frames with telemetry, an ACK for each, marking, pacing and window by the
same congestion control); only the motion differs: a Store per port, a process that serialises, a
process per frame for the way along the link. PFC is left out, which makes it faster than it should be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simpy

from wormhole_core import Cca, Feedback, FlowInfo

RATE_BPS = 100_000_000_000
DELAY_PS = 1_000_000
DATA_BYTES, ACK_BYTES, PAYLOAD_BYTES = 1090, 88, 1000
BASE_RTT_PS = 4_160_000
KMIN_BYTES = 400_000
PS_BITS = 8_000_000_000_000

MakeCca = Callable[[FlowInfo], Cca]


class Frame:
    """A frame on its way to host `dst`."""

    __slots__ = ("dst", "flow", "hops", "is_ack", "marked", "sent_ps", "seq", "size")

    def __init__(
        self, flow: Sender, dst: int, size: int, is_ack: bool, seq: int, sent_ps: int, hops: list[Any]
    ) -> None:
        self.flow, self.dst, self.size, self.is_ack = flow, dst, size, is_ack
        self.seq, self.sent_ps, self.hops, self.marked = seq, sent_ps, hops, False


class Port:
    """A queue and the process that sends from it; `deliver(frame)` is called at the far end."""

    def __init__(self, env: simpy.Environment, deliver: Callable[[Frame], None], in_switch: bool) -> None:
        self.env, self.deliver, self.in_switch = env, deliver, in_switch
        self.store = simpy.Store(env)
        self.queue_bytes = self.tx_bytes = self.hops = 0
        env.process(self.run())

    def put(self, frame: Frame) -> None:
        """A frame enters the queue."""
        self.queue_bytes += frame.size
        self.store.put(frame)

    def run(self) -> Any:
        """Serialise one frame after the other; each then travels by itself."""
        while True:
            frame = yield self.store.get()
            self.queue_bytes -= frame.size
            if self.in_switch:
                if self.queue_bytes > KMIN_BYTES:
                    frame.marked = True
                if not frame.is_ack:
                    frame.hops.append((self.env.now, self.tx_bytes, self.queue_bytes, RATE_BPS))
            self.tx_bytes += frame.size
            yield self.env.timeout(frame.size * PS_BITS // RATE_BPS)
            self.env.process(self.travel(frame))

    def travel(self, frame: Frame) -> Any:
        """Propagation."""
        yield self.env.timeout(DELAY_PS)
        self.hops += 1
        self.deliver(frame)


class Sender:
    """A flow: paced by rate, bounded by window, both of its congestion control."""

    def __init__(self, env: simpy.Environment, port: Port, src: int, dst: int, size_bytes: int, cca: Cca) -> None:
        self.env, self.port, self.src, self.dst, self.size_bytes, self.cca = env, port, src, dst, size_bytes, cca
        self.sent = self.acked = 0
        self.feedback = Feedback()
        self.wake = env.event()
        self.done = env.process(self.run())

    def run(self) -> Any:
        """Send a frame, wait for its gap; while the window is closed wait for an ACK."""
        while self.acked < self.size_bytes:
            window = self.cca.window_bytes
            if self.sent < self.size_bytes and (window is None or self.sent - self.acked < window):
                self.port.put(Frame(self, self.dst, DATA_BYTES, False, self.sent, self.env.now, []))
                self.sent += PAYLOAD_BYTES
                yield self.env.timeout(DATA_BYTES * PS_BITS // (self.cca.rate_bps or RATE_BPS))
                continue
            self.wake = self.env.event()
            yield self.wake

    def on_ack(self, frame: Frame) -> None:
        """One more frame is acknowledged."""
        self.acked += PAYLOAD_BYTES
        fb = self.feedback
        fb.now_ps, fb.ack_seq, fb.next_seq, fb.acked_bytes = self.env.now, self.acked, self.sent, PAYLOAD_BYTES
        fb.sent_ps, fb.rtt_ps, fb.ecn_marked, fb.hops = (
            frame.sent_ps,
            self.env.now - frame.sent_ps,
            frame.marked,
            frame.hops,
        )
        self.cca.on_ack(fb)
        if not self.wake.triggered:
            self.wake.succeed()


def run_ring(hosts: int, size_bytes: int, make_cca: MakeCca) -> tuple[int, int]:
    """(frame-hops, simulated ps) of one flow from each host to the next."""
    env = simpy.Environment()
    info = FlowInfo(line_rate_bps=RATE_BPS, base_rtt_ps=BASE_RTT_PS, bdp_bytes=BASE_RTT_PS * RATE_BPS // PS_BITS,
                    payload_bytes=PAYLOAD_BYTES, frame_bytes=DATA_BYTES, hops=2)  # fmt: skip

    def to_switch(frame: Frame) -> None:
        down[frame.dst].put(frame)

    def to_host(frame: Frame) -> None:
        if frame.is_ack:
            frame.flow.on_ack(frame)
        else:
            ack = Frame(frame.flow, frame.flow.src, ACK_BYTES, True, frame.seq, frame.sent_ps, frame.hops)
            up[frame.dst].put(ack)

    up = [Port(env, to_switch, False) for _ in range(hosts)]
    down = [Port(env, to_host, True) for _ in range(hosts)]
    senders = [Sender(env, up[i], i, (i + 1) % hosts, size_bytes, make_cca(info)) for i in range(hosts)]
    env.run(simpy.AllOf(env, [sender.done for sender in senders]))
    return sum(port.hops for port in up + down), int(env.now)
