"""End-to-end runs for checks: whole experiments through the Python API, and small networks by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from ..contracts.observer import Observer
from ..contracts.result import Result
from ..contracts.topology import Graph
from ..contracts.workload import Transfer
from ..plugins import Plugins
from ..rng import Stream
from .doubles import Listed, with_doubles
from .subject import Skip, Subject

ACCELERATION = {"partitioner": "partitioner", "memo-backend": "memo", "fast-forward": "fast_forward"}
STOP_PS = 80_000_000
"""Where a check's run of a component with its own sizes is cut off: 80 us."""


def mode_exists(mode: str) -> bool:
    """Whether this version can run experiments in a mode."""
    from ..run.experiment import MODES

    return mode in MODES


@attrs.frozen(kw_only=True)
class KitExperiment:
    """An experiment around one component, everything else a stand-in."""

    sections: Mapping[str, Any]
    plugins: Plugins

    def run(self, **run: Any) -> Result:
        """Run it; `run`: options of the `[run]` section over its own."""
        from ..api import simulate

        return simulate(self.sections, plugins=self.plugins, **run)


def kit_experiment(subject: Subject, number: int = 0) -> KitExperiment:
    """The smallest experiment that uses the component; each number has a store of its own."""
    named = {"plugin": subject.entry.name, **subject.options}
    if subject.kind == "memo-backend" and "path" in subject.fields():
        named["path"] = str(subject.folder / f"run-{number}")
    sections: dict[str, Any] = {
        "topology": {"plugin": "kit-bundle"},
        "workload": {"plugin": "kit-shift"},
        "cca": {"plugin": "kit-window"},
        "run": {"stop_ps": STOP_PS, "mode": "packet"},
    }
    if subject.kind in ACCELERATION:
        # Nothing is skipped but by the policy that is looked at, nothing remembered where that is looked at.
        others = {"memo": "none"} if subject.kind == "fast-forward" else {"fast_forward": "off"}
        sections["acceleration"] = {**others, ACCELERATION[subject.kind]: named}
        if mode_exists("wormhole"):
            sections["run"]["mode"] = "wormhole"
    elif subject.kind == "observer":
        sections["observers"] = {subject.entry.name: named}
    else:
        sections[subject.kind] = named
    if subject.kind == "workload":
        sections["topology"]["hosts"] = 8
        if "size_bytes" in subject.fields() and "size_bytes" not in subject.options:
            sections["workload"]["size_bytes"] = 20_000
    return KitExperiment(sections=sections, plugins=with_doubles(subject.plugins))


def trace_of(experiment: KitExperiment) -> tuple[int, list[Any]]:
    """(number of finished flows, everything a run leaves behind that must not change)."""
    result = experiment.run()
    # Where a flow's times came from depends on what was remembered before.
    flows = [attrs.astuple(attrs.evolve(flow, source="")) for flow in result.flows]
    return len(flows), [flows, [attrs.astuple(link) for link in result.links], result.summary["status"]]


class SentBytes(Observer):
    """Counts payload that left its host, per flow."""

    def __init__(self) -> None:
        self.bytes: dict[int, int] = {}

    def packet_sent(self, now_ps: int, flow_index: int, seq: int, size_bytes: int) -> None:
        """One frame."""
        self.bytes[flow_index] = self.bytes.get(flow_index, 0) + size_bytes


def simulation(
    subject: Subject, graph: Graph, transfers: Iterable[Transfer], observers: Sequence[Observer] = ()
) -> Any:
    """A packet simulation of given transfers under the congestion control that is checked."""
    from ..builtin.routing_ecmp import ECMP
    from ..sim.config import NetworkConfig
    from ..sim.simulation import Simulation

    config = subject.config()
    return Simulation(
        graph, NetworkConfig(), make_cca=lambda flow, rng: subject.entry.build(config, flow, rng),
        workload=Listed(transfers), routing=ECMP.build(ECMP.config(), Stream(1)), observers=observers,
    )  # fmt: skip


def advance_to(engine: Any, until_ps: int) -> None:
    """Go on until a time."""
    while not engine.advance(100_000, until_ps):
        pass


def compare_modes(source: Any, accelerated: Mapping[str, Any], tolerance: float, plugins: Plugins, owner: str) -> str:
    """Packet mode against an accelerated one, flow by flow; returns what was seen.

    accelerated: settings of the second run, e.g. `{"run.mode": "wormhole"}`. Raises Skip where this
    version has no such mode, AssertionError that names the flow farthest off.
    """
    mode = accelerated.get("run.mode", "wormhole")
    if not mode_exists(mode):
        raise Skip(f"this version has no mode {mode!r} to compare packet mode with")
    from ..api import compare

    both = compare(source, {"run.mode": mode, **accelerated}, plugins=plugins)
    theirs = {(flow.job, flow.id): flow for flow in both.other.flows}
    worst, place = 0.0, "no flow"
    for flow in both.reference.flows:
        other = theirs[(flow.job, flow.id)]
        error = abs(other.fct_ps - flow.fct_ps) / flow.fct_ps
        if error > worst:
            worst, place = error, f"flow {flow.id!r}: {other.fct_ps} ps ({other.source}) in place of {flow.fct_ps} ps"
    if worst > tolerance:
        raise AssertionError(
            f"{owner}: expected completion times within {tolerance:.2%} of packet mode; saw {worst:.2%} at {place}"
        )
    costs = [result.summary["cost"]["events_executed"] for result in (both.reference, both.other)]
    return f"largest difference {worst:.3%}, {costs[1]} events for {costs[0]}"
