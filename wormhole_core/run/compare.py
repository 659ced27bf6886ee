"""Two runs of one experiment side by side: how far apart, at what cost, beside which noise floor.

The noise floor is what the same mode differs from itself when start times move by less than one can
know them: the reference run again, jittered. An error below it says nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from ..contracts.result import FlowRecord, Result
from ..errors import CheckFailed
from .experiment import Experiment, Origin, experiment_from
from .progress import Watcher
from .runner import run_experiment
from .statistics import percentile

Settings = Mapping[str, Any]
"""Dotted option -> value, e.g. `{"run.mode": "packet"}`."""


MEASURES = (
    *(f"{name}.{part}" for name in ("fct_error", "sorted_fct_error") for part in ("mean", "p99", "max")),
    "mean_fct_error",
    "makespan_error",
)
"""Relative differences of two runs by their dotted names."""


@attrs.frozen(kw_only=True)
class Comparison:
    """reference, other: the two results. errors: relative differences of flow completion times
    (`compare_results`). noise_floor: the same between the reference and its jittered repetitions,
    averaged; None if there were none. fluid: the same experiment in fluid mode, and its errors; None
    if that was not asked for, or if it did not finish the same flows by `run.stop_ps`."""

    reference: Result
    other: Result
    errors: dict[str, Any]
    noise_floor: dict[str, Any] | None
    fluid: Result | None = None
    fluid_errors: dict[str, Any] | None = None

    @property
    def names(self) -> tuple[str, str]:
        """What to call the two: their modes where they differ."""
        modes = (self.reference.summary["mode"], self.other.summary["mode"])
        return modes if modes[0] != modes[1] else ("reference", "other")

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        first, second = self.names
        cpu = self.other.summary["cost"]["cpu_s"]
        return {
            **self.errors,
            "noise_floor": self.noise_floor,
            "cpu_ratio": round(self.reference.summary["cost"]["cpu_s"] / cpu, 6) if cpu else None,
            "events_avoided": self.events_avoided,
            **({} if self.fluid is None else {"fluid_error": self.fluid_errors, "fluid": self.fluid.summary}),
            first: self.reference.summary,
            second: self.other.summary,
        }

    @property
    def events_avoided(self) -> int:
        """Events that the second run did without."""
        events = [result.summary["cost"]["events_executed"] for result in (self.reference, self.other)]
        return events[0] - events[1]

    def beyond(self, bounds: Mapping[str, float]) -> list[str]:
        """What exceeds its bound, a line each; keys are those of `MEASURES`."""
        values = {key: measure(self.errors, key) for key in bounds}
        return [
            f"{key} is {value:.4%}, more than {bounds[key]:.4%}" for key, value in values.items() if value > bounds[key]
        ]


def compare_experiment(
    source: Experiment,
    plugins: Any,
    *,
    reference: Settings,
    other: Settings,
    floor: int = 0,
    jitter_ps: int | None = None,
    fluid: bool = False,
    watcher: Watcher | None = None,
) -> Comparison:
    """Run an experiment with two groups of settings, the reference `floor` times more with jitter.

    other: what is different in the second run. jitter_ps: start times of those runs move by up to this
    much; None: by up to one base RTT. fluid: also run it in fluid mode. Raises what a run raises,
    CheckFailed if the runs did not finish the same flows.
    """

    total, begun = 2 + fluid + floor, itertools.count(1)

    def run(settings: Settings, what: str) -> Result:
        if watcher is not None:
            watcher.run_begins(f"run {next(begun)} of {total}, {what}")
        experiment = experiment_from(source)
        for key, value in settings.items():
            experiment.set(key, value, Origin(text=f"{key}={value}"))
        return run_experiment(experiment, plugins, watcher=watcher)

    modes = [str(settings.get("run.mode", "")) for settings in (reference, {**reference, **other})]
    names = modes if modes[0] != modes[1] else ["reference", "other"]
    first, second = run(reference, names[0]), run({**reference, **other}, names[1])
    errors = compare_results(first, second)
    third = run({**reference, "run.mode": "fluid"}, "fluid") if fluid else None
    fluid_errors = None
    if third is not None:
        try:
            fluid_errors = compare_results(first, third)
        except CheckFailed:  # a yardstick that does not fit is left out
            third = None
    seed = first.summary["seed"]
    if jitter_ps is None:
        jitter_ps = first.summary.get("base_rtt_ps", 0)
    repeats = [
        compare_results(
            first,
            run({**reference, "run.start_jitter_ps": jitter_ps, "run.seed": seed + 1 + i}, f"noise floor {i + 1}"),
        )
        for i in range(floor)
    ]
    return Comparison(
        reference=first, other=second, errors=errors, noise_floor=_mean_of(repeats), fluid=third,
        fluid_errors=fluid_errors,
    )  # fmt: skip


def compare_results(reference: Result, other: Result) -> dict[str, Any]:
    """Relative differences: per flow, of sorted completion times, of their mean, of the makespan.

    Raises CheckFailed if the flows are not the same.
    """
    theirs = {_key(flow): flow for flow in other.flows}
    ours = {_key(flow): flow for flow in reference.flows}
    if not ours or ours.keys() != theirs.keys():
        lone = sorted(map(str, ours.keys() ^ theirs.keys()))[:1]
        raise CheckFailed(
            f"the runs finished {len(ours)} and {len(theirs)} flows"
            + (f", e.g. {lone[0]} in one of them only" if lone else "")
            + "; there is nothing to compare"
        )
    per_flow = [_relative(theirs[key].fct_ps, flow.fct_ps) for key, flow in ours.items()]
    ordered = [
        _relative(b, a)
        for a, b in zip(sorted(f.fct_ps for f in reference.flows), sorted(f.fct_ps for f in other.flows), strict=True)
    ]
    return {
        "flows": len(ours),
        "fct_error": _spread(per_flow),
        "sorted_fct_error": _spread(ordered),
        "mean_fct_error": _relative(_mean_fct(other.flows), _mean_fct(reference.flows)),
        "makespan_error": _relative(makespan_ps(other.flows), makespan_ps(reference.flows)),
    }


def measure(errors: Mapping[str, Any], key: str) -> float:
    """The value of one of `MEASURES`."""
    name, _, part = key.partition(".")
    return float(errors[name][part] if part else errors[name])


def makespan_ps(flows: Sequence[FlowRecord]) -> int:
    """From the start of the first flow to the end of the last (files may begin seconds after 0)."""
    return max(flow.start_ps + flow.fct_ps for flow in flows) - min(flow.start_ps for flow in flows)


def _key(flow: FlowRecord) -> tuple[str, Any]:
    return flow.job, flow.id


def _mean_fct(flows: Sequence[FlowRecord]) -> float:
    return sum(flow.fct_ps for flow in flows) / len(flows)


def _relative(value: float, reference: float) -> float:
    return abs(value - reference) / reference


def _spread(errors: Sequence[float]) -> dict[str, float]:
    ordered = sorted(errors)
    return {"mean": sum(ordered) / len(ordered), "p99": percentile(ordered, 99), "max": ordered[-1]}


def _mean_of(comparisons: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    if not comparisons:
        return None
    mean: dict[str, Any] = {"runs": len(comparisons)}
    for key, value in comparisons[0].items():
        if isinstance(value, Mapping):
            mean[key] = {part: sum(c[key][part] for c in comparisons) / len(comparisons) for part in value}
        elif key != "flows":
            mean[key] = sum(c[key] for c in comparisons) / len(comparisons)
    return mean
