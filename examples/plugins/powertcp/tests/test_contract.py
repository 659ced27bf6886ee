"""What Wormhole asks of a cca, checked by its kit for plugin authors."""

from wormhole_core.testing import CcaContract


class TestPowerTcp(CcaContract):
    component = "powertcp"
    options = ({}, {"expected_flows": 2, "gain": 0.5})
