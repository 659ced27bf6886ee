"""An experiment from file to result: `runner.py` is the main path, the rest is one import away."""
