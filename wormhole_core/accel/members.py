"""Flows and partitions as acceleration sees them."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ..sim.network import FlowPlan
from .recording import Recording


class Member:
    """A flow in a partition: real (`flow` is simulated) or only known by its plan.

    Has the face of a `sim.flow.Flow` that the driver needs, so that a flow that was never simulated
    can finish. All times are picoseconds; `rx_last_byte_ps` and `fct_ps` count from the start.
    """

    __slots__ = ("fct_ps", "finished", "flow", "partition", "plan", "position", "received", "retransmitted_bytes",
                 "rx_last_byte_ps", "source", "start_ps")  # fmt: skip

    def __init__(self, plan: FlowPlan, start_ps: int) -> None:
        self.plan = plan
        self.start_ps = start_ps
        self.flow: Any = None
        self.partition: Any = None
        self.position = -1
        self.received = False
        self.finished = False
        self.rx_last_byte_ps = -1
        self.fct_ps = -1
        self.retransmitted_bytes = 0
        self.source = "simulated"

    @property
    def index(self) -> int:
        """Flow index."""
        return self.plan.index

    @property
    def transfer(self) -> Any:
        """The workload's transfer."""
        return self.plan.transfer

    @property
    def data_key(self) -> Any:
        """What the network hashes."""
        return self.plan.data_key

    @property
    def ideal_fct_ps(self) -> int:
        """FCT alone on its path."""
        return self.plan.ideal_fct_ps

    @property
    def ports(self) -> tuple[Any, ...]:
        """Ports where it can meet others: of its data path and, unless ACKs have a lane, of its ACK path."""
        flow = self.flow
        if flow is not None:
            return (flow.data_path or ()) + (() if self.plan.lane else flow.ack_path or ())
        return self.plan.shared_ports

    def ack_latency_ps(self, ack_bytes: int) -> int:
        """How long an ACK takes back through empty queues."""
        return sum(port.tx_of[ack_bytes] + port.delay_ps for port in self.plan.back)


class Mode(Enum):
    """How a partition moves on."""

    LIVE = "simulated"
    SKIP = "skipped"
    PLAY = "replayed"
    ENDED = "ended"


class Partition:
    """Flows that share ports, between two changes of membership.

    members: all it began with, so that positions stay. frozen: its packets are in their ports but their
    events are out of the heap, since `frozen_ps`. resources: what it owns, its ports among them.
    reserved: bytes taken on switches for what is played. detached: it owns no ports any more, but its
    last flows still finish as recorded. debt: what was ignored at the ends of flows along the chain of
    episodes that led here.
    """

    __slots__ = (
        "cursor", "debt", "detached", "disturbance", "doubt", "foreseen_bytes", "foreseen_ps", "frozen", "frozen_ps",
        "id", "key", "labels", "mark_share", "marks_seen", "members", "mode", "policy", "policy_tick", "ports", "rates",
        "recording", "reserved", "resources", "start_ps", "tick", "unfinished", "watched",
    )  # fmt: skip

    def __init__(self, number: int, members: list[Member], ports: list[Any], start_ps: int) -> None:
        self.id = number
        self.members = members
        self.ports = ports
        self.resources: list[Any] = ports
        self.start_ps = start_ps
        self.mode = Mode.LIVE
        self.unfinished = sum(1 for m in members if not m.finished)
        # Memo: key and recording (its own while `recording.leader` is this partition), next event.
        self.key: bytes | None = None
        self.recording: Recording | None = None
        self.cursor = 0
        self.labels: list[Any] = []
        self.reserved: dict[Any, int] = {}
        self.detached = False
        self.debt = 0.0
        # Skips: rates in bytes per ps by position; what was counted for a foreseen end; stated error.
        self.frozen = False
        self.frozen_ps = 0
        self.rates: tuple[float, ...] = ()
        self.foreseen_ps = self.foreseen_bytes = 0
        self.doubt = 0.0
        self.marks_seen: list[list[tuple[int, int]]] = []
        self.mark_share: dict[Any, float] = {}
        # Policy: watched is how many flows it saw; ticks in the heap.
        self.policy: Any = None
        self.policy_tick: Any = None
        self.tick: Any = None
        self.disturbance: Any = None
        self.watched = 0
        for position, member in enumerate(members):
            member.partition = self
            member.position = position

    def real_flows(self) -> list[Any]:
        """Flows that are simulated and not finished, by index."""
        return [m.flow for m in self.members if m.flow is not None and not m.finished]

    def active(self) -> list[Member]:
        """Members not finished."""
        return [m for m in self.members if not m.finished]
