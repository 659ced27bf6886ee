"""Python's cyclic garbage collector during the run phase."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 50_000
"""Containers made and not freed between two looks at the young ones: some 10 MB."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let the collector look less often (Python's own 700 or 2,000 objects are meant for small programs).

    Records of finished flows stay, and each look at the old objects goes through all of them: without
    this the cost of a remembered flow grows with the number of flows (`benchmarks/NOTES.md`). No
    effect where the caller has switched the collector off or made it rarer.
    """
    before = gc.get_threshold()
    if 0 < before[0] < NEW_OBJECTS:
        gc.set_threshold(NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
