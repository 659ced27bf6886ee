"""A plugin that imports what is inside ours."""

from wormhole_core import Routing, hookimpl
from wormhole_core.component import Component


def _build(config, rng):
    return Routing()


@hookimpl
def wormhole_routings():
    """One routing."""
    return [Component(name="public-face-only", build=_build, summary="the first link", traits={"per_flow": True})]
