"""The kit itself: contract classes under pytest, limits, what is forbidden, equivalence, and its document."""

from __future__ import annotations

import datetime
import inspect
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wormhole_core.testing as kit
from wormhole_core import api
from wormhole_core.errors import ConfigError
from wormhole_core.hooks import KINDS
from wormhole_core.testing.contracts import CONTRACTS
from wormhole_core.testing.doubles import with_doubles
from wormhole_core.testing.forbid import CLOCK, ForbiddenUse
from wormhole_core.testing.runs import compare_modes

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
AUTHOR_TEST = """
from wormhole_core.testing import CcaContract


class TestGood(CcaContract):
    component = "good"
    plugin = PLUGIN
    options = [{}, {"gain": 0.25}]


class TestShift(CcaContract):
    component = "time-shift"
    plugin = PLUGIN


class TestOpenly(CcaContract):
    component = "uses-a-link-alone"
    plugin = PLUGIN
    limits = {"link_use": (0.01, "one packet per round trip is the idea")}
"""


def test_contract_classes_under_pytest(tmp_path):
    plugin = str(HERE / "gallery" / "ccas.py")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["wormhole_core.testing.pytest_plugin"]\n')
    (tmp_path / "test_author.py").write_text(AUTHOR_TEST.replace("PLUGIN", repr(plugin)))
    chosen = "time_shift or uses_a_link or timers or (bounds and gain)"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, "-rA"]
    ran = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    lines = [line for line in ran.stdout.splitlines() if re.match(r"(PASSED|FAILED|ERROR)", line)]
    failed = [line.split(" - ")[0] for line in lines if not line.startswith("PASSED")]
    assert failed == ["FAILED test_author.py::TestShift::test_time_shift[default]"], ran.stdout
    assert "PASSED test_author.py::TestGood::test_bounds[gain=0.25]" in lines
    assert "PASSED test_author.py::TestOpenly::test_uses_a_link_alone[default]" in lines
    assert "expected the same answers to the same events 1 s later; saw" in ran.stdout


def test_every_kind_has_checks_and_a_contract_with_all_of_them():
    assert set(CONTRACTS) == set(KINDS) == set(kit.CHECKS) - {"any"}
    for kind, contract in CONTRACTS.items():
        names = [check.name for check in kit.checks_for(kind)]
        assert len(set(names)) == len(names)
        assert {f"test_{name}" for name in names} == {name for name in vars(contract) if name.startswith("test_")}
        assert not contract.__name__.startswith("Test")
        assert contract.__name__ in kit.__all__


def test_pytest_is_needed_by_two_modules_only():
    code = "import sys, wormhole_core.testing, wormhole_core.cli.check; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0
    with pytest.raises(AttributeError, match="no attribute 'CcaContrakt'"):
        kit.CcaContrakt  # noqa: B018


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"link_us": (0.1, "why")}, "unknown limit 'link_us'; did you mean 'link_use'?"),
        ({"link_use": 0.1}, "limit 'link_use' needs \\(value, reason\\), got 0.1"),
        ({"link_use": (0.1, " ")}, "needs \\(value, reason\\)"),
    ],
)
def test_a_limit_is_overridden_with_a_reason_or_not_at_all(registry, tmp_path, limits, told):
    entry = registry.get("routing", "ecmp")
    with pytest.raises(ConfigError, match=told):
        kit.Subject(entry=entry, plugins=None, folder=tmp_path, limits=limits)


def test_forbidden_things_raise_and_come_back():
    with pytest.raises(ForbiddenUse, match=r"expected only simulated time.*saw time.monotonic used at .*test_kit.py"):
        with kit.forbidden():
            time.monotonic()
    for use in (
        lambda: random.choice([1]), lambda: os.environ["PATH"], lambda: os.getenv("PATH"), lambda: "PATH" in os.environ,
        lambda: datetime.datetime.now(), lambda: os.urandom(1),
    ):  # fmt: skip
        with pytest.raises(ForbiddenUse), kit.forbidden():
            use()
        use()
    with pytest.raises(ForbiddenUse), kit.forbidden():
        try:
            time.time()
        except AssertionError:
            pass  # swallowed, and told all the same
    with kit.forbidden(roots=["/somewhere/else"]):
        time.time()
    with kit.forbidden([CLOCK]):
        random.random()
        assert random.Random(1).random() < 1


