"""Plugins: found, loaded, checked and listed. `load_plugins` is the one way in.

`loader` finds and registers, `registry` keeps components by kind, `loaded` is what the rest of the
program holds afterwards, `trace` shows what happens. Hook specifications are in `wormhole_core.hooks`.
"""

from .loaded import BrokenPlugin, PluginInfo, Plugins
from .loader import load_plugins
from .registry import Entry, Registry

__all__ = ["BrokenPlugin", "Entry", "PluginInfo", "Plugins", "Registry", "load_plugins"]
