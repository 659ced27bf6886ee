"""`spray`: every packet may take another of the equal-cost links."""

from __future__ import annotations

import attrs

from wormhole_core import Component, FlowKey, Routing, Stream, one_of

from .murmur import murmur3_32


@attrs.frozen(kw_only=True)
class SprayConfig:
    """Options of `spray`."""

    order: str = one_of("round-robin", "random", default="round-robin")
    """Links in turn, or drawn independently for each packet."""


class Spray(Routing):
    """One counter per flow, direction and switch; a choice depends on nothing but that counter.

    Not one counter per switch: flows that share no link would then influence each other, and a group
    of flows could not be simulated apart from the rest.
    """

    __slots__ = ("counts", "key", "random")

    def __init__(self, key: int, random: bool) -> None:
        self.key = key
        self.random = random
        self.counts: dict[tuple[int, bool, int], int] = {}

    def choose(self, key: FlowKey, switch: int, links: int, now_ps: int, seq: int) -> int:
        place = (key.flow_index, key.is_ack, switch)
        count = self.counts.get(place, 0)
        self.counts[place] = count + 1
        return draw(self.key, place, count, links) if self.random else (draw(self.key, place, 0, links) + count) % links

    def snapshot(self) -> tuple:
        return tuple((*place, count) for place, count in sorted(self.counts.items()))


def draw(key: int, place: tuple[int, bool, int], count: int, links: int) -> int:
    """Draw number `count` of a flow at a switch: an index below `links`, the same on every platform."""
    flow_index, is_ack, switch = place
    name = murmur3_32((flow_index, switch, is_ack), key) << 32 | murmur3_32((flow_index, switch, is_ack), key >> 32)
    return Stream(key ^ name, count).below(links)


def _build(config: SprayConfig, rng: Stream) -> Spray:
    return Spray(rng.key, config.order == "random")


SPRAY = Component(
    name="spray",
    build=_build,
    summary="per packet: all equal-cost links in turn or at random",
    config=SprayConfig,
    reference="Dixit et al., On the impact of packet spraying in data center networks, INFOCOM 2013",
    traits={"per_flow": False},
)
