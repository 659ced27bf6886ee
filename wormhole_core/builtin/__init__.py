"""Plugins that ship inside the core: routings, partitioners, memo back ends, fast-forward policies.

They use the public face of `wormhole_core` only and come in through the same hooks as any plugin;
`wormhole_core.run` hands `builtin.plugin` to the loader. One component per module.
"""
