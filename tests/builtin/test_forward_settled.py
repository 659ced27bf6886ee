"""`settled`: what it skips, how far, and each thing it must refuse."""

from __future__ import annotations

import math

import attrs
import pytest

from wormhole_core import stream
from wormhole_core.builtin.forward_off import NEVER_PS
from wormhole_core.builtin.forward_settled import SETTLED
from wormhole_core.component import make_config
from wormhole_core.errors import ConfigError

from .forward_samples import LINE_BYTES_PER_PS, PAYLOAD, PER_RTT, RTT_PS, Feed, even, info


def feed(partition=None, gain=None, *, options=None, **more):
    partition = partition or info()
    policy = SETTLED.build(SETTLED.config(**(options or {})), partition, stream(1, "forward"))
    return Feed(policy, partition, gain or even(partition.flows), **more)


def noise(i, k):
    """Between -1 and 1, without memory."""
    return stream(7, i, k).uniform() * 2 - 1


# --- what it skips ---


def test_constant_flows_are_skipped_after_settling_and_one_short_window():
    run = feed()
    plan = run.until_plan()
    # The samples at 5 and 61 RTTs span 56 intervals: 57 samples.
    assert run.now_ps == 61 * RTT_PS
    assert plan.until_ps == run.now_ps + 8 * 56 * RTT_PS
    rate = even()(0, 0) / RTT_PS
    assert plan.bytes_per_ps == (rate, rate)
    assert plan.spread == 0.0 and plan.error_bound < 1e-9


