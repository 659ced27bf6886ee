"""The conformance kit: what a plugin must do, checked. For plugin authors, with or without pytest.

With pytest: `pytest_plugins = ["wormhole_core.testing.pytest_plugin"]` in the root `conftest.py`, then
subclass the contract of your kind:

    from wormhole_core.testing import CcaContract

    class TestMyCca(CcaContract):
        component = "my-cca"
        options = [{}, {"gain": 0.5}]

Without: `wormhole-sim check my-cca --plugin my_cca.py`. The map: `subject` (the thing checked, its limits,
how a check is run), `checks` (one module per kind; plain functions), `contracts` (the same as test
classes), `pytest_plugin` (fixtures), `walks` (events for congestion control), `ideal` (a network that
takes no time), `runs` (end to end), `forbid` (clock, randomness, environment), `doubles` (stand-ins).

Nothing of the program imports this package, `wormhole-sim check` aside; pytest is imported by
`contracts` and `pytest_plugin` only.
"""

from __future__ import annotations

from typing import Any

from .checks import CHECKS, checks_for
from .doubles import FAST_LINK, SLOW_LINK
from .forbid import forbidden
from .subject import LIMITS, Outcome, Skip, Subject, run_checks

CONTRACTS = (
    "CcaContract", "EquivalenceContract", "FastForwardContract", "MemoBackendContract", "ObserverContract",
    "PartitionerContract", "RoutingContract", "TopologyContract", "WorkloadContract",
)  # fmt: skip

__all__ = [
    "CHECKS", "FAST_LINK", "LIMITS", "SLOW_LINK", "CcaContract", "EquivalenceContract", "FastForwardContract",
    "MemoBackendContract", "ObserverContract", "Outcome", "PartitionerContract", "RoutingContract", "Skip", "Subject",
    "TopologyContract", "WorkloadContract", "checks_for", "forbidden", "run_checks",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Contract classes, imported when asked for: they need pytest, the rest does not."""
    if name in CONTRACTS:
        from . import contracts

        return getattr(contracts, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
