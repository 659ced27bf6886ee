"""The flow-file workload: starts, dependencies, totals, refusals."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from wormhole_core import stream
from wormhole_core.errors import InputError
from wormhole_core.run.workload_flows import FlowsWorkload


@attrs.frozen(kw_only=True)
class Record:
    id: object
    src: int = 0
    dst: int = 1
    size_bytes: int = 1000
    start_ps: int = 0
    deps: tuple = ()
    sport: int | None = None
    dport: int = 100
    traffic_class: int = 3
    path: tuple | None = None
    ack_path: tuple | None = None


def drive(workload, rng):
    waiting, order = list(workload.advance(0, ())), []
    while waiting:
        ended = waiting.pop(rng.below(len(waiting)))
        order.append(ended.id)
        waiting += workload.advance(0, [ended.id])
    return order


def test_flows_without_dependencies_start_at_their_time():
    workload = FlowsWorkload([Record(id=1, start_ps=5), Record(id=0, start_ps=3, sport=7, path=(0, 9, 1))], job="j")
    first, second = workload.advance(0, ())
    assert (first.id, first.delay_ps, first.sport, first.job) == (1, 5, None, "j")
    assert (second.id, second.delay_ps, second.sport, second.path) == (0, 3, 7, (0, 9, 1))
    assert list(workload.advance(9, [1, 0])) == []


def test_a_flow_starts_after_its_last_dependency():
    workload = FlowsWorkload([Record(id=0), Record(id=1), Record(id=2, deps=(0, 1, 0), start_ps=50)])
    assert [t.id for t in workload.advance(0, ())] == [0, 1]
    assert list(workload.waiting()) == ["flow 2 (0 to 1, 1000 B) waits for flow 0, 1"]
    assert list(workload.advance(1, [1])) == []
    assert list(workload.waiting()) == ["flow 2 (0 to 1, 1000 B) waits for flow 0"]
    (last,) = workload.advance(2, [0])
    assert (last.id, last.delay_ps) == (2, 50)
    assert list(workload.waiting()) == []


def test_totals_and_expected_bytes():
    records = [Record(id=i, src=i % 3, dst=3, size_bytes=10 + i) for i in range(7)]
    workload = FlowsWorkload(records)
    assert (workload.total_items(), workload.total_bytes()) == (7, 91)
    assert workload.expected_bytes(0) == (10 + 13 + 16, 0)
    assert workload.expected_bytes(3) == (0, 91)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([Record(id=1), Record(id=1)], "flow 1 exists twice"),
        ([Record(id=1, deps=(8,))], "flow 1 waits for flow 8, which does not exist"),
        ([Record(id=0), Record(id=1, deps=(2, 0)), Record(id=2, deps=(1,))], "flow 1 and 1 others wait .* in a circle"),
        ([Record(id=1, deps=(1,))], "in a circle"),
    ],
)
def test_bad_records_are_refused(records, message):
    with pytest.raises(InputError, match=message):
        FlowsWorkload(records)


def test_random_dependencies_are_all_kept():
    rng = stream(1, "dag")
    records = [Record(id=i, deps=tuple({rng.below(i) for _ in range(rng.below(4))}) if i else ()) for i in range(200)]
    for seed in range(3):
        order = drive(FlowsWorkload(records), stream(seed, "drive"))
        place = {flow: position for position, flow in enumerate(order)}
        assert sorted(order) == list(range(200))
        assert all(place[dep] < place[record.id] for record in records for dep in record.deps)


def test_measured_ring_file_runs_to_its_end():
    folder = Path(__file__).resolve().parents[3] / "shared/reference/d1_ringallreduce8_10MB"
    if not folder.exists():
        pytest.skip("the reference data does not lie beside the checkout")
    from wormhole_core.run.formats.flows import read_flows

    workload = FlowsWorkload(read_flows(folder / "flows.csv").flows)
    assert (workload.total_items(), workload.total_bytes()) == (112, 112 * 1_250_000)
    assert len(drive(workload, stream(1, "drive"))) == 112
