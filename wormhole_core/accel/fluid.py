"""The fluid yardstick: flows as max-min fair shares of their paths, for a first look in milliseconds.

No frames and no queues: a flow moves at its fair share of every egress port on its data path and,
with its acknowledgements, on its ACK path. What of the packet model is kept: frame sizes and rounded
serialisation times (headers and ACK frames cost what they cost on the wire), the routes of `Network`,
the utilisation a CCA aims at (`Cca.target_utilisation`), the latency of an unloaded path, link
failures, and the order of the late batch (`Driver`).

What is left out, so that the difference to packet mode shows what packets do: convergence to the fair
share, standing queues, marks, losses, pauses, windows, and that ACKs lag half a round trip behind.
Routings that choose per packet are taken to spread evenly over all shortest paths. Results are exact
integers: two runs are equal to the picosecond. An arrival or departure costs time in proportion to the
flows connected with it (some 3 us each): a thousand flows that all hang together and end one by one
take a second or two.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from ..contracts.observer import Observer
from ..contracts.result import LinkRecord
from ..contracts.routing import Routing
from ..contracts.topology import Graph
from ..contracts.workload import Transfer, Workload
from ..errors import ConfigError, StalledError
from ..rng import stream
from ..sim.config import NetworkConfig
from ..sim.driver import Driver
from ..sim.network import MakeCca, Network
from ..units import PS_PER_S, format_size, format_time
from .fluid_claims import Claims, FluidPort, FluidShare
from .max_min import RATE_BITS, Bottleneck, Group, reshare

FAIL, DEPART, RECEIVE, COMPLETE, LATE = range(5)
"""Order of what happens at one instant."""


class FluidTotals:
    """Counters of a run, as `sim.simulation.Totals`. Nothing is dropped, marked or paused, and no frame
    is simulated: `frame_hops_represented` says how many the finished flows stand for."""

    def __init__(self, simulation: FluidSimulation) -> None:
        counters, now_ps = simulation.driver.counters, simulation.now_ps
        self.flows_started = counters.flows_started
        self.flows_finished = counters.flows_finished
        self.collectives_finished = counters.collectives_finished
        self.bytes_finished = counters.bytes_finished
        self.bytes_acked = self.bytes_finished + sum(
            share.owner.transfer.size_bytes * share.moved_by(now_ps) // share.amount
            for share in simulation.shares.values()
        )
        self.retransmitted_bytes = self.drops = self.pauses = self.marks = self.frame_hops = 0
        self.events = simulation.executed
        self.frame_hops_represented = sum(port.tx_frames for port in simulation.ports)


class FluidSimulation:
    """A run; `advance` moves it on in slices. The parameters are those of `sim.simulation.Simulation`.

    model must be "event" (there are no frames for another model to move), no_progress_ps has no effect
    (shares always move). Raises ConfigError for hosts that do not exist or cannot be reached.
    """

    def __init__(
        self,
        graph: Graph,
        network: NetworkConfig,
        *,
        make_cca: MakeCca,
        workload: Workload,
        routing: Routing,
        per_flow_routing: bool = True,
        seed: int = 1,
        model: str = "event",
        observers: Sequence[Observer] = (),
        start_jitter_ps: int = 0,
        no_progress_ps: int | None = None,
    ) -> None:
        if model != "event":
            raise ConfigError(
                f"run.model {model!r} moves frames and fluid mode has none; leave run.model out or use packet mode"
            )
        self.network = Network(graph, network, make_cca, routing, per_flow_routing, seed)
        jitter = stream(seed, "jitter") if start_jitter_ps else None
        self.driver = Driver(
            workload, self._start_flow, self._wake, observers, network.dependency == "receiver", start_jitter_ps, jitter
        )
        self.executed = 0
        self.shares: dict[int, FluidShare] = {}
        self._now = 0
        self._heap: list[tuple[int, int, int, Any]] = []
        self._serial = 0
        self._changed: dict[Bottleneck, None] = {}
        self.claims = Claims(self.network)
        self.ports = self._make_ports()
        self.network.finish()
        for time_ps, a, b in network.link_failures:
            self._push(time_ps, FAIL, (a, b))
        self.driver.begin()

    def _make_ports(self) -> list[FluidPort]:
        network = self.network
        kinds = network.graph.nodes
        for a, b, data in sorted(network.graph.edges(data=True), key=lambda e: e[2]["link_index"]):
            for node, peer in ((a, b), (b, a)):
                is_switch = kinds[node]["kind"] == "switch"
                port = FluidPort(
                    len(network.port_list), node, peer, is_switch, data, network.config.clock_resolution_ps
                )
                network.ports[node, port.link_index] = port
                network.port_list.append(port)
        return network.port_list

    # --- events ---

    def _push(self, time_ps: int, kind: int, what: Any) -> None:
        self._serial += 1
        heappush(self._heap, (time_ps, kind, self._serial, what))

    def _wake(self, time_ps: int) -> None:
        self._push(time_ps, LATE, None)

    def _handle(self, kind: int, what: Any) -> None:
        now = self._now
        if kind == LATE:
            self.driver.late(now)
        elif kind == DEPART:
            self._depart(what)
        elif kind == COMPLETE:
            self.driver.completed(what, now)
        elif kind == RECEIVE:
            self.driver.received(what, now)
        else:
            self._fail_link(*what)

    def _depart(self, group: Group) -> None:
        if not group.alive:
            return
        group.alive = False
        now = self._now
        for share in group.shares:
            assert isinstance(share, FluidShare)
            if share.ends_ps != now:
                continue
            flow = share.owner
            share.moved = share.amount
            self._detach(share)
            del self.shares[flow.index]
            ahead_ps, back_ps = share.latency_ps
            flow.rx_last_byte_ps = now + ahead_ps - flow.start_ps
            if self.driver.done_at_receiver:
                self._push(now + ahead_ps, RECEIVE, flow)
            self._push(now + ahead_ps + back_ps, COMPLETE, flow)

    def _fail_link(self, a: int, b: int) -> None:
        """The links between two nodes go down; flows are routed again. Those without a way stop for good."""
        network, now = self.network, self._now
        self.claims.forget_routes()
        for data in (network.graph.get_edge_data(a, b) or {}).values():
            network.take_down(data["link_index"])
            for node in (a, b):
                network.ports[node, data["link_index"]].down = True
        for share in list(self.shares.values()):
            if not any(port.down for port, _ in share.weights):  # type: ignore[attr-defined]
                continue
            share.moved = share.moved_by(now)
            share.settled_ps, share.rate = now, 0
            self._detach(share)
            try:
                network.set_paths(share.owner, None, now)
                self._attach(share)
            except ConfigError:
                share.weights, share.ends_ps = (), -1

    # --- flows ---

    def _start_flow(self, transfer: Transfer, index: int, now_ps: int) -> None:
        flow = self.network.make_flow(index, transfer, now_ps)
        flow.source = "fluid"
        share = self.shares[index] = FluidShare(flow, self.claims.amount(transfer.size_bytes), now_ps)
        self._attach(share)

    def _attach(self, share: FluidShare) -> None:
        self.claims.attach(share)
        self._note_change(share)

    def _note_change(self, share: FluidShare) -> None:
        for port, _ in share.weights:
            self._changed[port] = None

    def _detach(self, share: FluidShare) -> None:
        """Give the ports back, crediting what passed them since the share was attached."""
        self._note_change(share)
        share.detach()
        for port, size_bytes, frames in self.claims.passed(share, share.moved):
            port.tx_bytes += size_bytes
            port.tx_frames += frames

    # --- running ---

    @property
    def now_ps(self) -> int:
        """Simulated time."""
        return self._now

    @property
    def finished(self) -> bool:
        """Whether everything the workload wanted is done."""
        return self.driver.finished

    @property
    def counters(self) -> FluidTotals:
        """Totals as of now."""
        return FluidTotals(self)

    def advance(self, max_events: int = 50_000, until_ps: int | None = None) -> bool:
        """Run a slice; True when everything is done or until_ps is reached.

        Raises StalledError if work is left but nothing will happen."""
        heap = self._heap
        for _ in range(max_events):
            if self._changed and (not heap or heap[0][0] > self._now):
                self._reshare()
            if not heap:
                if self.driver.finished:
                    return True
                text = f"the run stalled at {format_time(self._now)}: no event is left, but work is left"
                raise StalledError("\n".join([text, *self.pending()]))
            if until_ps is not None and heap[0][0] > until_ps:
                self._now = max(self._now, until_ps)
                return True
            self._now, kind, _, what = heappop(heap)
            self.executed += 1
            self._handle(kind, what)
            if kind == LATE and self.driver.finished:
                return True
        return self.driver.finished

    def _reshare(self) -> None:
        for group in reshare(self._changed, self._now):
            self._push(group.ends_ps, DEPART, group)
        self._changed.clear()

    def pending(self, limit: int = 20) -> list[str]:
        """What is not done: flows and their rates, then work that has not started."""
        now = self._now
        lines = []
        for share in list(self.shares.values())[:limit]:
            t = share.owner.transfer
            done = t.size_bytes * share.moved_by(now) // share.amount
            rate_gbps = (share.rate * 8_000 >> RATE_BITS - 10) / 1024
            lines.append(
                f"  flow {t.id} ({t.src} -> {t.dst}): {format_size(done)} of {format_size(t.size_bytes)} moved, "
                f"{rate_gbps:.4g} Gbps on the wire"
            )
        if len(self.shares) > limit:
            lines.append(f"  ... and {len(self.shares) - limit} more flows")
        lines.extend(f"  {line}" for line in self.driver.waiting()[:limit])
        return lines

    # --- results ---

    def link_records(self) -> list[LinkRecord]:
        """One record per direction of a link, by port index; flows under way count for what they moved."""
        sent = {port: (port.tx_bytes, port.tx_frames) for port in self.ports}
        for share in self.shares.values():
            for port, size_bytes, frames in self.claims.passed(share, share.moved_by(self._now)):
                sent[port] = sent[port][0] + size_bytes, sent[port][1] + frames
        return [
            LinkRecord(
                link_index=p.link_index,
                node=p.node,
                peer=p.peer,
                rate_bps=p.rate_bps,
                tx_bytes=size_bytes,
                tx_frames=frames,
                busy_ps=size_bytes * 8 * PS_PER_S // p.rate_bps,
                max_queue_bytes=0,
                drops=0,
                dropped_bytes=0,
                marks=0,
                pauses=0,
                paused_ps=0,
            )
            for p, (size_bytes, frames) in sent.items()
        ]

    def derived(self) -> dict[str, str]:
        """What was derived rather than given, for people: what fluid mode uses of it."""
        derived = self.network.derived()
        return {key: derived[key] for key in ("frame", "base RTT")} | {
            "shares": "max-min fair, without queues or losses"
        }
