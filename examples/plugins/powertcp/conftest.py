"""Loads Wormhole's kit for plugin authors."""

pytest_plugins = ["wormhole_core.testing.pytest_plugin"]
