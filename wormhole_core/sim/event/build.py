"""Assembles the fast model: the `Motion` of `model = "event"`."""

from __future__ import annotations

from typing import Any

from ..flow import Flow
from ..motion import Motion
from ..order import TIMER
from .host import FlowTicks, Host, Nic
from .port import Port
from .scheduled import TIMERS_FIRST, ScheduledHost, ScheduledNic, ScheduledPort, ScheduledTicks
from .switch import Switch


class EventMotion(Motion):
    """Hosts, switches and ports driven by reusable heap events."""

    orders = ("index", "scheduled")

    def _new_host(self, node: int) -> Host:
        return ScheduledHost(node) if self._scheduled else Host(node)

    def _new_switch(self, node: int, buffer: Any) -> Switch:
        return Switch(self.env, node, buffer, self.network.config.pfc_frame_bytes)

    def _new_port(self, index: int, node: int, peer: int, data: dict[str, Any]) -> Port:
        facts = (
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
        return ScheduledPort(*facts) if self._scheduled else Port(*facts)

    def _new_nic(self, host: Host, port: Port) -> Nic:
        config = self.network.config
        kind = ScheduledNic if self._scheduled else Nic
        return kind(host, port, config.ack_obeys_pause, config.nic_wake)

    def _new_timers(self, flow: Flow) -> FlowTicks:
        if self._scheduled:
            return ScheduledTicks(self.env, flow, TIMERS_FIRST | flow.index << 1)
        return FlowTicks(self.env, flow, TIMER | flow.index << 1)

    def _make_port(self, node: int, peer: int, data: dict[str, Any]) -> Port:
        port: Port = super()._make_port(node, peer, data)
        if port.marking is not None:
            port.kmin = port.marking.kmin_bytes
        return port

    def _build(self) -> None:
        self._scheduled = self.network.config.order == "scheduled"
        super()._build()
        for switch in self.switches.values():
            switch.finish()
