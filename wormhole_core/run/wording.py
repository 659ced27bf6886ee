"""Numbers in sentences: "1 flow", "3,136 flows"."""

from __future__ import annotations

ENDINGS = {"ch": "es", "sh": "es", "s": "es", "x": "es"}


def counted(number: int, noun: str) -> str:
    """The number with its noun, in the plural unless it is one; `entry` becomes `entries`."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The regular English plural."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + next((ending for end, ending in ENDINGS.items() if noun.endswith(end)), "s")
