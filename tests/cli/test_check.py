"""`wormhole-sim check`: the table, the exit code, limits in the open, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[1] / "testing" / "gallery"


@pytest.fixture
def ccas(monkeypatch) -> str:
    monkeypatch.chdir(GALLERY)
    monkeypatch.setenv("COLUMNS", "200")
    return "ccas.py"


def test_a_good_component_passes(cli, ccas):
    answer = cli("check", "good", "--plugin", ccas, "--only", "time_shift", "--only", "bounds")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.count("PASS") == 2 and "2 passed, 0 failed, 0 skipped" in answer.out


def test_a_broken_one_fails_with_its_message(cli, ccas):
    answer = cli("check", "bounds", "--plugin", ccas, "--only", "bounds", "--only", "hook_results")
    assert answer.code == 1
    assert (
        "cca 'bounds' (ccas.py): expected window_bytes to be None or a whole number above 0; saw 58384.5" in answer.out
    )
    assert "1 passed, 1 failed, 0 skipped" in answer.out


def test_limits_are_shown_with_their_reason(cli, ccas):
    answer = cli("check", "uses-a-link-alone-openly", "--plugin", ccas, "--only", "uses_a_link_alone")
    assert answer.code == 0
    assert "limit link_use = 0.05, set by the plugin: one packet per RTT" in answer.out


def test_as_json(cli, ccas):
    answer = cli("check", "plain", "--plugin", ccas, "--only", "hook_results", "--json")
    told = json.loads(answer.out)
    assert (told["kind"], told["name"], told["distribution"]) == ("cca", "plain", "ccas.py")
    (check,) = told["checks"]
    assert (check["name"], check["status"]) == ("hook_results", "PASS") and check["elapsed_s"] >= 0


def test_options_are_checked_first(cli, ccas):
    answer = cli("check", "good", "--plugin", ccas, "--set", "gian=0.2")
    assert answer.code == 2 and "has no option 'gian'; did you mean 'gain'?" in answer.line
    assert cli("check", "good", "--plugin", ccas, "--set", "gain=0.2", "--only", "time_shift").code == 0
    answer = cli("check", "flows")
    assert answer.code == 2 and "option 'path' is required" in answer.line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("god", "--plugin", "ccas.py"), "no component is called 'god'; did you mean 'good'?"),
        (("good", "--plugin", "small.py"), "'good' is a routing and a partitioner and a observer; add --kind routing"),
        (("none", "--only", "bound"), "--only bound: no such check; did you mean 'bounds'?"),
    ],
)
def test_refusals(cli, ccas, arguments, told):
    answer = cli("check", *arguments)
    assert answer.code == 2 and told in answer.line


def test_the_kind_decides(cli, ccas):
    answer = cli("check", "good", "--kind", "partitioner", "--plugin", "small.py", "--only", "only_coarsens")
    assert answer.code == 0 and "partitioner 'good'" in answer.out


RAISES = """
from wormhole_core import Cca, Component, hookimpl

class Raises(Cca):
    __slots__ = ()

    def __init__(self, config, flow, rng):
        self.window_bytes, self.rate_bps = 30_000, None

    def on_ack(self, fb):
        raise RuntimeError(f"no answer to {fb.rtt_ps}")

    def snapshot(self, now_ps, snd_una):
        return ()

    def restore(self, state, now_ps, snd_una):
        pass

@hookimpl
def wormhole_ccas():
    return [Component(name="raises", build=Raises, summary="no answer")]
"""


def test_one_exception_is_told_once_however_many_checks_meet_it(cli, tmp_path):
    (tmp_path / "raises.py").write_text(RAISES)
    only = [part for name in ("bounds", "repeats_itself", "time_shift", "cost_of_on_ack") for part in ("--only", name)]
    answer = cli("check", "raises", "--plugin", tmp_path / "raises.py", *only)
    assert answer.code == 1 and answer.out.count("saw RuntimeError: no answer to ") == 1
    assert "  also in: bounds, time_shift\n" in answer.out
    assert "0 passed, 3 failed, 1 skipped" in answer.out


def test_congestion_control_that_is_never_skipped_gets_a_hint(cli, ccas):
    answer = cli("check", "good", "--plugin", ccas, "--only", "hook_results")
    assert answer.code == 0 and "hint: it declares neither settling_ps nor period_ps" in answer.out
    assert "hint" not in cli("check", "hpcc", "--only", "hook_results").out
    assert cli("check", "hpcc", "--only", "hook_results", "--json").result["hints"] == []
