"""What the reference tests share: loaded plugins, and runs that are made once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from wormhole_core.api import load
from wormhole_core.run.selftest import Run, simulate_row

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"
needs_reference = pytest.mark.skipif(not REFERENCE.exists(), reason="../shared/reference is not beside the checkout")

plugins = cache(load)


@cache
def run_of(scenario: str, label: str) -> Run:
    """One run with seed 1 of the event model."""
    return simulate_row(plugins(), scenario, label)
