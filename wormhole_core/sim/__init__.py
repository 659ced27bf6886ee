"""The packet model: hosts, links, switches. Knows SimPy and the contracts; no plugins, no printing."""
