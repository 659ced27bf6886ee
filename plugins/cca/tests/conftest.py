"""Objects the tests of this distribution share: flows, acknowledgements, components by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from wormhole_cca.plugin import wormhole_ccas

from wormhole_core import Cca, Component, Feedback, FlowInfo

COMPONENTS = {component.name: component for component in wormhole_ccas()}


@pytest.fixture
def components() -> dict[str, Component[Any]]:
    """Everything this distribution offers, by name."""
    return COMPONENTS


@pytest.fixture
def make_flow() -> Callable[..., FlowInfo]:
    """A flow over one switch at 100 Gbps, base RTT 4.16 us; any field can be replaced."""

    def build(**changes: Any) -> FlowInfo:
        fields = {
            "line_rate_bps": 100_000_000_000, "base_rtt_ps": 4_160_000, "bdp_bytes": 52_000,
            "payload_bytes": 1000, "frame_bytes": 1048, "hops": 2,
        }  # fmt: skip
        return FlowInfo(**{**fields, **changes})

    return build


@pytest.fixture
def make_cca(make_flow: Callable[..., FlowInfo]) -> Callable[..., Cca]:
    """A Cca by component name and options, on `make_flow()` or the flow given."""

    def build(name: str, flow: FlowInfo | None = None, **options: Any) -> Cca:
        component = COMPONENTS[name]
        return component.build(component.config(**options), flow or make_flow(), None)

    return build


@pytest.fixture
def ack() -> Callable[..., Feedback]:
    """One acknowledgement record."""

    def build(**fields: Any) -> Feedback:
        fb = Feedback()
        for name, value in fields.items():
            setattr(fb, name, value)
        return fb

    return build
