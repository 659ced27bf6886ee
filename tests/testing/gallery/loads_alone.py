"""A plugin that loads another one, in a way that no reading of its imports shows."""

import importlib

from wormhole_core import Component, Routing, hookimpl

OTHER = importlib.import_module("wormhole_cca.plugin")


def _build(config, rng):
    return Routing()


@hookimpl
def wormhole_routings():
    """One routing."""
    return [Component(name="loads-alone", build=_build, summary="the first link", traits={"per_flow": True})]
