"""Parameter servers for Wormhole: `parameter_server` is the workload, `plugin` offers it."""
