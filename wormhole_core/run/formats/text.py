"""Reading text files that users own: whole or line by line, tokens with line numbers, exact numbers.

Everything a file can do wrong at this level (missing, a folder, empty, binary, not a number, a number
of absurd length) ends as one InputError. Numbers are exact fractions; no float touches a size, a time
or a rate. This module knows no format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from ...errors import InputError
from ...units import PS_PER_MS, PS_PER_NS, PS_PER_S, PS_PER_US

MAX_SIZE_BYTES = 2**63 - 1
"""Largest transfer or message size read from a file; larger is taken for a damaged number."""
MAX_RATE_BPS = 10**15
MAX_DELAY_PS = 3600 * PS_PER_S
"""Longest link delay; a bare number is seconds, so a forgotten unit shows here."""
_MAX_DIGITS = 60
_MAX_EXPONENT = 40
# A binary file is recognised by its first block; control characters other than white space give it away.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_HEAD_BYTES = 65_536
_WHOLE = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,6}))?\Z")
_WITH_UNIT = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)([A-Za-zµ/]*)\Z")

_PREFIX = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_PREFIX |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_BITS = {"bps": 1, "b/s": 1, "bit/s": 1, "Bps": 8, "B/s": 8}
RATE_UNITS = {p + u: f * b for p, f in _PREFIX.items() for u, b in _BITS.items()}
"""ns-3 DataRate suffixes -> bits per second (a capital B is a byte, Ki is 1024)."""
TIME_UNITS = {"s": PS_PER_S, "ms": PS_PER_MS, "us": PS_PER_US, "µs": PS_PER_US, "ns": PS_PER_NS, "ps": 1}
"""ns-3 Time suffixes -> picoseconds."""


def read_bytes(path: object, limit: int | None = None) -> bytes:
    """The first `limit` bytes of a file (all of it if None). Raises InputError if there are none."""
    _refuse_pipe(path)
    try:
        with Path(str(path)).open("rb") as file:
            data = file.read(_HEAD_BYTES if limit is None else limit)
            # Binary data shows in its first block and may have no end (/dev/zero); the reader refuses it.
            if limit is None and not _CONTROL.search(data):
                data += file.read()
    except (OSError, ValueError) as error:
        raise InputError(_cannot_open(error), path) from error
    if not data.strip(b" \t\r\n"):
        raise InputError("the file is empty; expected text, so check that it was written or copied completely", path)
    return data


def _refuse_pipe(path: object) -> None:
    """A file is looked at to see what it is, then read: what comes from a pipe would be gone by then."""
    try:
        pipe = Path(str(path)).is_fifo()
    except (OSError, ValueError):
        return  # opening it says what is wrong
    if pipe:
        raise InputError("this is a pipe, and files are read more than once; write it to a file first", path)


def read_text(path: object) -> str:
    """A whole text file (UTF-8, optional byte-order mark). Raises InputError if it is not text."""
    return decode(read_bytes(path), path)


def decode(data: bytes, path: object) -> str:
    """Bytes of a text file as text; InputError for binary data."""
    bad = _CONTROL.search(data)
    if bad:
        raise InputError(
            f"binary data (byte 0x{data[bad.start()]:02x} at offset {bad.start()}); expected a text file", path
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 text (byte 0x{data[error.start]:02x} at offset {error.start}); expected a text file", path
        ) from error


def iter_lines(path: object) -> Iterator[tuple[int, str]]:
    """(line number, stripped line) of the non-blank lines, one at a time: for files of any length."""
    _refuse_pipe(path)
    try:
        with Path(str(path)).open("rb") as file:
            head = file.peek()
            if b"\n" not in head and _CONTROL.search(head):  # it may have neither lines nor an end
                raise InputError("binary data; expected a text file", path, 1)
            for number, raw in enumerate(file, 1):
                if _CONTROL.search(raw):
                    raise InputError("binary data in this line; expected a text file", path, number)
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                except UnicodeDecodeError as error:
                    raise InputError("not UTF-8 text in this line; expected a text file", path, number) from error
                if line:
                    yield number, line
    except (OSError, ValueError) as error:
        raise InputError(_cannot_open(error), path) from error


def _cannot_open(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file; check the name and the folder the command runs in"
    if isinstance(error, IsADirectoryError):
        return "this is a folder; expected a file"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"cannot read the file ({reason})"


class Tokens:
    """White-space separated tokens of a file, read in order, each with its line number.

    The HPCC family reads its files this way: line breaks mean nothing.
    """

    __slots__ = ("lines", "path", "position", "tokens")

    def __init__(self, path: object, text: str, *, comments: bool = False) -> None:
        self.path = path
        self.position = 0
        self.tokens: list[str] = []
        self.lines: list[int] = []
        for number, line in enumerate(text.split("\n"), 1):
            words = line.split()
            if comments:
                words = _without_comment(words)
            self.tokens += words
            self.lines += [number] * len(words)

    def __len__(self) -> int:
        """Tokens not yet read."""
        return len(self.tokens) - self.position

    @property
    def line(self) -> int:
        """Line of the token read last (of the first one before any was read)."""
        if not self.lines:
            return 1
        return self.lines[min(max(self.position - 1, 0), len(self.lines) - 1)]

    def next(self, what: str) -> str:
        """The next token; `what` says what it should be if the file has ended."""
        if self.position >= len(self.tokens):
            raise InputError(f"the file ends where {what} was expected; is it cut short?", self.path, self.line)
        token = self.tokens[self.position]
        self.position += 1
        return token

    def fail(self, what: str) -> InputError:
        """The error to raise for the token read last."""
        return InputError(what, self.path, self.line)

    def whole(self, what: str, low: int = 0, high: int = MAX_SIZE_BYTES) -> int:
        """The next token as a whole number with low <= value <= high."""
        token = self.next(what)
        return whole(token, what, self.path, self.line, low, high)

    def rate_bps(self, what: str) -> int:
        """The next token as a rate in bits per second."""
        token = self.next(what)
        return rate_bps(token, what, self.path, self.line)

    def delay_ps(self, what: str) -> int:
        """The next token as a time in picoseconds; a bare number is seconds."""
        token = self.next(what)
        return time_ps(token, what, self.path, self.line)

    def probability(self, what: str) -> float:
        """The next token as a probability, 0 <= p < 1."""
        token = self.next(what)
        return probability(token, what, self.path, self.line)


def _without_comment(words: list[str]) -> list[str]:
    # Only a token that begins with the mark starts a comment: "/etc//x.txt" and "a#b" are values.
    for i, word in enumerate(words):
        if word.startswith(("#", "//")):
            return words[:i]
    return words


def shown(value: object) -> str:
    """A user's value for a message: quoted, on one line, never longer than 40 characters."""
    text = repr(value)
    return text if len(text) <= 40 else text[:36] + "...'"


