"""PowerTCP for Wormhole: `powertcp` is the algorithm, `plugin` offers it."""
