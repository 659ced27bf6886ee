"""What this distribution offers; the only module that knows hooks."""

from __future__ import annotations

from typing import Any

from wormhole_core import Component, hookimpl

from .powertcp import PowerTcp, PowerTcpConfig


@hookimpl
def wormhole_ccas() -> list[Component[Any]]:
    """One algorithm."""
    return [
        Component(
            name="powertcp",
            build=PowerTcp,
            config=PowerTcpConfig,
            summary="window from the power (arrival rate x backlog) of the busiest hop (PowerTCP)",
            reference="Addanki et al., PowerTCP, NSDI 2022, section 3 and Algorithm 1",
        )
    ]