def number(token: str, what: str, path: object, line: int | None) -> Fraction:
    """An exact decimal number. Raises InputError."""
    if len(token) <= _MAX_DIGITS and token.isascii() and token.isdigit():
        return Fraction(int(token))  # for speed: nearly every number of a long flow list
    match = _DECIMAL.match(token)
    if not match:
        raise InputError(f"{what} is {shown(token)}, expected a number", path, line)
    # Fraction("1e999999999") would fill the memory.
    if len(token) > _MAX_DIGITS or abs(int(match[1] or 0)) > _MAX_EXPONENT:
        raise InputError(f"{what} is {shown(token)}, too long or too large to be meant; correct it", path, line)
    return Fraction(token)


def whole(token: str, what: str, path: object, line: int | None, low: int = 0, high: int = MAX_SIZE_BYTES) -> int:
    """A whole number in a range; `1e6` and `4096.0` count as whole. Raises InputError."""
    value = int(token) if _WHOLE.match(token) and len(token) <= _MAX_DIGITS else None
    if value is None:
        exact = number(token, what, path, line)
        if exact.denominator != 1:
            raise InputError(f"{what} is {shown(token)}, expected a whole number", path, line)
        value = int(exact)
    if value < low:
        raise InputError(f"{what} is {value}, expected at least {low}", path, line)
    if value > high:
        raise InputError(f"{what} is {shown(token)}, expected at most {high}", path, line)
    return value


def rate_bps(token: str, what: str, path: object, line: int | None) -> int:
    """`100Gbps`, `50Mb/s`, `25000000000.0` (bits per second) -> whole bits per second > 0."""
    value = _with_unit(token, RATE_UNITS, 1, what, "a rate such as 100Gbps, 50Mb/s or bits per second", path, line)
    if value < 1:
        raise InputError(f"{what} is {shown(token)}, expected at least 1 bit per second", path, line)
    if value > MAX_RATE_BPS:
        raise InputError(f"{what} is {shown(token)}, expected at most 1000 Tbps; correct number or unit", path, line)
    return value


def time_ps(token: str, what: str, path: object, line: int | None) -> int:
    """`1us`, `0.001ms`, `2.5` (seconds) -> picoseconds >= 0."""
    value = _with_unit(token, TIME_UNITS, PS_PER_S, what, "a time such as 1us, 0.001ms or seconds", path, line)
    if value < 0:
        raise InputError(f"{what} is {shown(token)}, expected a time that is not negative", path, line)
    return value


def probability(token: str, what: str, path: object, line: int | None) -> float:
    """A probability per frame, 0 <= p < 1."""
    value = number(token, what, path, line)
    if not 0 <= value < 1:
        raise InputError(f"{what} is {shown(token)}, expected a probability of at least 0 and less than 1", path, line)
    return float(value)


def _with_unit(
    token: str, units: dict[str, int], bare: int, what: str, expected: str, path: object, line: int | None
) -> int:
    match = _WITH_UNIT.match(token)
    if not match or (match[2] and match[2] not in units):
        raise InputError(f"{what} is {shown(token)}, expected {expected}", path, line)
    factor = units[match[2]] if match[2] else bare
    return round(number(match[1], what, path, line) * factor)


def cells(text: str) -> tuple[str, ...]:
    """The comma-separated cells of a line, stripped."""
    return tuple(cell.strip() for cell in text.split(","))
