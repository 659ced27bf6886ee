"""The workload's side: dependencies, computations, collectives, jitter, and the order within an instant."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from wormhole_core import Collective, Compute, Observer, Transfer, Workload, stream
from wormhole_core.errors import ConfigError
from wormhole_core.sim.driver import Driver


class Items(Workload):
    """Emits `first` at time 0 and `then[id]` when id is done; keeps what it was told."""

    def __init__(self, first, then=None) -> None:
        self.first, self.then, self.told = first, then or {}, []

    def advance(self, now_ps, done):
        if not done:
            return self.first
        self.told.append((now_ps, *done))
        return [item for i in done for item in self.then.get(i, ())]


class Clock:
    """A driver with a network in which each flow takes `lasts` of its own."""

    def __init__(self, workload, lasts=None, at_receiver=True, observers=(), **jitter) -> None:
        self.lasts = lasts or {}
        self.starts: list[tuple[int, object]] = []
        self.agenda: list[tuple[int, int, object]] = []
        self.driver = Driver(
            workload, self.start, lambda t: self.agenda.append((t, 2, None)), observers, at_receiver, **jitter
        )
        self.driver.begin()

    def start(self, transfer, index, now_ps):
        self.starts.append((now_ps, transfer.id))
        flow = SimpleNamespace(
            transfer=transfer,
            index=index,
            start_ps=now_ps,
            retransmitted_bytes=0,
            rx_last_byte_ps=-1,
            fct_ps=-1,
            ideal_fct_ps=1,
            data_key=SimpleNamespace(sport=1),
            source="simulated",
        )
        lasts = self.lasts.get(transfer.id, 10)
        self.agenda += [(now_ps + lasts, 0, flow), (now_ps + lasts + 5, 1, flow)]

    def run(self):
        while self.agenda:
            self.agenda.sort(key=lambda e: e[:2])
            now, what, flow = self.agenda.pop(0)
            (self.driver.received, self.driver.completed, lambda _f, t: self.driver.late(t))[what](flow, now)
        return self


def transfer(name, **more):
    return Transfer(id=name, src=0, dst=1, size_bytes=100, **more)


def test_dependencies_at_the_receiver_or_the_sender():
    for at_receiver, begins in ((True, 10), (False, 15)):
        clock = Clock(Items([transfer("a")], {"a": [transfer("b", delay_ps=3)]}), at_receiver=at_receiver).run()
        assert clock.starts == [(0, "a"), (begins + 3, "b")]
        assert clock.driver.finished


def test_completions_of_one_instant_come_together_in_order():
    workload = Items([transfer("z"), transfer("a"), transfer("m", delay_ps=2)], {"m": [transfer("x")]})
    clock = Clock(workload, lasts={"m": 8}).run()
    assert workload.told == [(10, "z", "a", "m"), (20, "x")]
    assert clock.starts == [(0, "z"), (0, "a"), (2, "m"), (10, "x")]


def test_computations_delay_what_waits_for_them():
    workload = Items([Compute(id="c", rank=0, duration_ps=70, delay_ps=5)], {"c": [transfer("a")]})
    clock = Clock(workload)
    assert not clock.driver.finished
    assert clock.run().starts == [(75, "a")]
    assert workload.told == [(75, "c"), (85, "a")]


def test_a_computation_of_no_time_answers_in_the_same_instant():
    workload = Items(
        [Compute(id="c", rank=0, duration_ps=0)], {"c": [Compute(id="d", rank=0, duration_ps=0)], "d": [transfer("a")]}
    )
    assert Clock(workload).run().starts == [(0, "a")]


def test_collectives_report_once_all_ranks_are_done():
    ended = []

    class Listener(Observer):
        def collective_finished(self, now_ps, collective, started_ps):
            ended.append((collective.id, started_ps, now_ps))

    ring = Collective(id="ring", algorithm="ring-all-reduce", ranks=(0, 1, 2, 3), size_bytes=400, delay_ps=7)
    workload = Items([ring], {"ring": [transfer("after")]})
    clock = Clock(workload, observers=[Listener()]).run()
    # 2 (N - 1) steps of 10 ps, N transfers each.
    assert len(clock.starts) == 6 * 4 + 1
    assert sorted({t for t, _ in clock.starts}) == [7, 17, 27, 37, 47, 57, 67]
    assert ended == [("ring", 7, 67)]
    assert workload.told[0] == (67, "ring")
    assert clock.driver.counters.collectives_finished == 1
    assert clock.driver.counters.flows_finished == 25


def test_one_slow_rank_holds_up_its_neighbours_only():
    ring = Collective(id="r", algorithm="ring-all-gather", ranks=(0, 1, 2, 3), size_bytes=400)
    workload = Items([ring])
    clock = Clock(workload)
    original = clock.start

    def start(item, index, now_ps):
        clock.lasts[item.id] = 100 if (item.src, item.step) == (0, 0) else 10
        original(item, index, now_ps)

    clock.driver._start_flow = start
    clock.run()
    assert workload.told == [(120, "r")]
    assert sorted(t for t, _ in clock.starts) == [0] * 4 + [10, 10] + [20] + [100, 100] + [110, 110, 110]


def test_the_same_collective_twice_is_refused():
    ring = Collective(id="r", algorithm="ring-all-gather", ranks=(0, 1), size_bytes=400)
    with pytest.raises(ConfigError, match="'r' was emitted twice"):
        Clock(Items([ring, ring])).run()


def test_negative_delays_are_refused():
    with pytest.raises(ConfigError, match="'a' has delay -1 ps"):
        Clock(Items([transfer("a", delay_ps=-1)])).run()


def test_jitter_moves_first_starts_only_and_by_its_bound():
    first = [transfer(n) for n in range(50)]
    then = {n: [transfer(100 + n)] for n in range(50)}
    clock = Clock(Items(first, then), jitter_ps=1_000, jitter=stream(1, "jitter")).run()
    begins = dict((name, t) for t, name in clock.starts)
    moved = [begins[n] for n in range(50)]
    assert 0 <= min(moved) and max(moved) <= 1_000
    assert len(set(moved)) > 30
    assert all(begins[100 + n] == begins[n] + 10 for n in range(50))
    again = Clock(Items(first, then), jitter_ps=1_000, jitter=stream(1, "jitter")).run()
    assert again.starts == clock.starts


def test_jitter_moves_each_rank_of_a_collective():
    ring = Collective(id="ring", algorithm="ring-all-reduce", ranks=tuple(range(8)), size_bytes=80_000)
    starts = Clock(Items([ring]), jitter_ps=1_000, jitter=stream(1, "jitter")).run().starts
    first = [t for t, name in starts if name[1] == 0]
    assert len(first) == 8 and len(set(first)) > 4 and 0 <= min(first) and max(first) <= 1_000


def test_both_models_run_dependent_collectives(kit, model):
    ring = Collective(id="ring", algorithm="ring-all-reduce", ranks=(0, 1, 2, 3), size_bytes=40_000)
    again = Collective(id="again", algorithm="all-to-all", ranks=(3, 1, 2, 0), size_bytes=40_000)
    run = kit.run(kit.star(4), Items([ring], {"ring": [again]}), model=model)
    assert len(run.records) == 24 + 12
    assert run.simulation.counters.collectives_finished == 2
    steps = [max(r.start_ps for r in run.records.values() if r.group == "ring" and r.step == s) for s in range(6)]
    assert steps == sorted(set(steps))
