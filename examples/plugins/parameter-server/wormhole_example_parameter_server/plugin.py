"""What this distribution offers; the only module that knows hooks."""

from __future__ import annotations

from typing import Any

from wormhole_core import Component, hookimpl

from .parameter_server import ParameterServer, ParameterServerConfig


@hookimpl
def wormhole_workloads() -> list[Component[Any]]:
    """One workload."""
    return [
        Component(
            name="parameter-server",
            build=ParameterServer,
            config=ParameterServerConfig,
            summary="workers push gradients to servers and pull parameters back",
            reference="Li et al., Scaling Distributed Machine Learning with the Parameter Server, OSDI 2014",
        )
    ]
