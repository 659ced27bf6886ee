"""How exactly a run must agree with the reference simulator, by scenario and label.

A bound is what remains between two simulators with the same rules that order simultaneous events
differently. `exact` means every flow completion time to the ns.
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
HPCC_ALONE = Bound(mean=0.001, last=0.001)
SEEDS = Bound(mean=0.01, last=0.01, seeds=True)
PAUSE_COUNT = 0.10
"""Relative difference of the number of pauses, where the reference counts any."""
RANDOM_LABELS = ("dcqcn", "dcqcn_paper", "dcqcn_vwin")


def bound_of(scenario: str, label: str) -> Bound:
    """The bound of a row whose marking is not random, or EXACT where it never reacts to a mark."""
    group, big, large = scenario[:2], "10MB" in scenario, "incast16" in scenario
    hpcc = label.startswith("hpcc")
    if group in ("s1", "s5", "s7", "d1"):
        return HPCC_ALONE if hpcc else EXACT
    if group == "d3" or label in ("nocc_win", "timely_vwin"):
        return EXACT
    if hpcc:
        if group == "s2":
            return Bound(0.08, 0.0015, 0.27) if big else Bound(0.04, 0.007, 0.15)
        return Bound(0.04, 0.025, 0.20) if group == "s3" else Bound(0.05, 0.05, 0.20)
    if label.endswith("_buf2"):
        return Bound(0.06, 0.13, 0.17) if (group, label) == ("s3", "dcqcn_step_buf2") else Bound(0.015, 0.025, 0.09)
    if group == "s6":
        return EXACT
    if label.endswith("_step"):
        return Bound(0.035, 0.021, 0.30) if large and not big else Bound(0.015, 0.021, 0.04)
    if label == "nocc":
        # No figure is given where pauses decide at full buffer: that of the small buffer holds.
        return Bound(0.015, 0.025, 0.09) if big else EXACT
    if label == "timely":
        return Bound(0.03, 0.025, 0.09) if big or large else EXACT
    if label == "dctcp":
        if large and big:
            return Bound(0.05, 0.013, 0.17)
        return Bound(0.02, 0.013, 0.07) if large or (big and "incast8" in scenario) else EXACT
    if label == "dcqcn_vwin" or scenario == "s2_incast2_1MB":
        return EXACT
    raise KeyError(f"{scenario} {label}: random marking needs five seeds")