def test_the_fixtures(rng, make_cca, two_hosts, incast, run_experiment, forbid_global_random):
    assert rng.bits() == kit_stream().bits()
    assert make_cca("dctcp", kit.FAST_LINK, gain=0.5).rate_bps == kit.FAST_LINK.line_rate_bps
    assert two_hosts.graph["hosts"] == (0, 1)
    assert len(run_experiment(incast(senders=2, size_bytes=5000), mode="packet").flows) == 2
    with pytest.raises(ForbiddenUse):
        random.random()
    forbid_global_random.clear()


def kit_stream():
    from wormhole_core import stream

    return stream(1, "kit")


def test_fixtures_that_forbid(forbid_wall_clock, forbid_environment, incast, run_experiment):
    assert run_experiment(incast(senders=2, size_bytes=5000), mode="packet").summary["status"] == "complete"
    with pytest.raises(ForbiddenUse):
        time.time()
    with pytest.raises(ForbiddenUse):
        os.environ.get("PATH")
    assert [len(uses) for uses in (forbid_wall_clock, forbid_environment)] == [1, 1]
    forbid_wall_clock.clear()
    forbid_environment.clear()


SMALL = {"topology": {"plugin": "kit-bundle"}, "workload": {"plugin": "kit-shift"}, "cca": {"plugin": "kit-window"}}


class TestEquivalenceOfAModeWithItself(kit.EquivalenceContract):
    experiment = SMALL
    accelerated = {"run.mode": "packet", "network.pfc": False}  # noqa: RUF012
    tolerance = 0.0


def test_a_difference_beyond_the_tolerance_is_told():
    plugins = with_doubles(api.load())
    longer = {"run.mode": "packet", "network.header_bytes": 200}
    assert "largest difference" in compare_modes(SMALL, longer, 0.5, plugins, "x")
    with pytest.raises(AssertionError, match=r"x: expected completion times within 1.00% of packet mode; saw 1.*flow"):
        compare_modes(SMALL, longer, 0.01, plugins, "x")
    with pytest.raises(kit.Skip, match="no mode 'warp'"):
        compare_modes(SMALL, {"run.mode": "warp"}, 0.01, plugins, "x")


def test_doubles_leave_what_was_loaded_alone():
    plugins = api.load()
    before = plugins.registry.entries()
    assert "kit-shift" in with_doubles(plugins).registry.names("workload")
    assert plugins.registry.entries() == before


def test_presets_of_links_are_what_the_packet_model_says():
    from wormhole_core.testing.doubles import build_star
    from wormhole_core.testing.runs import simulation

    seen = []
    subject = kit.Subject(entry=api.load().registry.get("cca", "none"), plugins=api.load(), folder=Path())
    original = subject.entry.component.build
    entry = type("E", (), {"build": lambda self, config, flow, rng: seen.append(flow) or original(config, flow, rng)})()
    fake = type("S", (), {"entry": entry, "config": subject.config})()
    from wormhole_core import Transfer

    engine = simulation(fake, build_star(2), [Transfer(id=0, src=0, dst=1, size_bytes=1000)])
    while not engine.advance():
        pass
    flow = seen[-1]
    assert (flow.line_rate_bps, flow.hops) == (kit.SLOW_LINK.line_rate_bps, kit.SLOW_LINK.hops)
    assert flow.base_rtt_ps == pytest.approx(kit.SLOW_LINK.base_rtt_ps, rel=0.02)


def test_the_document_names_every_check_limit_and_fixture():
    text = (ROOT / "docs" / "conformance.md").read_text()
    for checks in kit.CHECKS.values():
        for check in checks:
            assert f"`{check.name}`" in text, f"docs/conformance.md says nothing of {check.name}"
            assert check.summary in text, f"docs/conformance.md: {check.name}: {check.summary}"
    from wormhole_core.testing import pytest_plugin

    fixtures = re.findall(r"@pytest.fixture\ndef (\w+)", inspect.getsource(pytest_plugin))
    for name in (*kit.LIMITS, *fixtures, *kit.CONTRACTS):
        assert f"`{name}`" in text, f"docs/conformance.md says nothing of {name}"
