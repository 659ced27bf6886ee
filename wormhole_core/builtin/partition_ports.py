"""`ports`: flows that share an egress port are simulated together; nothing coarser."""

from __future__ import annotations

from wormhole_core import Component, NoConfig, Partitioner


def _build(_config: NoConfig) -> Partitioner:
    return Partitioner()  # the core's own rule is exactly this one


PORTS = Component(name="ports", build=_build, summary="flows that share an egress port, data or ACK (the finest)")
