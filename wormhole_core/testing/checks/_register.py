"""The table of checks, filled by the decorator above each of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from ..subject import Check, Subject

TABLE: dict[str, list[Check]] = {}
"""Kind (or "any") -> its checks in the order they are run and shown."""

Function = Callable[[Subject], "str | None"]


def check(*kinds: str) -> Callable[[Function], Function]:
    """Enter a function as a check of these kinds; its name and the first line of its docstring are shown."""

    def enter(function: Function) -> Function:
        summary = (inspect.getdoc(function) or "").partition("\n")[0]
        for kind in kinds:
            TABLE.setdefault(kind, []).append(
                Check(kind=kind, name=function.__name__, function=function, summary=summary)
            )
        return function

    return enter
