"""Components and options: what users write becomes a configuration, or one line that says why not."""

from __future__ import annotations

import re

import attrs
import pytest

from wormhole_core import Component, NoConfig, between, non_negative, one_of, optional, positive
from wormhole_core.component import make_config, near_match
from wormhole_core.errors import ConfigError

OWNER = "cca 'dctcp'"


@attrs.frozen(kw_only=True)
class Dctcp:
    initial_window_bytes: int = positive(default=15_000)
    gain: float = between(0.0, 1.0, default=1 / 16)


@attrs.frozen(kw_only=True)
class Everything:
    delay_ps: int = non_negative()
    rate_bps: int | None = optional()
    order: str = one_of("first", "last", default="first")
    fast: bool = False
    hops: int = 3
    label: str = "none given"
    sizes: tuple[int, ...] = ()


def told(config: type, values: dict, origin: str = "") -> str:
    with pytest.raises(ConfigError) as caught:
        make_config(OWNER, config, values, origin)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_unknown_options():
    assert told(Dctcp, {"gian": 1}, "wormhole-cca 0.1.0") == (
        "cca 'dctcp' has no option 'gian'; did you mean 'gain'? Options: gain, initial_window_bytes"
    )
    assert told(Dctcp, {"x": 1}) == "cca 'dctcp' has no option 'x'. Options: gain, initial_window_bytes"
    assert told(NoConfig, {"x": 1}) == "cca 'dctcp' has no option 'x'. Options: none"


def test_refused_values_name_the_distribution():
    told_value = told(Dctcp, {"gain": 3.0}, "wormhole-cca 0.1.0")
    assert told_value == "cca 'dctcp' (wormhole-cca 0.1.0): gain must be between 0 and 1, got 3.0"
    assert told(Dctcp, {"initial_window_bytes": 0}) == "cca 'dctcp': initial_window_bytes must be greater than 0, got 0"


def test_units_follow_the_suffix():
    config = make_config(OWNER, Everything, {"delay_ps": "1.5us", "rate_bps": "400Gbps", "fast": "on", "hops": "4"})
    assert (config.delay_ps, config.rate_bps, config.fast, config.hops) == (1_500_000, 400 * 10**9, True, 4)
    assert make_config(OWNER, Dctcp, {"initial_window_bytes": "1KiB", "gain": "1/16"}) == Dctcp(
        initial_window_bytes=1024, gain=0.0625
    )


def test_required_and_derived():
    assert told(Everything, {}) == "cca 'dctcp': option 'delay_ps' is required; give it a value"
    for text in (None, "none", "auto"):
        assert make_config(OWNER, Everything, {"delay_ps": 0, "rate_bps": text}).rate_bps is None
    assert "needs a value" in told(Everything, {"delay_ps": None})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"delay_ps": "5 lightyears"}, "delay_ps: '5 lightyears' is not a time; write e.g. 12us"),
        ({"delay_ps": -1}, "delay_ps must be at least 0, got -1"),
        ({"delay_ps": [1]}, "delay_ps: [1] is not a single value"),
        ({"delay_ps": True}, "delay_ps: True is not a time"),
        ({"rate_bps": "fast"}, "rate_bps: 'fast' is not a rate"),
        ({"rate_bps": [1]}, "rate_bps: [1] is not a single value"),
        ({"order": "middle"}, "order must be one of first, last, got 'middle'"),
        ({"fast": "perhaps"}, "fast: 'perhaps' is not a switch; write true or false"),
        ({"hops": 2.5}, "hops: 2.5 is not a whole number"),
        ({"hops": "many"}, "hops: 'many' is not a whole number"),
        ({"hops": True}, "hops: True is not a whole number"),
        ({"hops": float("inf")}, "hops: inf is not a whole number"),
        ({"label": {"a": 1}}, "label: {'a': 1} is not a single value"),
    ],
)
def test_ill_typed_values(values, expected):
    assert f"{OWNER}: {expected}" in told(Everything, {"delay_ps": 0, **values})


@pytest.mark.parametrize("value", ["nan", "inf", float("nan"), "1/0", "x", True, "1/2/3", [0.5]])
def test_numbers_that_are_none(value):
    assert re.search(r"gain: .* is not a (number|single value)", told(Dctcp, {"gain": value}))


def test_whole_numbers_stay_exact():
    assert make_config(OWNER, Everything, {"delay_ps": 0, "hops": "9007199254740993"}).hops == 2**53 + 1
    assert make_config(OWNER, Everything, {"delay_ps": 0, "hops": "1e3"}).hops == 1000


def test_collections_pass_through():
    assert make_config(OWNER, Everything, {"delay_ps": 0, "sizes": (1, 2)}).sizes == (1, 2)


def test_near_match():
    assert near_match("gian", ["gain", "window"]) == "; did you mean 'gain'?"
    assert near_match("zzz", ["gain"]) == ""


@pytest.mark.parametrize("name", ["", "Dctcp", "a_b", "-a", "a--b", "a\n"])
def test_component_names_follow_the_pattern(name):
    with pytest.raises(ValueError, match="name"):
        Component(name=name, build=print, summary="s")
