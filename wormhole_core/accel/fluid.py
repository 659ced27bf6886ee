"""The fluid yardstick: flows as max-min fair shares of their paths, for a first look in milliseconds.

No frames and no queues: a flow moves at its fair share of every egress port on its data path and,
with its acknowledgements, on its ACK path. What of the packet model is kept: frame sizes and rounded
serialisation times (headers and ACK frames cost what they cost on the wire), the routes of `Network`,
the utilisation a CCA aims at (`Cca.target_utilisation`, at switch ports, which is what feedback
reports), the latency of an unloaded path, link failures, and the order of the late batch (`Driver`).

What is left out, so that the difference to packet mode shows what packets do: convergence to the fair
share, standing queues, marks, losses, pauses, windows. Routings that choose per packet are taken to
spread evenly over all shortest paths. Results are exact integers: two runs are equal to the picosecond.
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
from ..sim.event.port import TxTimes
from ..sim.network import MakeCca, Network
from ..units import PS_PER_S, format_size, format_time
from .max_min import RATE_BITS, WEIGHT_BITS, Bottleneck, Group, Share, reshare

FAIL, DEPART, RECEIVE, COMPLETE, LATE = range(5)
"""Order of what happens at one instant."""

Uses = list[tuple["FluidPort", float]]
"""(port, part of the frames it carries): 1.0 for fixed paths."""


class FluidPort(Bottleneck):
    """Egress port of `node` towards `peer`: a rate, a delay and two counters."""

    __slots__ = ("delay_ps", "down", "is_switch", "link_index", "node", "peer", "rate_bps", "tx_bytes", "tx_frames", "tx_of")

    def __init__(self, index: int, node: int, peer: int, is_switch: bool, data: dict[str, Any], resolution_ps: int) -> None:
        super().__init__(index)
        self.node, self.peer, self.is_switch = node, peer, is_switch
        self.link_index: int = data["link_index"]
        self.rate_bps: int = data["rate_bps"]
        self.delay_ps: int = data["delay_ps"]
        self.tx_of = TxTimes(self.rate_bps, resolution_ps)
        self.tx_bytes = self.tx_frames = 0
        self.down = False


class FluidShare(Share):
    """A flow's share. uses: ports and the part of its (data, ACK) frames that each carries, since
    `attached` of the amount was done; a new route begins new ones. latency_ps: see `_latency_ps`."""

    __slots__ = ("attached", "latency_ps", "uses")
    attached: int
    latency_ps: tuple[int, int]
    uses: tuple[Uses, Uses]


class FluidTotals:
    """Counters of a run, as `sim.simulation.Totals`. Nothing is dropped, marked or paused, and no frame is simulated:
    `frame_hops_represented` says how many the finished flows stand for."""

    def __init__(self, simulation: FluidSimulation) -> None:
        counters, now_ps = simulation.driver.counters, simulation.now_ps
        self.flows_started = counters.flows_started
        self.flows_finished = counters.flows_finished
        self.collectives_finished = counters.collectives_finished
        self.bytes_finished = counters.bytes_finished
        self.bytes_acked = self.bytes_finished + sum(
            share.owner.transfer.size_bytes * share.moved_by(now_ps) // share.amount for share in simulation.shares.values()
        )
        self.retransmitted_bytes = self.drops = self.pauses = self.marks = self.frame_hops = 0
        self.events = simulation.executed
        self.frame_hops_represented = sum(port.tx_frames for port in simulation.ports)


class FluidSimulation:
    """A run; `advance` moves it on in slices. The parameters are those of `sim.simulation.Simulation`.

    model must be "event" (there are no frames for another model to move), no_progress_ps has no effect (shares always
    move). Raises ConfigError for hosts that do not exist or cannot be reached.
    """

    def __init__(self, graph: Graph, network: NetworkConfig, *, make_cca: MakeCca, workload: Workload, routing: Routing,
                 per_flow_routing: bool = True, seed: int = 1, model: str = "event", observers: Sequence[Observer] = (),
                 start_jitter_ps: int = 0, no_progress_ps: int | None = None) -> None:
        if model != "event":
            raise ConfigError(f"run.model {model!r} moves frames and fluid mode has none; leave run.model out or use packet mode")
        self.network = Network(graph, network, make_cca, routing, per_flow_routing, seed)
        jitter = stream(seed, "jitter") if start_jitter_ps else None
        self.driver = Driver(workload, self._start_flow, self._wake, observers, network.dependency == "receiver",
                             start_jitter_ps, jitter)
        self.executed = 0
        self.shares: dict[int, FluidShare] = {}
        self._now = 0
        self._heap: list[tuple[int, int, int, Any]] = []
        self._serial = 0
        self._changed: dict[FluidPort, None] = {}
        self._costs: dict[tuple[int, int], tuple[int, int]] = {}
        self._spreads: dict[tuple[int, int], Uses] = {}
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
                port = FluidPort(len(network.port_list), node, peer, is_switch, data, network.config.clock_resolution_ps)
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
        self._spreads.clear()
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
        share = self.shares[index] = FluidShare(flow, self._wire_bytes(transfer.size_bytes)[0] << RATE_BITS, now_ps)
        self._attach(share)

    def _attach(self, share: FluidShare) -> None:
        """Claim the flow's ports; how much of each it takes follows from its frames."""
        flow = share.owner
        target = flow.cca.target_utilisation
        weights: dict[Bottleneck, int] = {}
        share.uses, share.attached = self._uses(flow), share.moved
        share.latency_ps = self._latency_ps(flow)
        for which, uses in enumerate(share.uses):
            for port, part in uses:
                cost: float = self._cost(flow.transfer.size_bytes, port)[which]
                if port.is_switch and target != 1.0:
                    cost /= target
                weights[port] = weights.get(port, 0) + max(1, int(cost * part if part != 1.0 else cost))
        share.attach(tuple(weights.items()))
        self._changed.update(dict.fromkeys(weights))  # type: ignore[arg-type]

    def _detach(self, share: FluidShare) -> None:
        """Give the ports back, crediting what passed them since the share was attached."""
        self._changed.update(dict.fromkeys(port for port, _ in share.weights))  # type: ignore[misc]
        share.detach()
        for port, size_bytes, frames in self._passed(share, share.moved):
            port.tx_bytes += size_bytes
            port.tx_frames += frames

    def _uses(self, flow: Any) -> tuple[Uses, Uses]:
        """Where the flow's data and ACK frames go."""
        if flow.data_path is None:
            first = flow.first_port
            data = [(first, 1.0), *self._spread(first.peer, flow.dst)]
        else:
            data = [(p, 1.0) for p in flow.data_path]
        if self.network.config.acks == "lane":
            return data, []
        acks = self._spread(flow.dst, flow.src) if flow.ack_path is None else [(p, 1.0) for p in flow.ack_path]
        return data, acks

    def _spread(self, src: int, dst: int) -> Uses:
        """All shortest paths at once, split evenly at every node that has a choice."""
        known = self._spreads.get((src, dst))
        if known is None:
            routes = self.network.routes
            known = []
            here = {} if src == dst else {src: 1.0}
            while here:
                # Equal-cost ways end equally far from dst, so the nodes of one round never meet those of another.
                there: dict[int, float] = {}
                for node, part in here.items():
                    ways = routes.choices(node, dst)
                    if not ways:
                        routes.first_path(src, dst)  # raises, naming both hosts
                    for peer, link_index in ways:
                        known.append((self.network.ports[node, link_index], part / len(ways)))
                        if peer != dst:
                            there[peer] = there.get(peer, 0.0) + part / len(ways)
                here = there
            self._spreads[src, dst] = known
        return known

    def _wire_bytes(self, size_bytes: int) -> tuple[int, int, int]:
        """(bytes on the wire of all data frames, full frames, wire size of the last frame)."""
        payload, frame_bytes = self.network.config.payload_bytes, self.network.frame_bytes
        full = (size_bytes - 1) // payload
        last = size_bytes - full * payload + frame_bytes - payload
        return full * frame_bytes + last, full, last

    def _ack_frames(self, full: int) -> int:
        return -(-(full + 1) // self.network.config.ack_every_packets)

    def _cost(self, size_bytes: int, port: FluidPort) -> tuple[int, int]:
        """(data, ACK) time per byte of data on the wire, in units of 2**-WEIGHT_BITS ps."""
        known = self._costs.get((size_bytes, port.rate_bps))
        if known is None:
            wire, full, last = self._wire_bytes(size_bytes)
            data_ps = full * port.tx_of[self.network.frame_bytes] + port.tx_of[last]
            ack_ps = self._ack_frames(full) * port.tx_of[self.network.ack_bytes]
            known = self._costs[size_bytes, port.rate_bps] = (data_ps << WEIGHT_BITS) // wire, (ack_ps << WEIGHT_BITS) // wire
        return known

    def _latency_ps(self, flow: Any) -> tuple[int, int]:
        """(from the last byte leaving the bottleneck to the receiver having it, from there to the last ACK) on an
        empty path: what `Network.ideal_fct_ps` has beyond the frames' time at the slowest port."""
        size_bytes, network = flow.transfer.size_bytes, self.network
        data, back = flow.data_path, flow.ack_path
        if data is None:
            first = flow.first_port
            data = (first, *network.ports_along(first.peer, network.routes.first_path(first.peer, flow.dst)))
        if back is None:
            back = network.ports_along(flow.dst, network.routes.first_path(flow.dst, flow.src))
        _, full, last = self._wire_bytes(size_bytes)
        sending_ps = max(full * port.tx_of[network.frame_bytes] + port.tx_of[last] for port in data)
        back_ps = sum(port.tx_of[network.ack_bytes] + port.delay_ps for port in back)
        return max(0, network.ideal_fct_ps(size_bytes, data, back) - back_ps - sending_ps), back_ps

    def _passed(self, share: FluidShare, moved: int) -> list[tuple[FluidPort, int, int]]:
        """(port, bytes, frames) that a share put on the wire since it was attached, if `moved` of it is done."""
        flow = share.owner
        _, full, _ = self._wire_bytes(flow.transfer.size_bytes)
        acks = self._ack_frames(full)
        done, whole = moved - share.attached, share.amount
        loads = []
        volumes = ((whole >> RATE_BITS, full + 1), (acks * self.network.ack_bytes, acks))
        for uses, (size_bytes, frames) in zip(share.uses, volumes, strict=True):
            for port, part in uses:
                if part == 1.0:
                    loads.append((port, size_bytes * done // whole, frames * done // whole))
                else:
                    loads.append((port, round(size_bytes * part * (done / whole)), round(frames * part * (done / whole))))
        return loads

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
        """Run a slice; True when everything is done or until_ps is reached. Raises StalledError if work is left but
        nothing will happen."""
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
            lines.append(f"  flow {t.id} ({t.src} -> {t.dst}): {format_size(done)} of {format_size(t.size_bytes)} moved, "
                         f"{rate_gbps:.4g} Gbps on the wire")
        if len(self.shares) > limit:
            lines.append(f"  ... and {len(self.shares) - limit} more flows")
        lines.extend(f"  {line}" for line in self.driver.waiting()[:limit])
        return lines

    # --- results ---

    def link_records(self) -> list[LinkRecord]:
        """One record per direction of a link, by port index; flows under way count for what they moved."""
        sent = {port: (port.tx_bytes, port.tx_frames) for port in self.ports}
        for share in self.shares.values():
            for port, size_bytes, frames in self._passed(share, share.moved_by(self._now)):
                sent[port] = sent[port][0] + size_bytes, sent[port][1] + frames
        return [LinkRecord(
            link_index=p.link_index, node=p.node, peer=p.peer, rate_bps=p.rate_bps, tx_bytes=size_bytes, tx_frames=frames,
            busy_ps=size_bytes * 8 * PS_PER_S // p.rate_bps, max_queue_bytes=0, drops=0, dropped_bytes=0, marks=0, pauses=0,
            paused_ps=0,
        ) for p, (size_bytes, frames) in sent.items()]

    def derived(self) -> dict[str, str]:
        """What was derived from rates and delays rather than given, for people: what fluid mode uses of it."""
        derived = self.network.derived()
        return {key: derived[key] for key in ("frame", "base RTT")} | {"shares": "max-min fair, without queues or losses"}
