"""`ecmp`: each flow stays on one path, chosen at every switch by a hash of addresses and ports."""

from __future__ import annotations

import attrs

from wormhole_core import Component, FlowKey, Routing, Stream, non_negative

from .murmur import murmur3_32


@attrs.frozen(kw_only=True)
class EcmpConfig:
    """Options of `ecmp`."""

    salt: int = non_negative(default=0)
    """Added to the seed of every switch: another number, another draw of collisions."""


def host_address(node: int) -> int:
    """IPv4 address of a host as an integer: 11.x.y.1 with the node id in x and y (256 ids per x)."""
    return 0x0B000001 + (node // 256) * 0x10000 + (node % 256) * 0x100


class Ecmp(Routing):
    """MurmurHash3 over (source, destination, ports), seeded by the switch, modulo the links offered.

    The words are the two addresses and `sport | dport << 16`. An ACK is a packet of its own: its key
    has addresses and ports swapped, so it may take another path than the data.
    """

    __slots__ = ("salt",)

    def __init__(self, salt: int) -> None:
        self.salt = salt

    def choose(self, key: FlowKey, switch: int, links: int, now_ps: int, seq: int) -> int:
        words = (host_address(key.src), host_address(key.dst), key.sport | key.dport << 16)
        return murmur3_32(words, switch + self.salt) % links


def _build(config: EcmpConfig, _rng: Stream) -> Ecmp:
    return Ecmp(config.salt)


ECMP = Component(
    name="ecmp",
    build=_build,
    summary="per flow: hash of addresses and ports, as switches do",
    config=EcmpConfig,
    reference="RFC 2992; MurmurHash3 x86 32",
    traits={"per_flow": True},
)
