"""The project's promise, for every component that takes part in acceleration: as in packet mode, only sooner."""

from __future__ import annotations

from ..runs import compare_modes, kit_experiment
from ..subject import Subject
from ._register import check

LONG_BYTES = 2_000_000


@check("cca", "partitioner", "memo-backend", "fast-forward")
def equals_packet_mode(subject: Subject) -> str:
    """Completion times of a run that uses it differ from packet mode by less than its tolerance."""
    experiment = kit_experiment(subject)
    sections = {**experiment.sections, "run": {}}
    if subject.kind == "cca":  # what its snapshots are for: rounds that are replayed
        sections["topology"] = {**sections["topology"], "links": 1}
        sections["acceleration"] = {"fast_forward": "off"}
    if subject.kind == "fast-forward":  # flows long enough to become steady; else rounds that repeat each other
        sections["topology"] = {**sections["topology"], "links": 1}
        sections["workload"] = {**sections["workload"], "size_bytes": LONG_BYTES, "rounds": 1}
    return compare_modes(
        sections, {"run.mode": "wormhole"}, subject.limit("fct_error"), experiment.plugins, subject.owner
    )
