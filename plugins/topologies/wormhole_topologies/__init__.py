"""Topologies for Wormhole, one module each; `plugin` offers them."""
