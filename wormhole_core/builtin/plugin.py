"""Hook implementations for the components that ship inside the core."""

from __future__ import annotations

from typing import Any

from wormhole_core import Component, hookimpl

from .forward_off import OFF
from .forward_rate_window import RATE_WINDOW
from .forward_settled import SETTLED
from .memo_memory import MEMORY
from .memo_sqlite import SQLITE
from .partition_ports import PORTS
from .partition_switches import SWITCHES
from .partition_whole import WHOLE
from .routing_ecmp import ECMP
from .routing_flowlet import FLOWLET
from .routing_spray import SPRAY


@hookimpl
def wormhole_routings() -> list[Component[Any]]:
    """Per flow, per flowlet, per packet."""
    return [ECMP, FLOWLET, SPRAY]


@hookimpl
def wormhole_partitioners() -> list[Component[Any]]:
    """From finest to coarsest."""
    return [PORTS, SWITCHES, WHOLE]


@hookimpl
def wormhole_memo_backends() -> list[Component[Any]]:
    """For one process, and for many."""
    return [MEMORY, SQLITE]


@hookimpl
def wormhole_fast_forward_policies() -> list[Component[Any]]:
    """When a steady partition may be skipped."""
    return [SETTLED, RATE_WINDOW, OFF]
