"""How exactly a run must agree with the reference simulator, by scenario and label.

The presets `reference:LABEL` order simultaneous events as the reference does, so that `exact`, every
flow completion time to the ns, is the rule.
"""

from __future__ import annotations

import attrs


@attrs.frozen
class Bound:
    """Largest relative differences of mean, last and sorted completion times; None: not compared.

    exact: every completion time equal. seeds: mean and last are averages over several seeds, compared
    with the range of the reference's five seeds widened by `mean` and `last`."""

    mean: float | None = None
    last: float | None = None
    sorted: float | None = None
    exact: bool = False
    seeds: bool = False

    def __str__(self) -> str:
        if self.exact:
            return "equal to the ns"
        if self.seeds:
            return f"average in their range +- {self.mean:.0%}"
        parts = [
            f"{n} {v:.2%}"
            for n, v in (("mean", self.mean), ("last", self.last), ("sorted", self.sorted))
            if v is not None
        ]
        return ", ".join(parts)


EXACT = Bound(exact=True)
TELEMETRY_RESTARTS = Bound(mean=0.001, last=0.001)
SEEDS = Bound(mean=0.01, last=0.01, seeds=True)
PAUSE_COUNT = 0.10
"""Relative difference of the number of pauses, where the reference counts any and the bound is not EXACT."""
NOT_EQUAL = {("d1_ringallreduce8_10MB", "hpcc"): TELEMETRY_RESTARTS}
"""Rows that are not equal to the ns; docs/model.md has the causes."""


def bound_of(scenario: str, label: str) -> Bound:
    """The bound of a row whose marking is not random, or that never reacts to a mark."""
    return NOT_EQUAL.get((scenario, label), EXACT)
