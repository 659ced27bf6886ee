"""Graph in; hosts, switches, links and flows out. What both motion models have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs

from ..contracts.cca import Cca, FlowInfo
from ..contracts.routing import FlowKey, Routing
from ..contracts.topology import Graph, check_graph
from ..contracts.workload import Transfer
from ..errors import ConfigError
from ..rng import Stream, stream
from ..units import PS_PER_S, format_rate, format_size, format_time, serialisation_ps
from .config import NetworkConfig
from .flow import Flow, FlowSettings
from .routing import Routes
from .rules.buffer_pfc import SharedBuffer
from .rules.marking import marking_for

MakeCca = Callable[[FlowInfo, Stream], Cca]
INT_ACK_EXTRA_BYTES = 28
TELEMETRY_BYTES = {"none": 0, "timestamp": 8, "int": 42}


@attrs.define(eq=False)
class FlowPlan:
    """A flow before it exists: its keys, ports there and back, what its CCA is told, its ideal FCT.

    lane: its ACKs have a lane of their own, so that it shares only the ports of its path."""

    index: int
    transfer: Transfer
    data_key: FlowKey
    ack_key: FlowKey
    path: tuple[Any, ...]
    back: tuple[Any, ...]
    info: FlowInfo
    ideal_fct_ps: int
    lane: bool

    @property
    def shared_ports(self) -> tuple[Any, ...]:
        """Ports where it can meet others."""
        return self.path if self.lane else self.path + self.back


class Network:
    """Ports by (node, link index), routes, and how to make a flow."""

    def __init__(
        self, graph: Graph, config: NetworkConfig, make_cca: MakeCca, routing: Routing, per_flow: bool, seed: int
    ) -> None:
        check_graph(graph, "topology")
        self.graph, self.config, self.seed = graph, config, seed
        self.lane = config.acks == "lane"
        self.make_cca, self.routing, self.per_flow = make_cca, routing, per_flow
        self.routes = Routes(graph)
        self.hosts: tuple[int, ...] = tuple(graph.graph["hosts"])
        self._host_set = frozenset(self.hosts)
        self.ports: dict[tuple[int, int], Any] = {}
        self.port_list: list[Any] = []
        self.sports: dict[tuple[int, int], int] = {}
        self.choices_made = 0
        # What was worked out for flows before: kept, because in training the same pairs talk for ever.
        self._only_paths: dict[tuple[int, int, tuple[int, ...] | None], tuple[Any, ...]] = {}
        self._infos: dict[Any, FlowInfo] = {}
        self._ideals: dict[Any, int] = {}
        self.alpha_rate_bps = self._nic_rate(self.hosts[0])
        probe = make_cca(self._probe_info(), stream(seed, "probe"))
        self.telemetry = probe.telemetry
        if self.telemetry not in TELEMETRY_BYTES:
            raise ConfigError(f"cca: telemetry {self.telemetry!r} is unknown; use one of {', '.join(TELEMETRY_BYTES)}")
        self.uses_size = probe.uses_size
        self.frame_bytes = config.payload_bytes + config.header_bytes + TELEMETRY_BYTES[self.telemetry]
        self.ack_bytes = config.ack_bytes + (INT_ACK_EXTRA_BYTES if self.telemetry == "int" else 0)
        drain = config.buffer_bytes * 8 * PS_PER_S // min(self._nic_rate(h) for h in self.hosts)
        self.settings = FlowSettings(
            self.ack_bytes,
            config.ack_every_packets,
            config.reorder_window_packets,
            config.rto_ps,
            drain,
            config.reliability == "selective-repeat" or (config.reliability == "derived" and not per_flow),
            per_flow,
        )
        self.global_rtt_ps: int | None = None

    def finish(self) -> None:
        """The ports exist."""
        if self.config.base_rtt == "global":
            self.global_rtt_ps = self.longest_rtt_ps()

    # --- rates and round trips ---

    def _nic_rate(self, host: int) -> int:
        """Rate of the host's network port with the lowest link index (NVSwitch ports aside)."""
        ports = sorted(
            (d["link_index"], d["rate_bps"], self.graph.nodes[n].get("nvswitch", False))
            for _, n, d in self.graph.edges(host, data=True)
        )
        return next((rate for _, rate, nv in ports if not nv), ports[0][1])

    def _probe_info(self) -> FlowInfo:
        rate, size = self.alpha_rate_bps, self.config.payload_bytes
        return FlowInfo(
            line_rate_bps=rate,
            base_rtt_ps=PS_PER_S // 10**5,
            bdp_bytes=rate // (8 * 10**5),
            payload_bytes=size,
            frame_bytes=size + self.config.header_bytes,
            hops=2,
            resolution_ps=self.config.clock_resolution_ps,
        )

    def rtt_of(self, path: tuple[Any, ...]) -> int:
        """Base RTT of a data path: propagation both ways plus a payload serialisation per forward hop."""
        payload = self.config.payload_bytes
        return sum(2 * port.delay_ps + port.tx_of[payload] for port in path)

    def longest_rtt_ps(self) -> int:
        """The largest base RTT between hosts, one pair per pair of attachments."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for host in self.hosts:
            members = groups.setdefault(tuple(sorted(n for n, _ in self.routes.links_of(host))), [])
            if len(members) < 2:
                members.append(host)
        longest = 0
        picked = [h for members in groups.values() for h in members]
        for src in picked:
            for dst in picked:
                if src != dst:
                    try:
                        longest = max(longest, self.rtt_of(self.ports_along(src, self.routes.first_path(src, dst))))
                    except ConfigError:
                        continue
        return longest

    def take_down(self, link_index: int) -> None:
        """A link is gone: forget the paths that were worked out."""
        self.routes.take_down(link_index)
        self._only_paths.clear()

    # --- flows ---

    def check_transfer(self, transfer: Transfer) -> None:
        """Raise ConfigError unless both ends are hosts of this network and the size is positive."""
        src, dst, known = transfer.src, transfer.dst, self._host_set
        if src in known and dst in known and src != dst and transfer.size_bytes > 0:
            return
        kinds = self.graph.nodes
        for role, node in (("source", transfer.src), ("destination", transfer.dst)):
            if node not in kinds:
                raise ConfigError(
                    f"flow {transfer.id}: {role} {node} is not in the topology; it has hosts {_span(self.hosts)}"
                )
            if kinds[node]["kind"] != "host":
                raise ConfigError(
                    f"flow {transfer.id}: {role} {node} is a switch; flows run between hosts {_span(self.hosts)}"
                )
        if transfer.src == transfer.dst:
            raise ConfigError(f"flow {transfer.id}: source and destination are both {transfer.src}; use two hosts")
        if transfer.size_bytes <= 0:
            raise ConfigError(f"flow {transfer.id}: size is {transfer.size_bytes} B; use at least 1")

    def plan_flow(self, index: int, transfer: Transfer, now_ps: int) -> FlowPlan:
        """Where a flow that starts now goes and what its congestion control is told."""
        self.check_transfer(transfer)
        pair = (transfer.src, transfer.dst)
        sport = transfer.sport
        if sport is None:
            sport = self.sports.get(pair, 10_000)
            self.sports[pair] = sport + 1
        key = FlowKey(flow_index=index, src=transfer.src, dst=transfer.dst, sport=sport, dport=transfer.dport)
        back_key = FlowKey(
            flow_index=index, src=transfer.dst, dst=transfer.src, sport=transfer.dport, dport=sport, is_ack=True
        )
        path = self._path(key, transfer.path, now_ps)
        back = self._path(back_key, transfer.ack_path, now_ps)
        facts = (path, transfer.size_bytes if self.uses_size else 0)
        info = self._infos.get(facts)
        if info is None:
            rate = path[0].rate_bps
            rtt = self.rtt_of(path) if self.global_rtt_ps is None else self.global_rtt_ps
            info = self._infos[facts] = FlowInfo(
                line_rate_bps=rate,
                base_rtt_ps=rtt,
                bdp_bytes=rate * rtt // (8 * PS_PER_S),
                payload_bytes=self.config.payload_bytes,
                frame_bytes=self.frame_bytes,
                hops=len(path),
                size_bytes=facts[1],
                resolution_ps=self.config.clock_resolution_ps,
            )
        ideal_of = (path, back, transfer.size_bytes)
        ideal = self._ideals.get(ideal_of)
        if ideal is None:
            ideal = self._ideals[ideal_of] = self.ideal_fct_ps(transfer.size_bytes, path, back)
        return FlowPlan(index, transfer, key, back_key, path, back, info, ideal, self.lane)

    def _path(self, key: FlowKey, pinned: tuple[int, ...] | None, now_ps: int) -> tuple[Any, ...]:
        """Ports a flow's packets use; kept per pair of hosts, or pinned path, where nothing had to be chosen."""
        ends = key.src, key.dst, pinned
        known = self._only_paths.get(ends)
        if known is not None:
            return known
        choices = self.choices_made
        path = self.ports_along(key.src, self.hops_for(key, pinned, now_ps, 0))
        if choices == self.choices_made:
            self._only_paths[ends] = path
        return path

    def make_flow(self, index: int, transfer: Transfer, now_ps: int) -> Flow:
        """A flow that starts now, routed (its NIC is not told yet)."""
        return self.build_flow(self.plan_flow(index, transfer, now_ps), now_ps)

    def cca_stream(self, index: int) -> Stream:
        """The stream of a flow's congestion control."""
        return stream(self.seed, "cca", index)

    def build_flow(self, plan: FlowPlan, start_ps: int, rng: Stream | None = None) -> Flow:
        """The flow of a plan. rng: instead of the stream its congestion control has by itself."""
        rng = self.cca_stream(plan.index) if rng is None else rng
        flow = Flow(plan.index, plan.transfer, start_ps, plan.info, self.make_cca(plan.info, rng), self.settings)
        flow.data_key, flow.ack_key = plan.data_key, plan.ack_key
        flow.ideal_fct_ps = plan.ideal_fct_ps
        self.set_paths(flow, plan.path, start_ps, plan.back)
        return flow

    def set_paths(
        self, flow: Flow, path: tuple[Any, ...] | None, now_ps: int, back: tuple[Any, ...] | None = None
    ) -> None:
        """Route a flow (again); raises ConfigError, and changes nothing, if there is no way. Per-packet
        routings get a router instead of a path; the flow's packets then all leave by one NIC."""
        transfer = flow.transfer
        if path is None:
            path = self.ports_along(flow.src, self.hops_for(flow.data_key, self._pin(transfer.path), now_ps, 0))
        if back is None:
            back = self._back(flow, now_ps)
        flow.first_port = path[0]
        flow.data_path = path if self.per_flow or transfer.path is not None else None
        flow.ack_path = back if self.per_flow or transfer.ack_path is not None else None
        flow.data_router = partial(self.route_data, path[0])
        flow.ack_router = self.route_ack

    def _pin(self, path: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """A pinned path, or None if a link on it is down (the flow is then routed)."""
        if path is None:
            return None
        try:
            self.routes.pinned(path, lambda _n, _c: 0)
        except ConfigError:
            return None
        return path

    def _back(self, flow: Flow, now_ps: int) -> tuple[Any, ...]:
        return self.ports_along(flow.dst, self.hops_for(flow.ack_key, self._pin(flow.transfer.ack_path), now_ps, 0))

    def hops_for(self, key: FlowKey, pinned: tuple[int, ...] | None, now_ps: int, seq: int) -> list[tuple[int, int]]:
        """The hops of a packet with this key."""
        choose = self._chooser(key, now_ps, seq)
        if pinned is not None:
            if pinned[0] != key.src or pinned[-1] != key.dst:
                raise ConfigError(f"pinned path {' '.join(map(str, pinned))} does not lead from {key.src} to {key.dst}")
            return self.routes.pinned(pinned, choose)
        return self.routes.walk(key.src, key.dst, choose)

    def _chooser(self, key: FlowKey, now_ps: int, seq: int) -> Callable[[int, int], int]:
        def choose(node: int, count: int) -> int:
            self.choices_made += 1
            choice = self.routing.choose(key, node, count, now_ps, seq)
            if not 0 <= choice < count:
                raise ConfigError(f"routing chose link {choice} of {count} at node {node}; it must be 0 to {count - 1}")
            return choice

        return choose

    def route_data(self, first: Any, key: FlowKey, now_ps: int, seq: int) -> tuple[Any, ...]:
        """Path of one data packet that leaves its host by the port `first`, for routings per packet."""
        hops = self.routes.walk(first.peer, key.dst, self._chooser(key, now_ps, seq))
        return (first, *self.ports_along(first.peer, hops))

    def route_ack(self, key: FlowKey, now_ps: int, seq: int) -> tuple[Any, ...] | None:
        """Path of one ACK, for routings per packet; None if links that failed leave no way."""
        try:
            return self.ports_along(key.src, self.hops_for(key, None, now_ps, seq))
        except ConfigError:
            return None

    def shortest_paths(self, flow: Flow) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """A way there and back that the flow could take now, from the NIC it uses; None if there is none."""
        try:
            first, routes = flow.first_port, self.routes
            there = (first, *self.ports_along(first.peer, routes.first_path(first.peer, flow.dst)))
            return there, self.ports_along(flow.dst, routes.first_path(flow.dst, flow.src))
        except ConfigError:
            return None

    def ports_along(self, src: int, hops: list[tuple[int, int]]) -> tuple[Any, ...]:
        """Egress ports along hops."""
        ports, node = [], src
        for peer, link_index in hops:
            ports.append(self.ports[node, link_index])
            node = peer
        return tuple(ports)

    def ideal_fct_ps(self, size_bytes: int, path: tuple[Any, ...], back: tuple[Any, ...]) -> int:
        """FCT of a flow alone at line rate: full frames in a pipeline, then the last frame, then its ACK."""
        payload, header = self.config.payload_bytes, self.frame_bytes - self.config.payload_bytes
        full, rest = divmod(size_bytes, payload)
        if rest == 0:
            full, rest = full - 1, payload
        resolution = self.config.clock_resolution_ps
        pipeline, slowest, ahead, last = 0, 0, 0, 0
        for port in path:
            tx = serialisation_ps(payload + header, port.rate_bps, resolution)
            pipeline += tx
            slowest = max(slowest, tx)
            ahead = pipeline + (full - 1) * slowest if full else 0
            last = max(last, ahead) + serialisation_ps(rest + header, port.rate_bps, resolution) + port.delay_ps
            pipeline += port.delay_ps
        return last + sum(serialisation_ps(self.ack_bytes, p.rate_bps, resolution) + p.delay_ps for p in back)

    # --- switches ---

    def make_buffer(self, node: int) -> SharedBuffer:
        """The shared buffer of a switch, without ports."""
        capacity = self.graph.nodes[node].get("buffer_bytes", self.config.buffer_bytes)
        config = self.config
        return SharedBuffer(capacity, config.pfc_reserve_bytes, config.pfc_resume_offset_bytes, config.pfc)

    def add_ingress(self, buffer: SharedBuffer, port: Any) -> Any:
        """Register the link whose far end sends by `port` with the buffer it arrives at."""
        shift = self.config.pfc_alpha_shift - max(0, (port.rate_bps // self.alpha_rate_bps).bit_length() - 1)
        return buffer.add_ingress(port, self.headroom_bytes(port.rate_bps, port.delay_ps), shift)

    def headroom_bytes(self, rate_bps: int, delay_ps: int) -> int:
        """What may still arrive after a pause was decided: a round trip on the link, the frames being
        sent at both ends when it is decided and when it arrives, and the pause frame itself."""
        if self.config.pfc_headroom_bytes is not None:
            return self.config.pfc_headroom_bytes
        one_way = rate_bps * delay_ps // (8 * PS_PER_S)
        if self.config.pfc_headroom_rule == "three-delays":
            return 3 * one_way
        return 2 * one_way + 3 * self.frame_bytes + self.config.pfc_frame_bytes

    def check_buffer(self, node: int, buffer: SharedBuffer) -> None:
        """Raise ConfigError if reserves and headrooms leave nothing to share."""
        if buffer.shared_limit < 2 * self.frame_bytes:
            taken = buffer.capacity - buffer.shared_limit
            raise ConfigError(
                f"switch {node}: reserve and headroom of its {len(buffer.ingresses)} ports take {format_size(taken)} "
                f"of its {format_size(buffer.capacity)} buffer; raise network.buffer_bytes or lower "
                "network.pfc_headroom_bytes"
            )

    def derived(self) -> dict[str, str]:
        """What was derived rather than given, as text for people."""
        config = self.config
        links = sorted({(d["rate_bps"], d["delay_ps"]) for _, _, d in self.graph.edges(data=True)})
        out: dict[str, str] = {
            "frame": f"{self.frame_bytes} B data ({config.payload_bytes} B payload), {self.ack_bytes} B ACK"
        }
        for rate, delay in links[:8]:
            name = f"{format_rate(rate)}, {format_time(delay)}"
            if config.ecn:
                m = marking_for(rate, delay, config)
                out[f"ECN at {name}"] = f"{format_size(m.kmin_bytes)} to {format_size(m.kmax_bytes)}, pmax {m.pmax:g}"
            if config.pfc:
                out[f"PFC headroom at {name}"] = format_size(self.headroom_bytes(rate, delay))
        if config.reliability == "derived":
            out["reliability"] = (
                "selective-repeat (packets choose their paths)" if self.settings.selective else "go-back-n"
            )
        rtt = self.base_rtt_ps
        info = self._probe_info()
        hops = len(self._some_path())
        out["base RTT"] = format_time(rtt) + (" (whole network)" if self.global_rtt_ps else " (first to last host)")
        out["retransmission timeout"] = format_time(
            self.settings.rto_ps(
                FlowInfo(
                    line_rate_bps=info.line_rate_bps,
                    base_rtt_ps=rtt,
                    bdp_bytes=1,
                    payload_bytes=1,
                    frame_bytes=1,
                    hops=hops,
                )
            )
        )
        return out

    @property
    def base_rtt_ps(self) -> int:
        """The network's base RTT where that was asked for, else the one from the first to the last host."""
        return self.global_rtt_ps or self.rtt_of(self._some_path())

    def _some_path(self) -> tuple[Any, ...]:
        for dst in reversed(self.hosts[1:]):
            try:
                return self.ports_along(self.hosts[0], self.routes.first_path(self.hosts[0], dst))
            except ConfigError:
                continue
        return ()


def _span(hosts: tuple[int, ...]) -> str:
    if len(hosts) > 8 and list(hosts) == list(range(hosts[0], hosts[-1] + 1)):
        return f"{hosts[0]} to {hosts[-1]}"
    return ", ".join(map(str, hosts[:8])) + (", ..." if len(hosts) > 8 else "")
