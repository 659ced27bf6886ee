"""`rate-window`: the window of l rates, theta, its bounds, and what it must not skip."""

from __future__ import annotations

import pytest

from wormhole_core import stream
from wormhole_core.builtin.forward_off import NEVER_PS
from wormhole_core.builtin.forward_rate_window import RATE_WINDOW
from wormhole_core.component import make_config
from wormhole_core.errors import ConfigError

from .forward_samples import LINE_BPS, Feed, even, info

US = 1_000_000


def feed(partition=None, rate=None, *, samples=20, **more):
    partition = partition or info(settling_ps=0)
    options = more.pop("options", {})
    policy = RATE_WINDOW.build(RATE_WINDOW.config(samples=samples, **options), partition, stream(1, "forward"))
    return Feed(policy, partition, even(partition.flows), rate=rate, **more)


def test_defaults_are_those_of_the_paper():
    config = RATE_WINDOW.config()
    assert (config.theta, config.samples, config.sample_interval_ps) == (0.05, 2000, US)
    assert feed(samples=2000).policy.interval_ps() == US


def test_l_samples_span_one_interval_less():
    run = feed()
    plan = run.until_plan()
    assert run.k == 20 and run.now_ps - 19 * US == US
    assert plan.bytes_per_ps == (LINE_BPS / 2 / 8e12,) * 2
    run.skip(plan, until_ps=run.now_ps + 100 * US)
    assert run.until_plan() is not None and run.k == 40


@pytest.mark.parametrize(("swing", "steady"), [(0.049, True), (0.0501, False)])
def test_theta_is_the_range_over_the_mean(swing, steady):
    # Rates alternate between 1 - swing / 2 and 1 + swing / 2: mean 1.
    run = feed(rate=lambda i, k: int(4e10 * (1 + (swing if k % 2 else -swing) / 2)))
    plan = run.until_plan(100)
    assert (plan is not None) is steady
    if plan is not None:
        assert plan.bytes_per_ps[0] == pytest.approx(4e10 / 8e12, rel=1e-9)


def test_every_flow_must_be_steady():
    run = feed(rate=lambda i, k: 4 * 10**10 + (k % 2) * i * 3 * 10**9)
    assert run.until_plan(100) is None


def test_a_rate_that_left_the_window_is_forgotten():
    run = feed(rate=lambda i, k: 10**10 if k == 5 else 4 * 10**10)
    assert run.until_plan(100) is not None and run.k == 26


def test_bounds():
    policy = feed(options={"theta": 0.2}).policy
    assert policy.bounds() == (pytest.approx(0.25), 0.2)
    # Any rate in the range keeps within the bound of the mean.
    rates = [0.91 + 0.002 * k for k in range(90)]
    mean = sum(rates) / len(rates)
    assert (max(rates) - min(rates)) / mean < 0.2
    assert max(abs(r - mean) / r for r in rates) <= 0.25
    assert feed(options={"theta": 0.2}).until_plan().error_bound == pytest.approx(0.25)


def test_undeclared_disturbed_and_still_flows_are_not_skipped():
    partition = info(settling_ps=None, declared=False)
    assert feed(partition).policy.interval_ps() == NEVER_PS and feed(partition).policy.observe(feed().state()) is None
    assert feed(partition, options={"force": True}).until_plan() is not None
    assert feed(disturbed=lambda k: k % 15 == 14).until_plan(100) is None
    assert feed(rate=lambda i, k: 0).until_plan(100) is None


def test_the_window_starts_after_settling():
    run = feed(info(settling_ps=10 * US))
    assert run.until_plan() is not None and run.k == 29
    run = feed(info(settling_ps=10 * US), disturbed=lambda k: k == 15)
    assert run.until_plan() is not None and run.k == 16 + 29


def test_never_beyond_the_horizon_nor_before_now():
    assert feed(horizon_ps=50 * US).until_plan().until_ps == 50 * US
    assert feed(horizon_ps=20 * US).until_plan(100) is None
    run = feed()
    assert run.until_plan().until_ps > run.now_ps


def test_state_goes_on_at_another_time():
    one, other = feed(), feed()
    for _ in range(12):
        one.policy.observe(one.sample())
    state = one.policy.snapshot()
    other.now_ps, other.k, other.lived_ps = one.now_ps + 999, one.k, one.lived_ps
    other.policy.restore(state, other.now_ps)
    assert other.policy.snapshot() == state
    assert one.until_plan(8).bytes_per_ps == other.until_plan(8).bytes_per_ps
    with pytest.raises(ValueError, match="version"):
        one.policy.restore((), 0)


def test_bad_options_are_named():
    for option, value in (("theta", 1.0), ("theta", 0), ("samples", 1), ("sample_interval_ps", 0)):
        with pytest.raises(ConfigError, match=option):
            make_config("fast-forward 'rate-window'", RATE_WINDOW.config, {option: value})
