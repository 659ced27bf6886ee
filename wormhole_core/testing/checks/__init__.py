"""All checks, as plain functions: `CHECKS[kind]`, and `CHECKS["any"]` for every kind.

One module per kind. A check takes a `Subject` (`wormhole_core.testing.subject`), raises AssertionError
that names the component, what was expected and what was seen, and may return a line to report.
"""

from __future__ import annotations

from ..subject import Check
from . import (
    cca,
    equivalence,
    forward,
    memo,
    network,
    observer,
    partition,
    plugin,
    routing,
    topology,
    workload,
)
from ._register import TABLE as CHECKS

__all__ = [
    "CHECKS", "cca", "checks_for",
    "equivalence", "forward", "memo", "network", "observer", "partition", "plugin", "routing",
    "topology", "workload",
]  # fmt: skip


def checks_for(kind: str) -> list[Check]:
    """What a component of this kind must pass, in order."""
    return [*CHECKS["any"], *CHECKS[kind]]
