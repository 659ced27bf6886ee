"""What this distribution offers; the only module that knows hooks."""

from __future__ import annotations

from typing import Any

from wormhole_core import Component, hookimpl

from .slim_fly import SlimFlyConfig, build


@hookimpl
def wormhole_topologies() -> list[Component[Any]]:
    """One topology."""
    return [
        Component(
            name="slim-fly",
            build=build,
            config=SlimFlyConfig,
            summary="routers at most two links apart, near the fewest ports possible (Slim Fly, MMS graphs)",
            reference="Besta and Hoefler, Slim Fly, SC 2014, section II-B",
        )
    ]
