"""The checks as test classes: subclass one, name a component, and pytest does the rest.

Names do not begin with `Test`, so importing them collects nothing. Every check of `checks` becomes a
method `test_NAME`; overriding one in a subclass replaces it in the open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ..plugins import Plugins
from .checks import checks_for
from .runs import compare_modes
from .subject import Check, Skip, Subject


class Contract:
    """component: its name. options: one dict per set of options; every check runs for each.

    limits: name -> (value, reason), see `wormhole_core.testing.LIMITS`. plugin: a file or module to load first,
    where the component is not installed.
    """

    kind: ClassVar[str]
    component: ClassVar[str]
    options: ClassVar[Sequence[dict[str, Any]]] = ({},)
    limits: ClassVar[Mapping[str, tuple[float, str]]] = {}
    plugin: ClassVar[str | None] = None

    @pytest.fixture
    def subject(self, kit_plugins: Plugins, kit_options: dict[str, Any], tmp_path: Path) -> Subject:
        """The component with one set of options, in an empty folder."""
        return Subject(
            entry=kit_plugins.registry.get(self.kind, self.component), plugins=kit_plugins, folder=tmp_path,
            options=kit_options, limits=self.limits, files=(self.plugin,) if self.plugin else (),
        )  # fmt: skip


def _test_of(check: Check) -> Callable[..., None]:
    def test(self: Contract, subject: Subject, record_property: Callable[[str, object], None]) -> None:
        try:
            report = check.function(subject)
        except Skip as reason:
            pytest.skip(str(reason))
        if report:
            record_property(check.name, report)  # times and the like: reported, never asserted

    test.__name__ = f"test_{check.name}"
    test.__doc__ = check.summary
    return test


def _filled(kind: str) -> Callable[[type], type]:
    def fill(contract: type) -> type:
        contract.kind = kind  # type: ignore[attr-defined]
        for check in checks_for(kind):
            test = _test_of(check)
            test.__qualname__ = f"{contract.__name__}.{test.__name__}"
            setattr(contract, test.__name__, test)
        return contract

    return fill


@_filled("cca")
class CcaContract(Contract):
    """Congestion control."""


@_filled("topology")
class TopologyContract(Contract):
    """Topologies."""


@_filled("routing")
class RoutingContract(Contract):
    """Routings."""


@_filled("workload")
class WorkloadContract(Contract):
    """Workloads."""


@_filled("partitioner")
class PartitionerContract(Contract):
    """Partitioners."""


@_filled("memo-backend")
class MemoBackendContract(Contract):
    """Memo back ends."""


@_filled("fast-forward")
class FastForwardContract(Contract):
    """Fast-forward policies."""


@_filled("observer")
class ObserverContract(Contract):
    """Observers."""


class EquivalenceContract:
    """The project's promise: an accelerated run and the same run in packet mode, compared flow by flow.

    experiment: a file or nested dicts. accelerated: settings of the second run. tolerance: largest relative
    difference of a flow's completion time.
    """

    experiment: ClassVar[Any]
    accelerated: ClassVar[Mapping[str, Any]] = {"run.mode": "wormhole"}
    tolerance: ClassVar[float] = 0.05
    plugin: ClassVar[str | None] = None

    def test_accelerated_equals_packet_mode(
        self, kit_plugins: Plugins, record_property: Callable[[str, object], None]
    ) -> None:
        """Completion times within the tolerance."""
        from .doubles import with_doubles

        owner = type(self).__name__
        try:
            seen = compare_modes(self.experiment, self.accelerated, self.tolerance, with_doubles(kit_plugins), owner)
        except Skip as reason:
            pytest.skip(str(reason))
        record_property("equivalence", seen)


CONTRACTS: dict[str, type[Contract]] = {contract.kind: contract for contract in Contract.__subclasses__()}
"""Kind -> its contract."""
