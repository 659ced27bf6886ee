"""What Wormhole asks of a topology, checked by its kit for plugin authors."""

from wormhole_core.testing import TopologyContract


class TestSlimFly(TopologyContract):
    component = "slim-fly"
    options = ({"order": 3, "hosts_per_router": 1}, {"order": 5, "hosts_per_router": 1})
