"""Routing: which of the equal-cost next links a packet takes.

`Component.build(config, rng: Stream) -> Routing`. The core finds shortest paths (hop count; hosts
never forward; an NVSwitch is preferred inside a server) and asks only where there is a choice.
Next links are offered in the core's fixed order: descending neighbour id, then ascending link index.
`traits["per_flow"] = True` promises that the choice depends on the flow alone: the core then asks
once per flow and switch, and partitions see the exact path.
"""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class FlowKey:
    """What a hash may look at. Node ids, and ports as a network would see them."""

    flow_index: int
    src: int
    dst: int
    sport: int
    dport: int
    is_ack: bool = False


class Routing:
    """Default: the first of the equal-cost links."""

    __slots__ = ()

    def choose(self, key: FlowKey, switch: int, links: int, now_ps: int, seq: int) -> int:
        """Index of the link to take at `switch` (a node id; the source host too, where it has several
        equal NIC ports), out of `links` >= 2 equal ones.

        now_ps and seq (packet sequence number) may be used only by per-packet routings."""
        return 0

    def snapshot(self) -> tuple[Any, ...]:
        """State that shapes future choices (empty for stateless routings)."""
        return ()
