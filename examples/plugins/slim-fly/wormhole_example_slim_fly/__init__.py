"""Slim Fly for Wormhole: `slim_fly` builds the graph, `plugin` offers it."""
