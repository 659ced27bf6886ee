"""`python -m wormhole_core` is `wormhole-sim`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
