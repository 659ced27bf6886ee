"""What a flow takes of which port in fluid mode: its frames, their routes, its claim on each port.

Frame sizes, rounded serialisation times and routes are those of the packet model. Nothing here moves.
"""

from __future__ import annotations

from typing import Any

from ..errors import PluginError
from ..sim.network import Network
from ..sim.tx_times import TxTimes
from .max_min import RATE_BITS, WEIGHT_BITS, Bottleneck, Share

Uses = list[tuple["FluidPort", float]]
"""(port, part of the frames it carries): 1.0 for fixed paths."""


class FluidPort(Bottleneck):
    """Egress port of `node` towards `peer`: a rate, a delay and two counters."""

    __slots__ = (
        "delay_ps",
        "down",
        "is_switch",
        "link_index",
        "node",
        "peer",
        "rate_bps",
        "tx_bytes",
        "tx_frames",
        "tx_of",
    )

    def __init__(
        self, index: int, node: int, peer: int, is_switch: bool, data: dict[str, Any], resolution_ps: int
    ) -> None:
        super().__init__(index)
        self.node, self.peer, self.is_switch = node, peer, is_switch
        self.link_index: int = data["link_index"]
        self.rate_bps: int = data["rate_bps"]
        self.delay_ps: int = data["delay_ps"]
        self.tx_of = TxTimes(self.rate_bps, resolution_ps)
        self.tx_bytes = self.tx_frames = 0
        self.down = False


class FluidShare(Share):
    """A flow's share. uses: ports and the part of its (data, ACK) frames that each carries, since
    `attached` of the amount was done; a new route begins new ones. latency_ps: see `Claims.latency_ps`."""

    __slots__ = ("attached", "latency_ps", "uses")
    attached: int
    latency_ps: tuple[int, int]
    uses: tuple[Uses, Uses]


