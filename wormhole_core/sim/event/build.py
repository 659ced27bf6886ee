"""Assembles the fast model and runs it: the `Motion` of `model = "event"`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...contracts.observer import Observer
from ...rng import stream
from ..driver import bound
from ..flow import Flow
from ..kernel import KernelEnvironment, Tick
from ..network import Network
from ..order import LATE, LINK, TIMER
from ..rules.marking import marking_for
from .host import FlowTicks, Host, Nic
from .port import NEVER, Port
from .switch import Switch


class EventMotion:
    """Moves frames. `on_received(flow, now_ps)` and `on_completed(flow, now_ps)` tell the driver."""

    def __init__(self, network: Network, observers: Sequence[Observer], on_received: Any, on_completed: Any) -> None:
        self.network = network
        self.env = KernelEnvironment()
        self.hosts: dict[int, Host] = {}
        self.switches: dict[int, Switch] = {}
        self.flows: dict[int, Flow] = {}
        self._on_completed = on_completed
        self._on_received = on_received
        self._on_dropped = bound(observers, "packet_dropped")
        self._on_paused = bound(observers, "port_paused")
        self._on_sent = bound(observers, "packet_sent")
        self._build()
        for time_ps, a, b in network.config.link_failures:
            self.env.push(time_ps, LINK, Tick(), (lambda _t, a=a, b=b: self.fail_link(a, b),))

    def _build(self) -> None:
        network, config = self.network, self.network.config
        for node, data in network.graph.nodes(data=True):
            if data["kind"] == "host":
                host = self.hosts[node] = Host(node)
                host.lane = config.acks == "lane"
                host.on_received, host.on_complete = self._on_received, self._completed
            else:
                switch = self.switches[node] = Switch(self.env, node, network.make_buffer(node), config.pfc_frame_bytes)
                if self._on_paused:
                    switch.notify_pause = self._notify_pause
        edges = sorted(network.graph.edges(data=True), key=lambda e: e[2]["link_index"])
        for a, b, data in edges:
            pair = [self._make_port(x, y, data) for x, y in ((a, b), (b, a))]
            pair[0].reverse, pair[1].reverse = pair[1], pair[0]
        for switch in self.switches.values():
            switch.finish()
            network.check_buffer(switch.node, switch.buffer)

    def _make_port(self, node: int, peer: int, data: dict[str, Any]) -> Port:
        network, config = self.network, self.network.config
        port = Port(self.env, len(network.port_list), node, peer, data["link_index"], data["rate_bps"], data["delay_ps"],
                    data.get("loss", 0.0), config.clock_resolution_ps)
        network.ports[node, port.link_index] = port
        network.port_list.append(port)
        port.int_tx_unit, port.int_q_unit = config.int_tx_unit_bytes, config.int_queue_unit_bytes
        port.kmin = NEVER
        if port.loss:
            port.loss_draws = stream(network.seed, "loss", port.index)
        if self._on_dropped:
            port.on_drop = self._notify_drop
        if node in self.switches:
            port.switch = self.switches[node]
            port.switch.ports.append(port)
            if config.ecn:
                port.marking = marking_for(port.rate_bps, port.delay_ps, config)
                port.kmin = port.marking.kmin_bytes
                port.draws = stream(network.seed, "marking", port.index)
        else:
            nic = Nic(self.hosts[node], port, config.ack_obeys_pause, config.nic_wake)
            nic.on_sent = self._on_sent
            port.host = self.hosts[node].nics[port.link_index] = nic
        if peer in self.switches:
            port.peer_switch = self.switches[peer]
            port.ingress = network.add_ingress(port.peer_switch.buffer, port)
        else:
            port.peer_host = self.hosts[peer]
        return port

    def _notify_drop(self, port: Port, packet: Any, why: str) -> None:
        for listener in self._on_dropped:
            listener(self.env._now, port.node, packet.flow.index, packet.size, why)

    def _notify_pause(self, port: Port, now_ps: int, paused: bool) -> None:
        for listener in self._on_paused:
            listener(now_ps, port.node, port.link_index, paused)

    # --- what the simulation asks for ---

    def wake(self, time_ps: int, late: Callable[[int], None]) -> None:
        """Call late(time_ps) at the end of that instant."""
        self.env.push(time_ps, LATE, Tick(), (lambda _t: late(time_ps),))

    def start_flow(self, flow: Flow) -> None:
        """The queue pair exists from now on; its NIC tries to send at once."""
        now = self.env._now
        flow.ticks = FlowTicks(self.env, flow, TIMER | flow.index << 1)
        self.flows[flow.index] = flow
        first = flow.data_path[0] if flow.data_path else flow.data_router(flow.data_key, now, 0)[0]
        for port in self.ports_of(flow):
            port.flows += 1
        first.host.add(flow)
        if flow.has_cca_timer:
            flow.ticks.update_cca(now)
        first.host.pump(now)

    def ports_of(self, flow: Flow) -> tuple[Any, ...]:
        """Ports of a flow's fixed paths."""
        return (flow.data_path or ()) + (flow.ack_path or ())

    def _completed(self, flow: Flow, now_ps: int) -> None:
        del self.flows[flow.index]
        for port in self.ports_of(flow):
            port.flows -= 1
            if not port.flows and not port.fifo and not port.waiting:
                port.run_bytes = 0
        self._on_completed(flow, now_ps)

    def fail_link(self, a: int, b: int) -> None:
        """The link between two nodes goes down: frames on it and queued for it are lost, flows are
        routed again (retransmission recovers what was lost)."""
        network = self.network
        now = self.env._now
        for data in (network.graph.get_edge_data(a, b) or {}).values():
            network.routes.take_down(data["link_index"])
            for node in (a, b):
                self._kill_port(network.ports[node, data["link_index"]], now)
        for flow in list(self.flows.values()):
            ports = self.ports_of(flow)
            if any(p.down for p in ports) or flow.data_path is None:
                self.reroute(flow, now)

    def _kill_port(self, port: Port, now_ps: int) -> None:
        port.take_back(now_ps, -1)
        port.down = True
        switch = port.switch
        for packet in port.waiting:
            if switch is not None and switch.exact:
                switch.held -= packet.size
                switch.buffer.release(packet.ingress.ingress, packet.size)
        for packet in (*port.fifo, *port.waiting):
            if switch is not None and not switch.exact:
                switch.held -= packet.size
            port.drop(packet, "link down")
        for queue in (port.fifo, port.waiting, port.arrivals, port.unreleased):
            queue.clear()
        port.queue = 0
        port.rearm()

    def reroute(self, flow: Flow, now_ps: int) -> None:
        """Route a flow again over what is left; raises ConfigError if there is no way."""
        for port in self.ports_of(flow):
            port.flows -= 1
        old = flow.nic
        self.network.set_paths(flow, None, now_ps)
        for port in self.ports_of(flow):
            port.flows += 1
        first = flow.data_path[0] if flow.data_path else flow.data_router(flow.data_key, now_ps, 0)[0]
        if first.host is not old:
            old.schedule.pairs.remove(flow)
            first.host.add(flow)

    @property
    def frame_hops(self) -> int:
        """Frames delivered over any link."""
        return sum(port.tx_frames for port in self.network.port_list)

    def paused_ports(self) -> list[Port]:
        """Ports that a PFC frame has stopped."""
        return [p for p in self.network.port_list if (p.host.data_paused if p.host is not None else p.paused)]
