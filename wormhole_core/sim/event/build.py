"""Assembles the fast model: the `Motion` of `model = "event"`."""

from __future__ import annotations

from typing import Any

from ..flow import Flow
from ..motion import Motion
from ..order import TIMER
from .host import FlowTicks, Host, Nic
from .port import Port
from .switch import Switch


class EventMotion(Motion):
    """Hosts, switches and ports driven by reusable heap events."""

    def _new_host(self, node: int) -> Host:
        return Host(node)

    def _new_switch(self, node: int, buffer: Any) -> Switch:
        return Switch(self.env, node, buffer, self.network.config.pfc_frame_bytes)

    def _new_port(self, index: int, node: int, peer: int, data: dict[str, Any]) -> Port:
        return Port(
            self.env,
            index,
            node,
            peer,
            data["link_index"],
            data["rate_bps"],
            data["delay_ps"],
            data.get("loss", 0.0),
            self.network.config.clock_resolution_ps,
        )

    def _new_nic(self, host: Host, port: Port) -> Nic:
        config = self.network.config
        return Nic(host, port, config.ack_obeys_pause, config.nic_wake)

    def _new_timers(self, flow: Flow) -> FlowTicks:
        return FlowTicks(self.env, flow, TIMER | flow.index << 1)

    def _make_port(self, node: int, peer: int, data: dict[str, Any]) -> Port:
        port: Port = super()._make_port(node, peer, data)
        if port.marking is not None:
            port.kmin = port.marking.kmin_bytes
        return port

    def _build(self) -> None:
        super()._build()
        for switch in self.switches.values():
            switch.finish()
