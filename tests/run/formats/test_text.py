"""Numbers with and without units, exact, and tokens that know their line."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import pytest

from wormhole_core.errors import InputError
from wormhole_core.run.formats.text import Tokens, iter_lines, number, rate_bps, read_text, shown, time_ps, whole


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100Gbps", 10**11), ("50Mb/s", 5 * 10**7), ("25000000000.0", 25 * 10**9), ("1e9", 10**9),
        ("2.5Gb/s", 25 * 10**8),
        ("1GB/s", 8 * 10**9), ("1KiB/s", 8192), ("8kbps", 8000), ("3bps", 3), ("0.6bps", 1),
    ],
)  # fmt: skip
def test_rates(text, value):
    assert rate_bps(text, "rate", "f", 1) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1us", 10**6), ("0.001ms", 10**6), ("1000ns", 10**6), ("2", 2 * 10**12), ("0.000025ms", 25_000),
        ("7ps", 7), ("0", 0),
    ],
)  # fmt: skip
def test_times(text, value):
    assert time_ps(text, "delay", "f", 1) == value


@pytest.mark.parametrize(
    "text", ["", "Gbps", "1 Gbps", "1gbps", "1Gbps2", "0x10", "\u0661Gbps", "1e9999999999Gbps", "-5Gbps"]
)
def test_bad_rates(text):
    with pytest.raises(InputError, match=r"f:7: rate is "):
        rate_bps(text, "rate", "f", 7)


def test_whole_numbers():
    assert [whole(text, "n", "f", 1) for text in ("0", "+5", "4096.0", "1e6", "50331648.0")] == [
        0,
        5,
        4096,
        10**6,
        50331648,
    ]
    for bad in ("1.5", "1_000", "\u0663", "nan", "inf", "1" * 5000, "-1", "1e-3", str(2**63)):
        with pytest.raises(InputError, match="f:1: n is "):
            whole(bad, "n", "f", 1)
    assert number("0.1", "n", "f", 1) == Fraction(1, 10)


def test_tokens_know_their_line():
    tokens = Tokens("f", "a b # c\n\n//x y\n/etc//z 5\n", comments=True)
    assert [(tokens.next("t"), tokens.line) for _ in range(4)] == [("a", 1), ("b", 1), ("/etc//z", 4), ("5", 4)]
    with pytest.raises(InputError, match="f:4: the file ends where a rate was expected"):
        tokens.rate_bps("a rate")


def test_long_values_are_cut():
    assert len(shown("x" * 1000)) == 40


def test_lines_and_text(write):
    path = write("f", b"\xef\xbb\xbfa\r\n\r\n b \r\nc")
    assert list(iter_lines(path)) == [(1, "a"), (3, "b"), (4, "c")]
    assert read_text(path) == "a\r\n\r\n b \r\nc"
    with pytest.raises(InputError, match="f:2: binary data"):
        list(iter_lines(write("f", b"a\n\x00\n")))
    with pytest.raises(InputError, match="f:2: not UTF-8"):
        list(iter_lines(write("f", b"a\n\xff\n")))


def test_binary_data_without_end_is_refused():
    if not Path("/dev/zero").exists():
        pytest.skip("the system has no /dev/zero")
    with pytest.raises(InputError, match="binary data"):
        read_text("/dev/zero")
    with pytest.raises(InputError, match="binary data"):
        next(iter_lines("/dev/zero"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("read", [read_text, lambda path: next(iter_lines(path))])
def test_pipes_are_refused(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="this is a pipe"):
        read(tmp_path / "pipe")
