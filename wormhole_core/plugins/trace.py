"""Shows on standard error what plugins are asked and answer: `WORMHOLE_TRACE_PLUGINS=1`."""

from __future__ import annotations

import os
import sys
from typing import Any

import pluggy

TRACE_VARIABLE = "WORMHOLE_TRACE_PLUGINS"


class Tracer:
    """Writes one line per event while `on`; costs nothing but a test of `on` otherwise."""

    def __init__(self, on: bool | None = None) -> None:
        self.on = os.environ.get(TRACE_VARIABLE, "") not in ("", "0") if on is None else on

    def say(self, text: str) -> None:
        """Write one line."""
        if self.on:
            print(f"plugins: {text}", file=sys.stderr)

    def watch(self, manager: pluggy.PluginManager) -> None:
        """Report every hook call of this manager from now on."""
        if not self.on:
            return

        def before(hook: str, implementations: Any, arguments: Any) -> None:
            names = ", ".join(str(implementation.plugin_name) for implementation in implementations) or "nobody"
            self.say(f"{hook}({', '.join(arguments)}) -> {names}")

        def after(outcome: Any, hook: str, _implementations: Any, _arguments: Any) -> None:
            if outcome.exception is not None:
                self.say(f"{hook} raised {outcome.exception!r}")

        manager.add_hookcall_monitoring(before, after)