class Claims:
    """Turns flows of a network into claims on its ports."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._costs: dict[tuple[int, int], tuple[int, int]] = {}
        self._spreads: dict[tuple[int, int], Uses] = {}

    def forget_routes(self) -> None:
        """A link went down."""
        self._spreads.clear()

    def amount(self, size_bytes: int) -> int:
        """Bytes that a flow of this size has to move on the wire, as `Share.amount`."""
        return self.wire_bytes(size_bytes)[0] << RATE_BITS

    def attach(self, share: FluidShare) -> None:
        """Claim the flow's ports from now on. A CCA's target is felt at switch ports, whose load it is told.

        Raises PluginError for a target that is not a share."""
        flow = share.owner
        target = flow.cca.target_utilisation
        if not 0.0 < target <= 1.0:
            name = type(flow.cca).__name__
            raise PluginError(f"cca {name}: target_utilisation must be above 0 and at most 1, got {target}")
        uses = self.uses(flow)
        weights: dict[Bottleneck, int] = {}
        for which, ports in enumerate(uses):
            for port, part in ports:
                cost: float = self.cost(flow.transfer.size_bytes, port)[which]
                if port.is_switch and target != 1.0:
                    cost /= target
                weights[port] = weights.get(port, 0) + max(1, int(cost * part if part != 1.0 else cost))
        share.uses, share.attached = uses, share.moved
        share.latency_ps = self.latency_ps(flow)
        share.attach(tuple(weights.items()))

    def uses(self, flow: Any) -> tuple[Uses, Uses]:
        """Where the flow's data and ACK frames go."""
        if flow.data_path is None:
            first = flow.first_port
            data = [(first, 1.0), *self._spread(first.peer, flow.dst)]
        else:
            data = [(p, 1.0) for p in flow.data_path]
        if self.network.config.acks == "lane":
            return data, []
        acks = self._spread(flow.dst, flow.src) if flow.ack_path is None else [(p, 1.0) for p in flow.ack_path]
        return data, acks

    def _spread(self, src: int, dst: int) -> Uses:
        """All shortest paths at once, split evenly at every node that has a choice."""
        known = self._spreads.get((src, dst))
        if known is None:
            routes = self.network.routes
            known = []
            here = {} if src == dst else {src: 1.0}
            while here:
                # Equal-cost ways end equally far from dst, so the nodes of one round never meet those of another.
                there: dict[int, float] = {}
                for node, part in here.items():
                    ways = routes.choices(node, dst)
                    if not ways:
                        routes.first_path(src, dst)  # raises, naming both hosts
                    for peer, link_index in ways:
                        known.append((self.network.ports[node, link_index], part / len(ways)))
                        if peer != dst:
                            there[peer] = there.get(peer, 0.0) + part / len(ways)
                here = there
            self._spreads[src, dst] = known
        return known

    def wire_bytes(self, size_bytes: int) -> tuple[int, int, int]:
        """(bytes on the wire of all data frames, full frames, wire size of the last frame)."""
        payload, frame_bytes = self.network.config.payload_bytes, self.network.frame_bytes
        full = (size_bytes - 1) // payload
        last = size_bytes - full * payload + frame_bytes - payload
        return full * frame_bytes + last, full, last

    def _ack_frames(self, full: int) -> int:
        return -(-(full + 1) // self.network.config.ack_every_packets)

    def cost(self, size_bytes: int, port: FluidPort) -> tuple[int, int]:
        """(data, ACK) time per byte of data on the wire, in units of 2**-WEIGHT_BITS ps."""
        known = self._costs.get((size_bytes, port.rate_bps))
        if known is None:
            wire, full, last = self.wire_bytes(size_bytes)
            data_ps = full * port.tx_of[self.network.frame_bytes] + port.tx_of[last]
            ack_ps = self._ack_frames(full) * port.tx_of[self.network.ack_bytes]
            known = (data_ps << WEIGHT_BITS) // wire, (ack_ps << WEIGHT_BITS) // wire
            self._costs[size_bytes, port.rate_bps] = known
        return known

    def latency_ps(self, flow: Any) -> tuple[int, int]:
        """(from the last byte leaving the bottleneck to the receiver having it, from there to the last
        ACK) on an empty path: what `Network.ideal_fct_ps` has beyond the time at the slowest port."""
        size_bytes, network = flow.transfer.size_bytes, self.network
        data, back = flow.data_path, flow.ack_path
        if data is None:
            first = flow.first_port
            data = (first, *network.ports_along(first.peer, network.routes.first_path(first.peer, flow.dst)))
        if back is None:
            back = network.ports_along(flow.dst, network.routes.first_path(flow.dst, flow.src))
        _, full, last = self.wire_bytes(size_bytes)
        sending_ps = max(full * port.tx_of[network.frame_bytes] + port.tx_of[last] for port in data)
        if network.config.acks == "in-band":
            # Frames of a few bytes are smaller than their ACKs: the way back is then the slowest.
            acks = self._ack_frames(full)
            sending_ps = max(sending_ps, *(acks * port.tx_of[network.ack_bytes] for port in back))
        back_ps = sum(port.tx_of[network.ack_bytes] + port.delay_ps for port in back)
        return max(0, network.ideal_fct_ps(size_bytes, data, back) - back_ps - sending_ps), back_ps

    def passed(self, share: FluidShare, moved: int) -> list[tuple[FluidPort, int, int]]:
        """(port, bytes, frames) that a share put on the wire since it was attached, `moved` being done."""
        flow = share.owner
        _, full, _ = self.wire_bytes(flow.transfer.size_bytes)
        acks = self._ack_frames(full)
        done, whole = moved - share.attached, share.amount
        loads = []
        volumes = ((whole >> RATE_BITS, full + 1), (acks * self.network.ack_bytes, acks))
        for uses, (size_bytes, frames) in zip(share.uses, volumes, strict=True):
            for port, part in uses:
                if part == 1.0:
                    loads.append((port, size_bytes * done // whole, frames * done // whole))
                else:
                    here = part * (done / whole)
                    loads.append((port, round(size_bytes * here), round(frames * here)))
        return loads
