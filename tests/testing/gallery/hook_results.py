"""A plugin whose hook makes other components at every call."""

from wormhole_core import Component, Routing, hookimpl


@hookimpl
def wormhole_routings():
    """One routing."""
    return [
        Component(
            name="hook-results",
            build=lambda config, rng: Routing(),
            summary="the first link",
            traits={"per_flow": True},
        )
    ]
