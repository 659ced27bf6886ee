"""What Wormhole asks of a workload, checked by its kit for plugin authors."""

from wormhole_core.testing import WorkloadContract


class TestParameterServer(WorkloadContract):
    component = "parameter-server"
    options = ({}, {"size_bytes": 1_000_001, "synchronous": False}, {"compute_ps": 0})
