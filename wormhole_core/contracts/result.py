"""What a run leaves behind, as plain data."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class FlowRecord:
    """One finished flow.

    fct_ps: from creation of the queue pair to the ACK of the last byte at the sender.
    rx_last_byte_ps: from creation to the receiver having the last byte. ideal_fct_ps: alone on its
    path. source: how it was obtained: "simulated", "skipped", "replayed" or "fluid".
    """

    index: int
    id: Any
    src: int
    dst: int
    sport: int
    dport: int
    size_bytes: int
    start_ps: int
    fct_ps: int
    rx_last_byte_ps: int
    ideal_fct_ps: int
    retransmitted_bytes: int = 0
    label: str = ""
    group: Any = None
    step: int | None = None
    job: str = ""
    source: str = "simulated"

    @property
    def slowdown(self) -> float:
        """FCT over ideal FCT, at least 1."""
        return max(1.0, self.fct_ps / self.ideal_fct_ps)


@attrs.frozen(kw_only=True)
class LinkRecord:
    """One direction of a link over the whole run: `node` sends towards `peer`."""

    link_index: int
    node: int
    peer: int
    rate_bps: int
    tx_bytes: int
    tx_frames: int
    busy_ps: int
    max_queue_bytes: int
    drops: int
    dropped_bytes: int
    marks: int
    pauses: int
    paused_ps: int


@attrs.frozen(kw_only=True)
class CollectiveRecord:
    """One finished collective. bus_bps: algorithm's bus bandwidth (nccl-tests definition)."""

    id: Any
    label: str
    algorithm: str
    ranks: int
    size_bytes: int
    start_ps: int
    duration_ps: int
    job: str = ""


@attrs.define(kw_only=True)
class Result:
    """A whole run. `summary` is the content of result.json."""

    summary: dict[str, Any]
    flows: list[FlowRecord] = attrs.field(factory=list)
    links: list[LinkRecord] = attrs.field(factory=list)
    collectives: list[CollectiveRecord] = attrs.field(factory=list)
