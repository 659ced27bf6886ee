"""Congestion-control algorithms for Wormhole, one module each; `plugin` offers them."""
