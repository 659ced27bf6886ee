"""Quantities: what is written, what is read, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wormhole_core import units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12us", 12_000_000),
        ("1.5 us", 1_500_000),
        ("1µs", 10**6),
        ("3ns", 3000),
        ("7", 7),
        (7, 7),
        ("1e3ps", 1000),
        ("2ms", 2 * 10**9),
        ("0.1s", 10**11),
        (".5ns", 500),
        ("1_000ns", 10**6),
        (2.0, 2),
        ("-1ns", -1000),
        ("0.1ns", 100),
    ],
)
def test_times(text, expected):
    assert units.parse_time_ps(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("400Gbps", 4 * 10**11), ("25 Gbit/s", 25 * 10**9), ("1Tb/s", 10**12), ("9600bps", 9600), ("56kbps", 56_000)],
)
def test_rates(text, expected):
    assert units.parse_rate_bps(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1KiB", 1024), ("1kB", 1000), ("1KB", 1000), ("32MiB", 32 * 2**20), ("1.5GB", 1_500_000_000), ("64B", 64)],
)
def test_sizes(text, expected):
    assert units.parse_size_bytes(text) == expected


@pytest.mark.parametrize(
    "value",
    ["", "us", "12 parsec", "1.2.3us", "12us us", "--1us", None, True, [], float("nan"), float("inf"), "nan", "12US"],
)
def test_what_is_no_time_is_told_with_an_example(value):
    with pytest.raises(ValueError, match=r"write e\.g\. 12us"):
        units.parse_time_ps(value)


def test_a_wrong_unit_lists_the_right_ones():
    with pytest.raises(ValueError, match=r"units: ps, ns, us, ms, s\)"):
        units.parse_time_ps("1 hour")


@given(st.integers(1, 10**9), st.sampled_from([10**9, 25 * 10**9, 10**11, 4 * 10**11, 2_400 * 10**9, 7]))
def test_serialisation_is_the_nearest_picosecond(size_bytes, rate_bps):
    took = units.serialisation_ps(size_bytes, rate_bps)
    exact = size_bytes * 8 * units.PS_PER_S
    assert abs(2 * (took * rate_bps - exact)) <= rate_bps


def test_serialisation_with_a_coarse_clock():
    # 1048 B at 100 Gbps take 83.84 ns, 1056 B 84.48 ns; a clock of 1 ns makes both 84 ns.
    assert units.serialisation_ps(1048, 10**11) == 83_840
    assert units.serialisation_ps(1048, 10**11, 1000) == units.serialisation_ps(1056, 10**11, 1000) == 84_000


@given(st.integers(0, 10**18))
def test_printed_times_are_read_back_within_their_digits(time_ps):
    again = units.parse_time_ps(units.format_time(time_ps))
    assert abs(again - time_ps) <= 5e-4 * time_ps + 1


def test_formats():
    assert units.format_time(1_500_000) == "1.5 us"
    assert units.format_time(0) == "0 ps"
    assert units.format_rate(4e11) == "400 Gbps"
    assert units.format_size(1_048_576) == "1.049 MB"


@pytest.mark.parametrize("text", ["1e9999999", "1e-9999999ps", "9" * 1000, "0." + "1" * 1000 + "us"])
def test_absurdly_long_numbers_are_refused_at_once(text):
    with pytest.raises(ValueError, match="too long for a time"):
        units.parse_time_ps(text)
