"""DCQCN: equations (1) to (5), the three timers and the byte counter on values worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from wormhole_core import Cca

LINE = 100_000_000_000
US = 1_000_000
G = 1 / 256
MakeCca = Callable[..., Cca]
Ack = Callable[..., Any]

OPTIONS = {"ai_rate_bps": 20_000_000, "hai_rate_bps": 200_000_000, "min_rate_bps": 1_000_000_000}


@pytest.fixture
def mark(ack: Ack) -> Callable[[Cca, int], None]:
    def send(cca: Cca, now_ps: int) -> None:
        cca.on_ack(ack(now_ps=now_ps, ecn_marked=True, acked_bytes=1000))

    return send


def run_to(cca: Cca, until_ps: int) -> list[int]:
    """Fire timers up to and including a time; the times they fired at."""
    fired = []
    while (at_ps := cca.next_timer_ps(0)) is not None and at_ps <= until_ps:
        cca.on_timer(at_ps)
        fired.append(at_ps)
    return fired


def alpha(cca: Cca, now_ps: int) -> float:
    return cca.snapshot(now_ps, 0)[2]


def test_first_mark_starts_timers_and_cuts_later(make_cca: MakeCca, mark: Any) -> None:
    cca = make_cca("dcqcn", **OPTIONS)
    assert cca.next_timer_ps(0) is None
    mark(cca, 7 * US)
    assert cca.rate_bps == LINE
    assert cca.next_timer_ps(7 * US) == 11 * US + 1000
    run_to(cca, 11 * US + 1000)
    decayed = (1 - G) ** 4  # (2): alpha timers at 8, 9, 10 and 11 us, none notified
    assert cca.rate_bps == int(LINE * (1 - decayed / 2))  # (1)
    assert cca.snapshot(11 * US + 1000, 0)[1] == LINE
    assert cca.next_timer_ps(12 * US) == 311 * US + 1000


def test_1_2_alpha_follows_notified_periods(make_cca: MakeCca, mark: Any) -> None:
    cca = make_cca("dcqcn", **OPTIONS)
    mark(cca, 0)
    mark(cca, 1_500_000)
    expected = ((1 - G) * ((1 - G) * 1.0) + G) * (1 - G)  # silent, notified, silent
    assert alpha(cca, 3 * US + 1) == pytest.approx(expected, rel=1e-15)


def test_one_cut_per_period_however_many_marks(make_cca: MakeCca, mark: Any) -> None:
    cca = make_cca("dcqcn", **OPTIONS)
    for t_ps in range(0, 4 * US, 100_000):
        mark(cca, t_ps)
    assert run_to(cca, 4 * US + 1000) == [4 * US + 1000]
    once = cca.rate_bps
    assert run_to(cca, 200 * US) == []  # idle decrease timers wake nobody
    assert cca.rate_bps == once
    mark(cca, 201 * US)
    assert cca.next_timer_ps(201 * US) == 204 * US + 1000  # and keep their phase


def test_3_4_5_recovery(make_cca: MakeCca, mark: Any) -> None:
    cca = make_cca("dcqcn", **OPTIONS, fast_recovery_steps=2)
    cca.scale(0.8, 0)
    mark(cca, 0)
    run_to(cca, 4 * US + 1000)
    rate, target = cca.rate_bps, 80_000_000_000
    assert cca.snapshot(0, 0)[1] == target
    for step_bps in (0, 0, 20_000_000, 200_000_000, 200_000_000):
        run_to(cca, cca.next_timer_ps(0))
        target += step_bps
        rate = (rate + target) // 2
        assert (cca.rate_bps, cca.snapshot(0, 0)[1]) == (rate, target)
    assert cca.next_timer_ps(0) == 4 * US + 1000 + 6 * 300 * US


@pytest.mark.parametrize("clamp", [False, True])
def test_second_cut_without_recovery_moves_the_target_only_if_clamped(
    make_cca: MakeCca, mark: Any, clamp: bool
) -> None:
    cca = make_cca("dcqcn", **OPTIONS, clamp_target=clamp)
    mark(cca, 0)
    run_to(cca, 5 * US)
    first = cca.rate_bps
    mark(cca, 6 * US)
    run_to(cca, 8 * US + 1000)
    assert cca.rate_bps < first
    assert cca.snapshot(9 * US, 0)[1] == (first if clamp else LINE)


def test_increase_armed_earlier_fires_before_the_cut_of_the_same_instant(make_cca: MakeCca, mark: Any) -> None:
    cca = make_cca("dcqcn", **OPTIONS)
    mark(cca, 0)
    run_to(cca, 4 * US + 1000)
    low = cca.rate_bps
    mark(cca, 301 * US)
    together = 304 * US + 1000
    assert run_to(cca, together) == [together]
    recovered = (low + LINE) // 2
    state = cca.snapshot(together, 0)
    assert state[1] == recovered  # the cut saw a recovered rate, so it moved the target
    assert state[5] == 0
    assert cca.rate_bps < recovered


def test_cut_at_once_follows_the_paper(make_cca: MakeCca, mark: Any) -> None:
    cca = make_cca(
        "dcqcn", **OPTIONS, decrease_timer_ps=0, alpha_timer_ps=55 * US, increase_timer_ps=55 * US, clamp_target=True
    )
    mark(cca, 0)
    assert cca.rate_bps == 50_000_000_000
    mark(cca, 60 * US)  # one silent alpha period, one fast recovery
    recovered = 75_000_000_000
    assert cca.rate_bps == int(recovered * (1 - (1 - G) / 2))
    assert cca.snapshot(60 * US, 0)[1] == recovered
    assert alpha(cca, 60 * US) == pytest.approx((1 - G) * (1 - G) + G)


def test_byte_counter(make_cca: MakeCca, mark: Any, ack: Ack) -> None:
    cca = make_cca("dcqcn", **OPTIONS, byte_counter_bytes=10_000, fast_recovery_steps=2)
    cca.scale(0.6, 0)
    mark(cca, 0)
    run_to(cca, 4 * US + 1000)
    rate, target = cca.rate_bps, 60_000_000_000
    for event in range(1, 6):
        for _ in range(10):
            cca.on_ack(ack(now_ps=5 * US, acked_bytes=1000))
        target += 20_000_000 if event > 2 else 0  # never hyper: the timer has not fired
        rate = (rate + target) // 2
        assert cca.rate_bps == rate
    for event in range(1, 4):
        run_to(cca, cca.next_timer_ps(0))
        target += 200_000_000 if event > 2 else 20_000_000  # both past F
        rate = (rate + target) // 2
        assert cca.rate_bps == rate


def test_floor_and_ceiling(make_cca: MakeCca, mark: Any) -> None:
    cca = make_cca("dcqcn", **OPTIONS)
    for t_ps in range(0, 200 * US, 500_000):
        run_to(cca, t_ps)
        mark(cca, t_ps)
    assert cca.rate_bps == 1_000_000_000
    run_to(cca, 400_000 * US)
    assert LINE - 2 <= cca.rate_bps <= LINE


def test_long_silence_is_cheap_and_exact_in_phase(make_cca: MakeCca, mark: Any) -> None:
    cca = make_cca("dcqcn", **OPTIONS)
    mark(cca, 0)
    run_to(cca, 5 * US)
    hour = 3_600 * 10**12
    state = cca.snapshot(hour + 300_000, 0)
    assert state[2] == 0.0
    assert state[8] == 700_000  # next alpha timer on the grid of whole microseconds


def test_windows(make_cca: MakeCca, mark: Any) -> None:
    for window, expected in (("none", None), ("fixed", 52_000), ("variable", 26_000)):
        cca = make_cca("dcqcn", **OPTIONS, window=window)
        cca.scale(0.5, 0)
        assert cca.window_bytes == expected
