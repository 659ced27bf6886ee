"""Assembles the readable model: the `Motion` of `model = "process"`.

It does what the fast model does, to the picosecond, and says how: `tests/sim/test_models_agree.py`
compares them on random networks. All accounting is exact at all times; every departure and every
arrival is a process waking up.
"""

from __future__ import annotations

from typing import Any

from ..flow import Flow
from ..motion import Motion
from ..order import TIMER
from .host import Host, Nic, NicPort, Timers
from .port import Port, SwitchPort
from .switch import Switch


class ProcessMotion(Motion):
    """Hosts, switches, ports and links as SimPy processes."""

    def _new_host(self, node: int) -> Host:
        return Host(self.env, node)

    def _new_switch(self, node: int, buffer: Any) -> Switch:
        return Switch(node, buffer, self.network.config.pfc_frame_bytes)

    def _new_port(self, index: int, node: int, peer: int, data: dict[str, Any]) -> Port:
        kind = SwitchPort if node in self.switches else NicPort
        return kind(self.env, index, node, peer, data, self.network.config.clock_resolution_ps)

    def _new_nic(self, host: Host, port: NicPort) -> Nic:
        config = self.network.config
        return Nic(port, config.ack_obeys_pause, config.nic_wake)

    def _new_timers(self, flow: Flow) -> Timers:
        return Timers(self.env, flow, TIMER | flow.index << 1)