@pytest.mark.parametrize("settling", [0, 1, 20])
def test_the_window_starts_after_settling(settling):
    start = settling * RTT_PS
    # Before it has settled the rate is twice as high; one such interval in the window would show.
    run = feed(info(settling_ps=start), lambda i, k: PER_RTT // (2 if k < settling else 4))
    plan = run.until_plan()
    assert run.now_ps == start + 56 * RTT_PS + (0 if settling else RTT_PS)
    assert plan.bytes_per_ps[0] == PER_RTT // 4 / RTT_PS


def test_equal_flows_stay_equal_to_the_last_bit_and_near_ones_share():
    run = feed(info(flows=7), even(7))
    assert len(set(run.until_plan().bytes_per_ps)) == 1
    # Under 1 % apart, one class, one bottleneck: the mean. Another class: its own.
    gains = (4_060, 4_080, 4_100)
    run = feed(info(flows=3), lambda i, k: gains[i] * 11)
    assert set(run.until_plan().bytes_per_ps) == {4_080 * 11 / RTT_PS}
    run = feed(info(flows=3, exchangeable=(0, 0, 1)), lambda i, k: gains[i] * 11)
    first, second, third = run.until_plan().bytes_per_ps
    assert first == second == pytest.approx(4_070 * 11 / RTT_PS) and third == 4_100 * 11 / RTT_PS


def test_flows_of_two_bottlenecks_do_not_share():
    partition = info(flows=2, flow_ports=((1,), (2,)))
    gains = (47_000, 48_000)
    run = feed(partition, lambda i, k: gains[i])
    policy_sample = run.state

    def busy(rates=(), disturbed=False):
        lived = int(0.98 * run.lived_ps)
        return attrs.evolve(policy_sample(rates, disturbed), busy_ps=(lived,) * 3)

    run.state = busy
    assert run.until_plan().bytes_per_ps == (47_000 / RTT_PS, 48_000 / RTT_PS)


@pytest.mark.parametrize(("slower", "shares"), [(20_200, True), (20_150, False)])
def test_two_flows_within_a_tenth_share(slower, shares):
    first, second = feed(gain=lambda i, k: (22_200, slower)[i]).until_plan().bytes_per_ps
    assert (first == second) is shares


def test_two_flows_far_apart_keep_their_rates_and_growth_stops():
    gains = (30_000, 17_000)
    run = feed(gain=lambda i, k: gains[i])
    lengths = []
    for _ in range(3):
        plan = run.until_plan()
        assert plan.bytes_per_ps == (30_000 / RTT_PS, 17_000 / RTT_PS)
        lengths.append(run.skip(plan))
    assert lengths == [7 * 56 * RTT_PS] * 3


def test_a_cycle_that_does_not_fit_the_window_hardly_moves_the_rate():
    # Amplitude 3 %, period 16 RTTs, as HPCC on a ring: a plain mean over 56 is up to 0.5 % off.
    worst = 0.0
    for phase in range(16):

        def gain(i, k, phase=phase):
            return 23_000 + round(690 * math.cos(2 * math.pi * (k + phase) / 16))

        plan = feed(gain=gain, options={"total_tolerance": 0.02}).until_plan()
        worst = max(worst, abs(plan.bytes_per_ps[0] * RTT_PS / 23_000 - 1))
    assert worst < 0.001


# --- how far ---


def test_skips_double_at_most_with_a_live_window_between():
    run = feed()
    lengths, lived = [], []
    for _ in range(4):
        before = run.lived_ps
        plan = run.until_plan()
        lived.append((run.lived_ps - before) // RTT_PS)
        lengths.append(run.skip(plan) // RTT_PS)
    assert lengths == [448, 896, 1792, 3584] and lived == [61, 56, 56, 56]


def test_a_plan_that_was_not_carried_out_does_not_grow_the_next():
    run = feed()
    first, second = run.until_plan(), run.until_plan()
    assert run.now_ps == (61 + 14) * RTT_PS and second.until_ps - run.now_ps == 448 * RTT_PS
    assert first.until_ps < second.until_ps


def test_skips_reach_no_further_than_so_many_times_the_time_lived():
    run = feed(options={"reach": 10.0})
    skipped = 0
    for _ in range(8):
        skipped += run.skip(run.until_plan())
        assert skipped <= 10 * run.lived_ps
    assert skipped > 9 * run.lived_ps


def test_never_beyond_the_horizon_nor_for_too_little():
    run = feed(horizon_ps=100 * RTT_PS)
    assert run.until_plan().until_ps == 100 * RTT_PS
    assert feed(horizon_ps=64 * RTT_PS).until_plan(61) is None
    late = feed(horizon_ps=RTT_PS)
    assert late.until_plan() is None and late.policy.reason == "a skip would be too short"


def test_a_slow_ramp_caps_the_skip():
    # 0.1 % per 56 RTTs, seen without noise: 0.25 % come together within 140 RTTs.
    run = feed(gain=lambda i, k: round(23_000_000 * (1 + 0.001 * k / 56)), options={"total_tolerance": 0.01})
    plan = run.until_plan()
    assert (plan.until_ps - run.now_ps) / RTT_PS == pytest.approx(140, rel=0.03)
    assert plan.error_bound == pytest.approx(0.00125, rel=0.05)
    assert run.skip(plan) <= 145 * RTT_PS
    before = run.lived_ps
    assert run.until_plan() is not None and run.lived_ps - before == 56 * RTT_PS


def test_a_ramp_that_matters_within_half_a_window_is_refused():
    run = feed(gain=lambda i, k: round(23_000_000 * (1 + 0.006 * k / 56)))
    assert run.until_plan(120) is None and run.policy.reason == "a rate still drifts"


def test_a_steady_total_does_not_hide_a_drift_between_classes():
    def gain(i, k):
        return round(23_000_000 * (1 + (0.001 if i else -0.001) * k / 56))

    partition = info(exchangeable=(0, 1))
    plan = feed(partition, gain).until_plan()
    assert (plan.until_ps - 61 * RTT_PS) / RTT_PS == pytest.approx(140, rel=0.03)


def test_noise_is_no_slope():
    found = 0
    for seed in range(20):
        run = feed(gain=lambda i, k, s=seed: 23_000 + round(300 * noise(s, 2 * k + i)))
        plan = run.until_plan(61)
        found += plan is not None and plan.until_ps - run.now_ps == 448 * RTT_PS
    assert found >= 15


def test_many_groups_do_not_stop_each_other_by_chance():
    # 16 pairs, each alone on its port: that one of them seems to slope is likely.
    partition = info(flows=16, flow_ports=tuple((i + 1,) for i in range(16)))
    found = 0
    for seed in range(10):
        run = feed(partition, lambda i, k, s=seed: 40_000 + round(300 * noise(s * 1000 + k, i)))
        sample = run.state

        def full(rates=(), disturbed=False, run=run, sample=sample):
            return attrs.evolve(sample(rates, disturbed), busy_ps=(int(0.98 * run.lived_ps),) * 17)

        run.state = full
        plan = run.until_plan(61)
        found += plan is not None and plan.until_ps - run.now_ps == 448 * RTT_PS
    assert found >= 8


@pytest.mark.parametrize(("swing", "skipped"), [(0.007, True), (0.012, False)])
def test_a_total_that_scatters_without_slope_may_range_twice_as_far(swing, skipped):
    # Quarters of the long window, 26 RTTs, lie 2 x swing apart, up and down.
    run = feed(gain=lambda i, k: round(23_000 * (1 + (swing if (k - 5) // 26 % 2 else -swing))))
    plan = run.until_plan(109)
    assert (plan is not None) is skipped
    if skipped:
        assert run.now_ps == 109 * RTT_PS
    # As far, but on a slope.
    slope = feed(gain=lambda i, k: round(23_000 * (1 + 2 * swing * (k - 5) / 78)))
    assert slope.until_plan(109) is None and slope.policy.reason == "the total of its flows still changes"


# --- what it refuses ---


def test_undeclared_congestion_control_is_not_even_sampled():
    partition = info(settling_ps=None, declared=False)
    run = feed(partition)
    assert run.policy.interval_ps() == NEVER_PS and run.policy.observe(run.state()) is None
    assert feed(partition, options={"force": True}).until_plan() is not None


def test_rising_load_is_refused():
    run = feed(gain=lambda i, k: 20_000 + 15 * k)
    assert run.until_plan(120) is None and run.policy.reason == "the total of its flows still changes"


def test_shares_that_move_under_a_constant_total_are_refused():
    run = feed(gain=lambda i, k: 23_000 + (30 * k if i else -30 * k))
    assert run.until_plan(120) is None and run.policy.reason == "the share of a flow still changes"


def test_a_queue_that_grows_or_drains_is_refused():
    # 1 % of what the port carries goes into the queue.
    for sign in (1, -1):
        run = feed(queue=lambda k, s=sign: 500_000 + s * PER_RTT // 100 * k)
        assert run.until_plan(120) is None and run.policy.reason == "a queue still changes"
    assert feed(queue=lambda k: 500_000 + 1000 * (k % 3)).until_plan(70) is not None


def test_a_port_that_is_not_full_holds_no_rate():
    run = feed(busy=0.89)
    assert run.until_plan(120) is None and "busy enough" in run.policy.reason
    assert feed(busy=0.91).until_plan(61) is not None


def test_a_flow_that_stands_still_is_refused():
    # Both halves are equal: zero. A long wait for a retransmission timer looks like this.
    run = feed(info(flows=3), lambda i, k: 0 if i == 2 else 23_000)
    assert run.until_plan(250) is None and run.policy.reason == "a flow had no bytes acknowledged"


def test_a_disturbance_starts_it_all_again():
    run = feed(disturbed=lambda k: k == 40)
    assert run.until_plan() is not None
    # The disturbed sample is the 41st; settling counts from there.
    assert run.now_ps == (41 + 61) * RTT_PS
    assert feed(disturbed=lambda k: k % 50 == 49).until_plan(400) is None
    again = feed(disturbed=lambda k: k == 61 + 56 + 10)
    again.skip(again.until_plan())
    again.skip(again.until_plan())
    plan = again.until_plan()
    assert plan.until_ps - again.now_ps == 448 * RTT_PS


def test_samples_that_come_unevenly_start_a_new_window():
    run = feed()
    for _ in range(30):
        run.policy.observe(run.sample())
    run.now_ps += RTT_PS // 2
    assert run.until_plan(50) is None and run.until_plan(7) is not None


# --- periods ---


def test_blocks_hold_whole_periods():
    period = 40 * RTT_PS
    partition = info(settling_ps=None, period_ps=period)
    run = feed(partition)
    window_ps = 64 * run.policy.interval_ps()
    assert window_ps == 4 * period
    # A saw tooth of 30 %: over whole periods it is constant.
    run.gain = lambda i, k: 16_000 + 1_000 * (k % 16)
    plan = run.until_plan()
    assert plan.bytes_per_ps[0] == pytest.approx(23_500 * 64 / window_ps)
    # Periods shorter than a quarter of the window: as few whole ones as fill it.
    short = feed(info(settling_ps=None, period_ps=7 * RTT_PS)).policy
    assert 64 * short.interval_ps() == 4 * 28 * RTT_PS


def test_many_flows_are_sampled_less_often():
    # 50 packets fit through the port per RTT: 1000 flows have two each in 40 RTTs.
    crowd = feed(info(flows=1000), even(1000))
    assert crowd.policy.interval_ps() == 40 * RTT_PS
    plan = crowd.until_plan(60)
    assert crowd.now_ps == (40 + 16 * 40) * RTT_PS and len(set(plan.bytes_per_ps)) == 1
    # As many flows over as many ports: every RTT.
    partition = info(flows=1000, flow_ports=tuple((i + 1,) for i in range(1000)))
    assert feed(partition).policy.interval_ps() == RTT_PS
    slow = feed(info(flows=1000, settling_ps=None, period_ps=7 * RTT_PS)).policy
    quarter = 16 * slow.interval_ps()
    assert quarter >= 16 * 40 * RTT_PS and quarter % (7 * RTT_PS) == 0


def test_a_saw_tooth_in_a_window_of_other_length_is_refused():
    run = feed(gain=lambda i, k: 16_000 + 1_000 * (k % 40 // 2.5) // 1)
    assert run.until_plan(200) is None


# --- families ---


def family(walk, flows=8, size=10**9):
    """Shares of the port that follow walk(flow, k), total constant."""

    def gain(i, k):
        steps = [walk(j, k) for j in range(flows)]
        mean = sum(steps) / flows
        return round(47_500 / flows * 100 * (1 + steps[i] - mean))

    return feed(info(flows=flows, payload_bytes=PAYLOAD), gain, size=size)


def test_shares_that_mix_fast_become_their_mean():
    # New deviations of up to 8 % every 13 RTTs: halves differ by more than 1 %, but nothing lasts.
    run = family(lambda i, k: 0.08 * noise(i, k // 13))
    plan = run.until_plan()
    assert run.now_ps > 61 * RTT_PS and len(set(plan.bytes_per_ps)) == 1
    assert plan.until_ps - run.now_ps == 8 * 104 * RTT_PS and plan.spread > 0


@pytest.mark.parametrize(("size", "part"), [(10**9, 1.0), (10**13, (math.sqrt(8) - 1) / 7)])
def test_shares_that_wander_keep_part_of_their_deviation(size, part):
    # With little left to send nothing relaxes; with much of it deviations average out.
    deviation = [0.15 * noise(i, 1) for i in range(8)]
    mean = sum(deviation) / 8
    run = family(lambda i, k: deviation[i], size=size)
    plan = run.until_plan()
    rates = [r * RTT_PS / 100 * 8 / 47_500 - 1 for r in plan.bytes_per_ps]
    kept = [r / (d - mean) for r, d in zip(rates, deviation, strict=True)]
    assert max(kept) == pytest.approx(part, rel=0.02) and min(kept) == pytest.approx(part, rel=0.02)
    assert sum(plan.bytes_per_ps) == pytest.approx(47_500 * 100 / RTT_PS)
    assert plan.until_ps - run.now_ps == 7 * 104 * RTT_PS
    before = run.skip(plan)
    assert run.skip(run.until_plan()) == before


def test_shares_that_converge_are_left_alone():
    start = [0.2 * noise(i, 1) for i in range(8)]
    run = family(lambda i, k: start[i] * math.exp(-k / 400))
    # At 109 RTTs the long window is full for the first time.
    assert run.until_plan(109) is None and run.policy.reason == "shares are still converging"
    assert run.until_plan(150) is None
    large = family(lambda i, k: 0.9 if i == 0 else 0.0)
    assert large.until_plan(109) is None and large.policy.reason == "shares are still converging"


# --- state ---


def test_state_goes_on_at_another_time():
    def gain(i, k):
        return 23_000 + round(100 * noise(i, k))

    one, other = feed(gain=gain), feed(gain=gain)
    one.skip(one.until_plan())
    for _ in range(20):
        one.policy.observe(one.sample())
    state = one.policy.snapshot()
    shift = 123_456_789
    other.policy.restore(state, one.now_ps + shift)
    assert other.policy.snapshot() == state
    other.now_ps, other.k, other.lived_ps, other.acked = one.now_ps + shift, one.k, one.lived_ps, list(one.acked)
    for _ in range(3):
        first, second = one.until_plan(), other.until_plan()
        assert second.bytes_per_ps == first.bytes_per_ps and second.until_ps == first.until_ps + shift
        assert (second.error_bound, second.spread) == (first.error_bound, first.spread)
        one.skip(first)
        other.skip(second)


def test_state_is_plain_and_of_one_version():
    run = feed()
    fresh = run.policy.snapshot()
    run.until_plan()

    def plain(value):
        if isinstance(value, tuple):
            return all(map(plain, value))
        return value is None or type(value) in (int, float, str, bool)

    assert plain(run.policy.snapshot())
    run.policy.restore(fresh, 77)
    assert run.policy.snapshot() == fresh
    with pytest.raises(ValueError, match="version"):
        run.policy.restore((99,), 0)


def test_a_skip_cut_short_needs_a_whole_new_window():
    run = feed()
    plan = run.until_plan()
    run.skip(plan, until_ps=run.now_ps + 3 * RTT_PS // 2)
    before = run.lived_ps
    assert run.until_plan() is not None and run.lived_ps - before == 56 * RTT_PS


def test_plans_lie_ahead_and_carry_no_more_than_the_line():
    run = feed(info(flows=5), even(5))
    for _ in range(6):
        plan = run.until_plan()
        assert plan.until_ps > run.now_ps and sum(plan.bytes_per_ps) <= LINE_BYTES_PER_PS
        run.skip(plan)


def test_bad_options_are_named():
    for option, value in (("window_rtts", 8), ("reach", 0), ("flow_tolerance", 2.0), ("first_skip_windows", 0)):
        with pytest.raises(ConfigError, match=option):
            make_config("fast-forward 'settled'", SETTLED.config, {option: value})
