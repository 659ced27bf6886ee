"""What this distribution offers; the only module that knows hooks."""

from __future__ import annotations

from typing import Any

from wormhole_core import Component, hookimpl

from . import dcqcn, dctcp, hpcc, none, swift, timely


@hookimpl
def wormhole_ccas() -> list[Component[Any]]:
    """The components of this distribution."""
    return [module.COMPONENT for module in (dcqcn, dctcp, hpcc, none, swift, timely)]
