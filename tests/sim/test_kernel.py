"""The order of one instant, ticks, and the alarms of the readable model."""

from __future__ import annotations

import pytest

from wormhole_core.sim.kernel import DEAD, Halt, KernelEnvironment, Tick
from wormhole_core.sim.order import ARRIVE, DEPART, LATE, PFC, SEND
from wormhole_core.sim.process.alarm import Alarm


def test_rank_then_sequence_then_index_decide():
    env, seen = KernelEnvironment(), []
    entries = [
        (LATE, 0, 0),
        (ARRIVE, 5, 2),
        (ARRIVE, 5, 1),
        (ARRIVE, 3, 9),
        (DEPART | 2, 0, 0),
        (DEPART | 1, 0, 0),
        (PFC | 7, 0, 0),
    ]
    for rank, sequence, index in entries:
        env.push(10, rank, Tick(index), (lambda _t, e=(rank, sequence, index): seen.append(e),), sequence)
    assert env.advance(100)
    assert seen == sorted(entries)
    assert env.executed == len(entries)


def test_the_past_is_refused():
    env = KernelEnvironment()
    env.push(10, LATE, Tick(), DEAD)
    env.advance(1)
    with pytest.raises(AssertionError, match="9 ps pushed at 10 ps"):
        env.push(9, LATE, Tick(), DEAD)


def test_limits():
    env, seen = KernelEnvironment(), []
    for time in (1, 2, 3):
        env.push(time, LATE, Tick(), (lambda _t, t=time: seen.append(t),))
    assert not env.advance(1)
    assert env.advance(10, until_ps=2)
    assert seen == [1, 2]
    assert env.advance(10)


def test_halt_stops_at_once():
    env = KernelEnvironment()

    def halt(_tick):
        raise Halt

    env.push(1, LATE, Tick(), (halt,))
    env.push(2, LATE, Tick(), DEAD)
    assert env.advance(10)
    assert (env.now, env.executed, len(env._queue)) == (1, 1, 1)


def test_alarms_wake_processes_in_ranked_order():
    env, seen = KernelEnvironment(), []

    def sleeper(name, alarm):
        while True:
            yield alarm.ring()
            seen.append((env.now, name))

    alarms = {name: Alarm(env, rank) for name, rank in (("send", SEND), ("depart", DEPART), ("pfc", PFC))}
    for name, alarm in alarms.items():
        env.process(sleeper(name, alarm))
        alarm.set(5)
    alarms["send"].set(7)  # moved on
    alarms["depart"].set_no_later(6)  # 5 stays
    alarms["pfc"].cancel()
    env.advance(100)
    assert seen == [(5, "depart"), (7, "send")]
    for name in ("send", "pfc", "depart"):
        alarms[name].set(9)
    alarms["send"].set_no_later(8)
    env.advance(100)
    assert seen[2:] == [(8, "send"), (9, "pfc"), (9, "depart")]
    assert alarms["send"].time_ps is None
