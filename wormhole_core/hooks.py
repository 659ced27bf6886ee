"""All hooks: registration hooks return components, life-cycle hooks are called a few times per run.

Registration hooks are called once, at load; they return components and touch nothing else. None is
`firstresult` or `historic`. Wrappers are allowed on life-cycle hooks only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from .component import Component
    from .contracts.observer import RunInfo
    from .contracts.result import Result

PROJECT = "wormhole"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

KINDS = {
    "cca": "wormhole_ccas",
    "topology": "wormhole_topologies",
    "routing": "wormhole_routings",
    "workload": "wormhole_workloads",
    "partitioner": "wormhole_partitioners",
    "memo-backend": "wormhole_memo_backends",
    "fast-forward": "wormhole_fast_forward_policies",
    "observer": "wormhole_observers",
}
"""Component kind as users write it -> the hook that offers it."""


@hookspec
def wormhole_ccas() -> Iterable[Component[Any]]:
    """Offer congestion-control algorithms (`contracts.cca`)."""


@hookspec
def wormhole_topologies() -> Iterable[Component[Any]]:
    """Offer topologies (`contracts.topology`)."""


@hookspec
def wormhole_routings() -> Iterable[Component[Any]]:
    """Offer ways to choose among equal-cost links (`contracts.routing`)."""


@hookspec
def wormhole_workloads() -> Iterable[Component[Any]]:
    """Offer workloads: what is sent, when, and after what (`contracts.workload`)."""


@hookspec
def wormhole_partitioners() -> Iterable[Component[Any]]:
    """Offer ways to split the flows in flight into independent groups (`contracts.partition`)."""


@hookspec
def wormhole_memo_backends() -> Iterable[Component[Any]]:
    """Offer stores for remembered episodes (`contracts.memo`)."""


@hookspec
def wormhole_fast_forward_policies() -> Iterable[Component[Any]]:
    """Offer rules that say when, and how far, a steady group may be skipped (`contracts.forward`)."""


@hookspec
def wormhole_observers() -> Iterable[Component[Any]]:
    """Offer observers: recorders, exporters, live views (`contracts.observer`)."""


@hookspec
def wormhole_commands(subparsers: Any) -> None:
    """Add subcommands to the command line (`argparse` sub-parsers; set default `run=function`)."""


@hookspec
def wormhole_run_started(run: RunInfo) -> None:
    """A run is built and about to start at time 0. `run` is read-only."""


@hookspec
def wormhole_run_finished(run: RunInfo, result: Result | None, error: BaseException | None) -> None:
    """The run ended. Exactly one of `result` and `error` is set. May not change either."""
