"""Round robin over queue pairs, when to look again, and pairs that leave."""

from __future__ import annotations

import attrs

from wormhole_core.sim.rules.nic_schedule import RoundRobin


@attrs.define(eq=False)
class Pair:
    name: str
    next_send_ps: int = 0
    open: bool = True
    left: bool = True
    finished: bool = False

    def may_send(self) -> bool:
        return self.left and self.open and not self.finished

    def bytes_left(self) -> bool:
        return self.left


def of(*pairs: Pair) -> RoundRobin:
    schedule = RoundRobin()
    schedule.pairs.extend(pairs)
    return schedule


def picks(schedule: RoundRobin, count: int, now_ps: int = 0) -> str:
    return "".join(p.name if (p := schedule.pick(now_ps)) else "-" for _ in range(count))


def test_takes_turns_beginning_after_the_last():
    assert picks(of(Pair("a"), Pair("b"), Pair("c")), 7) == "bcabcab"


def test_passes_over_closed_windows_and_later_deadlines():
    schedule = of(Pair("a"), Pair("b", open=False), Pair("c", next_send_ps=5))
    assert picks(schedule, 3, now_ps=4) == "aaa"
    assert picks(schedule, 3, now_ps=5) == "cac"


def test_nothing_to_pick():
    assert picks(of(), 1) == "-"
    assert picks(of(Pair("a", open=False)), 2) == "--"


def test_finished_pairs_leave_and_the_turn_stays():
    a, b, c, d = (Pair(n) for n in "abcd")
    schedule = of(a, b, c, d)
    assert picks(schedule, 2) == "bc"
    a.finished = True
    assert picks(schedule, 4) == "dbcd"
    assert [p.name for p in schedule.pairs] == ["b", "c", "d"]


def test_a_pair_that_moves_away_leaves_the_turn():
    a, b, c, d = (Pair(n) for n in "abcd")
    schedule = of(a, b, c, d)
    assert picks(schedule, 2) == "bc"  # d is next
    schedule.remove(a)
    assert picks(schedule, 1) == "d"
    schedule.remove(d)
    assert picks(schedule, 2) == "bc"
    first = of(a, b)
    first.remove(a)
    assert picks(first, 1) == "b"


def test_when_to_look_again():
    late, closed, empty = Pair("l", next_send_ps=9), Pair("c", next_send_ps=3, open=False), Pair("e", 1, left=False)
    assert of(late, closed, empty).wake_ps(5, "any") == 9
    # The closed pair's deadline has passed and hides the late one.
    assert of(late, closed, empty).wake_ps(5, "earliest") is None
    assert of(late, closed, empty).wake_ps(2, "earliest") == 3
    assert of(empty).wake_ps(0, "any") is None
