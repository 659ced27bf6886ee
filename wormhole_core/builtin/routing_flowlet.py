"""`flowlet`: a flow may change its link after a pause long enough that packets cannot overtake."""

from __future__ import annotations

import attrs

from wormhole_core import Component, FlowKey, Routing, Stream, positive

from .routing_spray import draw


@attrs.frozen(kw_only=True)
class FlowletConfig:
    """Options of `flowlet`."""

    gap_ps: int = positive(default=50_000_000)
    """A packet that comes more than this after the one before it starts a new flowlet."""


class Flowlet(Routing):
    """Per flow, direction and switch: when the last packet came and how many flowlets began."""

    __slots__ = ("gap_ps", "key", "seen")

    def __init__(self, key: int, gap_ps: int) -> None:
        self.key = key
        self.gap_ps = gap_ps
        self.seen: dict[tuple[int, bool, int], tuple[int, int]] = {}

    def choose(self, key: FlowKey, switch: int, links: int, now_ps: int, seq: int) -> int:
        place = (key.flow_index, key.is_ack, switch)
        last_ps, flowlet = self.seen.get(place, (now_ps, 0))
        if now_ps - last_ps > self.gap_ps:
            flowlet += 1
        self.seen[place] = (now_ps, flowlet)
        return draw(self.key, place, flowlet, links)

    def snapshot(self) -> tuple:
        return tuple((*place, *state) for place, state in sorted(self.seen.items()))


def _build(config: FlowletConfig, rng: Stream) -> Flowlet:
    return Flowlet(rng.key, config.gap_ps)


FLOWLET = Component(
    name="flowlet",
    build=_build,
    summary="per flowlet: another link after a pause of gap_ps",
    config=FlowletConfig,
    reference="Kandula et al., Dynamic load balancing without packet reordering, CCR 37(2), 2007",
    traits={"per_flow": False},
)
