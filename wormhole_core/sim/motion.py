"""What both motion models do alike: assembly, start and end of flows, link failures.

A model supplies its own hosts, switches and ports and the timers of a flow. Its ports offer `flows`,
`down`, `kill(now_ps)`, `quiet(now_ps)`, `run_bytes` and the counters of a `LinkRecord`; its NICs
`add(flow)`, `remove(flow)`, `pump(now_ps)` and `arm(time_ps)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ..contracts.observer import Observer
from ..errors import ConfigError
from ..rng import stream
from .driver import bound
from .flow import Flow
from .kernel import KernelEnvironment, Tick
from .network import Network
from .order import LATE, LINK
from .rules.marking import marking_for


class Motion(ABC):
    """Moves frames. `on_received(flow, now_ps)` and `on_completed(flow, now_ps)` tell the driver."""

    orders: tuple[str, ...] = ("index",)
    """Values of `network.order` that the model follows."""

    def __init__(self, network: Network, observers: Sequence[Observer], on_received: Any, on_completed: Any) -> None:
        self.network = network
        self.env = KernelEnvironment()
        self.hosts: dict[int, Any] = {}
        self.switches: dict[int, Any] = {}
        self.flows: dict[int, Flow] = {}
        self._on_completed = on_completed
        self._on_received = on_received
        self._on_dropped = bound(observers, "packet_dropped")
        self._on_paused = bound(observers, "port_paused")
        self._on_sent = bound(observers, "packet_sent")
        self._build()
        for order, (time_ps, a, b) in enumerate(network.config.link_failures):
            self.env.push(time_ps, LINK | order, Tick(), (lambda _t, a=a, b=b: self.fail_link(a, b),))

    # --- what a model supplies ---

    @abstractmethod
    def _new_host(self, node: int) -> Any:
        """A host without NICs."""

    @abstractmethod
    def _new_switch(self, node: int, buffer: Any) -> Any:
        """A switch without ports."""

    @abstractmethod
    def _new_port(self, index: int, node: int, peer: int, data: dict[str, Any]) -> Any:
        """One direction of a link with these edge attributes."""

    @abstractmethod
    def _new_nic(self, host: Any, port: Any) -> Any:
        """What serves queue pairs by a port of a host."""

    @abstractmethod
    def _new_timers(self, flow: Flow) -> Any:
        """The timers of a flow that starts; offers `update_cca(now_ps)`."""

    # --- assembly ---

    def _build(self) -> None:
        network, config = self.network, self.network.config
        for node, data in network.graph.nodes(data=True):
            if data["kind"] == "host":
                host = self.hosts[node] = self._new_host(node)
                host.lane = config.acks == "lane"
                host.on_received, host.on_complete = self._on_received, self._completed
            else:
                switch = self.switches[node] = self._new_switch(node, network.make_buffer(node))
                if self._on_paused:
                    switch.notify_pause = self._notify_pause
        edges = sorted(network.graph.edges(data=True), key=lambda e: e[2]["link_index"])
        for a, b, data in edges:
            pair = [self._make_port(x, y, data) for x, y in ((a, b), (b, a))]
            pair[0].reverse, pair[1].reverse = pair[1], pair[0]
        for switch in self.switches.values():
            network.check_buffer(switch.node, switch.buffer)

    def _make_port(self, node: int, peer: int, data: dict[str, Any]) -> Any:
        network, config = self.network, self.network.config
        port = self._new_port(len(network.port_list), node, peer, data)
        network.ports[node, port.link_index] = port
        network.port_list.append(port)
        port.int_tx_unit, port.int_q_unit = config.int_tx_unit_bytes, config.int_queue_unit_bytes
        if port.loss:
            port.loss_draws = stream(network.seed, "loss", port.index)
        if self._on_dropped:
            port.on_drop = self._notify_drop
        if node in self.switches:
            port.switch = self.switches[node]
            port.switch.ports.append(port)
            if config.ecn:
                port.marking = marking_for(port.rate_bps, port.delay_ps, config)
                port.draws = stream(network.seed, "marking", port.index)
        else:
            nic = self._new_nic(self.hosts[node], port)
            nic.on_sent = self._on_sent
            port.host = self.hosts[node].nics[port.link_index] = nic
        if peer in self.switches:
            port.peer_switch = self.switches[peer]
            port.ingress = network.add_ingress(port.peer_switch.buffer, port)
        else:
            port.peer_host = self.hosts[peer]
        return port

    def _notify_drop(self, port: Any, packet: Any, why: str) -> None:
        for listener in self._on_dropped:
            listener(self.env.now, port.node, packet.flow.index, packet.size, why)

    def _notify_pause(self, port: Any, now_ps: int, paused: bool) -> None:
        for listener in self._on_paused:
            listener(now_ps, port.node, port.link_index, paused)

    # --- what the simulation asks for ---

    def wake(self, time_ps: int, late: Callable[[int], None]) -> None:
        """Call late(time_ps) at the end of that instant."""
        self.env.push(time_ps, LATE, Tick(), (lambda _t: late(time_ps),))

    def start_flow(self, flow: Flow) -> None:
        """The queue pair exists from now on; its NIC tries to send at once."""
        now = int(self.env.now)
        flow.ticks = self._new_timers(flow)
        self.flows[flow.index] = flow
        for port in self.ports_of(flow):
            port.flows += 1
        nic = flow.first_port.host
        nic.add(flow)
        if flow.has_cca_timer:
            flow.ticks.update_cca(now)
        nic.pump(now)

    def ports_of(self, flow: Flow) -> tuple[Any, ...]:
        """Ports of a flow's fixed paths where it can meet others (ACKs on a lane meet nobody)."""
        back = None if self.network.lane else flow.ack_path
        return (flow.data_path or ()) + (back or ())

    def _completed(self, flow: Flow, now_ps: int) -> None:
        del self.flows[flow.index]
        flow.nic.schedule.settle()
        for port in self.ports_of(flow):
            port.flows -= 1
            if not port.flows and port.quiet(now_ps):
                port.run_bytes = 0
        self._on_completed(flow, now_ps)

    # --- failures ---

    def fail_link(self, a: int, b: int) -> None:
        """The links between two nodes go down: frames on them and queued for them are lost, flows are
        routed again (retransmission recovers what was lost). A flow that has no way left keeps its
        dead path; if nothing else moves, the run is reported as stalled."""
        network = self.network
        now = int(self.env.now)
        links = [data["link_index"] for data in (network.graph.get_edge_data(a, b) or {}).values()]
        last_ways = {
            i: network.shortest_paths(f) for i, f in self.flows.items() if f.data_path is None or f.ack_path is None
        }
        for link in links:
            network.take_down(link)
            for node in (a, b):
                network.ports[node, link].down = True
        for link in links:
            for node in (a, b):
                network.ports[node, link].kill(now)
        for flow in list(self.flows.values()):
            used = (*(flow.data_path or ()), *(flow.ack_path or ()))
            if flow.index in last_ways or any(p.down for p in used):
                self.reroute(flow, now, last_ways.get(flow.index))

    def reroute(self, flow: Flow, now_ps: int, last_way: tuple[Any, Any] | None = None) -> None:
        """Route a flow again over what is left. If there is no way it keeps its paths, or, if it is
        routed per packet, gets `last_way`, the one it could have taken until now."""
        before = self.ports_of(flow)
        old = flow.nic
        try:
            self.network.set_paths(flow, None, now_ps)
        except ConfigError:
            if last_way is None:
                return
            flow.data_path = last_way[0] if flow.data_path is None else flow.data_path
            flow.ack_path = last_way[1] if flow.ack_path is None else flow.ack_path
        for port in before:
            port.flows -= 1
        for port in self.ports_of(flow):
            port.flows += 1
        nic = flow.first_port.host
        if nic is not old:
            old.remove(flow)
            nic.add(flow)
        nic.arm(now_ps)

    # --- totals ---

    @property
    def frame_hops(self) -> int:
        """Frames delivered over any link."""
        return sum(port.tx_frames for port in self.network.port_list)

    def paused_ports(self) -> list[Any]:
        """Ports that a PFC frame has stopped."""
        return [p for p in self.network.port_list if (p.host.data_paused if p.host is not None else p.paused)]
