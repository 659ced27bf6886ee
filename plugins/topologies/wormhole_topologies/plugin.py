"""What this distribution offers; the only module that knows hooks."""

from __future__ import annotations

from typing import Any

from wormhole_core import Component, hookimpl


@hookimpl
def wormhole_topologies() -> list[Component[Any]]:
    """The components of this distribution."""
    return []
