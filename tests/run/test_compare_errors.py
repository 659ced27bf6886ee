"""The numbers of a comparison, worked out by hand: per flow, sorted, mean, makespan, noise floor."""

from __future__ import annotations

import pytest

from wormhole_core import FlowRecord, Result
from wormhole_core.errors import CheckFailed
from wormhole_core.run import compare
from wormhole_core.run.compare import compare_experiment, compare_results, makespan_ps
from wormhole_core.run.experiment import experiment_from
from wormhole_core.run.progress import Watcher


def result(*fct_ps: int, start_ps: int = 0, mode: str = "packet", jobs: tuple[str, ...] = ()) -> Result:
    """One flow per completion time, all started at start_ps."""
    flows = [
        FlowRecord(
            index=i, id=i, src=0, dst=1, sport=1, dport=2, size_bytes=10, start_ps=start_ps, fct_ps=fct,
            rx_last_byte_ps=1, ideal_fct_ps=1, job=jobs[i] if jobs else "",
        )
        for i, fct in enumerate(fct_ps)
    ]  # fmt: skip
    return Result(summary={"mode": mode, "seed": 5, "cost": {"cpu_s": 2.0, "events_executed": 10}}, flows=flows)


def test_equal_results_have_no_error():
    errors = compare_results(result(100, 200), result(100, 200))
    zero = {"mean": 0.0, "p99": 0.0, "max": 0.0}
    assert errors == {
        "flows": 2, "fct_error": zero, "sorted_fct_error": zero, "mean_fct_error": 0.0, "makespan_error": 0.0,
    }  # fmt: skip


def test_per_flow_error_is_relative_to_the_reference():
    """100 -> 110 and 400 -> 300: 10 % and 25 %, whichever the sign."""
    errors = compare_results(result(100, 400), result(110, 300))
    assert errors["fct_error"] == pytest.approx({"mean": 0.175, "p99": 0.25, "max": 0.25})
    assert errors["mean_fct_error"] == pytest.approx((500 - 410) / 500)
    assert errors["makespan_error"] == pytest.approx(0.25)


def test_sorting_forgets_which_flow_was_lucky():
    errors = compare_results(result(100, 200, 400), result(400, 100, 200))
    assert errors["fct_error"]["max"] == pytest.approx(3.0)
    assert errors["fct_error"]["mean"] == pytest.approx((3.0 + 0.5 + 0.5) / 3)
    assert errors["sorted_fct_error"] == {"mean": 0.0, "p99": 0.0, "max": 0.0}
    assert errors["mean_fct_error"] == errors["makespan_error"] == 0.0


def test_sorted_errors_pair_rank_with_rank():
    """100, 200 against 220, 110: 10 % each once sorted."""
    errors = compare_results(result(100, 200), result(220, 110))
    assert errors["sorted_fct_error"] == pytest.approx({"mean": 0.1, "p99": 0.1, "max": 0.1})


def test_p99_is_nearest_rank():
    """Of 200 errors 0, 1, ..., 199 %, the 198th smallest is 197 %."""
    errors = compare_results(result(*[100] * 200), result(*(100 + i for i in range(200))))
    assert errors["fct_error"] == pytest.approx({"mean": 0.995, "p99": 1.97, "max": 1.99})


def test_makespan_counts_from_the_first_flow_and_ends_with_the_last():
    late = result(100, 150, start_ps=1000)
    assert makespan_ps(late.flows) == 150
    assert compare_results(late, result(100, 165, start_ps=1000))["makespan_error"] == pytest.approx(0.1)


def test_order_of_records_does_not_matter():
    one, other = result(100, 200, 300), result(110, 190, 330)
    turned = Result(summary={}, flows=list(reversed(other.flows)))
    assert compare_results(one, other) == compare_results(one, turned)


@pytest.mark.parametrize(
    ("reference", "other"),
    [(result(), result()), (result(1), result()), (result(1), result(1, 2)), (result(1), result(1, jobs=("x",)))],
)
def test_different_flows_cannot_be_compared(reference, other):
    with pytest.raises(CheckFailed, match="nothing to compare"):
        compare_results(reference, other)


class Told(Watcher):
    def __init__(self):
        self.runs = []

    def run_begins(self, what):
        self.runs.append(what)


def test_noise_floor_is_the_mean_over_jittered_repetitions(monkeypatch):
    """Two repetitions that are 10 % and 30 % off beside a run that is 50 % off."""
    results = iter([result(100, 100), result(150, 150, mode="fluid"), result(110, 110), result(130, 130)])
    seen, told = [], Told()

    def run(experiment, plugins, watcher=None):
        seen.append(dict(experiment.sections["run"]))
        return next(results)

    monkeypatch.setattr(compare, "run_experiment", run)
    comparison = compare_experiment(
        experiment_from({}), None, reference={"run.mode": "packet"}, other={"run.mode": "fluid"}, floor=2, jitter_ps=77,
        watcher=told,
    )  # fmt: skip
    assert told.runs == [
        "run 1 of 4, packet", "run 2 of 4, fluid", "run 3 of 4, noise floor 1", "run 4 of 4, noise floor 2",
    ]  # fmt: skip
    assert [s.get("mode") for s in seen] == ["packet", "fluid", "packet", "packet"]
    assert [(s.get("seed"), s.get("start_jitter_ps")) for s in seen[2:]] == [(6, 77), (7, 77)]
    assert comparison.errors["mean_fct_error"] == pytest.approx(0.5)
    floor = comparison.noise_floor
    assert floor["runs"] == 2
    assert floor["fct_error"] == pytest.approx({"mean": 0.2, "p99": 0.2, "max": 0.2})
    assert floor["mean_fct_error"] == floor["makespan_error"] == pytest.approx(0.2)
    plain = comparison.as_dict()
    assert (plain["packet"]["mode"], plain["fluid"]["mode"], plain["cpu_ratio"]) == ("packet", "fluid", 1.0)


def test_no_repetitions_no_floor(monkeypatch):
    results = iter([result(100), result(100)])
    monkeypatch.setattr(compare, "run_experiment", lambda experiment, plugins, watcher=None: next(results))
    assert compare_experiment(experiment_from({}), None, reference={}, other={}).noise_floor is None
