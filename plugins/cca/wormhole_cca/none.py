"""No congestion control: every flow sends at line rate, optionally held by a fixed window.

Only PFC and the window keep queues bounded. It is the yardstick the algorithms are measured by, and
the way to see what a lossless fabric does alone.

Deviations from the reference: none (its labels `nocc`, `nocc_buf2` and, with `window = "bdp"`,
`nocc_win`).
"""

from __future__ import annotations

from typing import Any

import attrs

from wormhole_core import Cca, Component, Feedback, FlowInfo, Stream
from wormhole_core.units import parse_size_bytes

from ._reference import reference_preset


def _window(_instance: Any, attribute: Any, value: Any) -> None:
    if value not in ("none", "bdp"):
        try:
            good = parse_size_bytes(value) > 0
        except ValueError:
            good = False
        if not good:
            raise ValueError(f"{attribute.name} must be none, bdp or a size such as 52kB, got {value!r}")


@attrs.frozen(kw_only=True)
class NoneConfig:
    """Options of `none`."""

    window: str = attrs.field(default="none", validator=_window)
    """"none", "bdp" (the flow's bandwidth-delay product) or a size ("64kB"; a bare number is bytes)."""


class LineRate(Cca):
    """Line rate and a window that never changes."""

    __slots__ = ()

    def __init__(self, config: NoneConfig, flow: FlowInfo, rng: Stream | None = None) -> None:
        self.rate_bps = flow.line_rate_bps
        if config.window == "none":
            self.window_bytes = None
        else:
            self.window_bytes = max(1, flow.bdp_bytes) if config.window == "bdp" else parse_size_bytes(config.window)

    def on_ack(self, fb: Feedback) -> None:
        """Nothing to learn."""

    def snapshot(self, now_ps: int, snd_una: int) -> tuple[()]:
        """No state."""
        return ()

    def restore(self, state: tuple[()], now_ps: int, snd_una: int) -> None:
        """No state."""

    def settling_ps(self) -> int:
        """The rate is constant from the start."""
        return 0


COMPONENT = Component(
    name="none",
    build=LineRate,
    summary="line rate, no congestion control; optional fixed window",
    config=NoneConfig,
    presets={
        "reference:nocc": reference_preset({"window": "none"}),
        "reference:nocc_buf2": reference_preset({"window": "none"}, buffer_mib=2),
        "reference:nocc_win": reference_preset({"window": "bdp"}),
    },
)
