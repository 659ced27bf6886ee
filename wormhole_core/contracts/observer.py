"""Observers: recorders, exporters, live views.

`Component.build(config, run: RunInfo) -> Observer`. Only overridden methods are ever called. Nothing
an observer does may change the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from .result import FlowRecord


@attrs.frozen(kw_only=True)
class RunInfo:
    """A run about to start. Read-only.

    mode: "packet", "wormhole" or "fluid". model: "event" or "process". out_dir: where results go, or
    None. experiment: the experiment as nested plain dicts. manifest: versions and plugins.
    """

    mode: str
    model: str
    seed: int
    out_dir: str | None
    hosts: tuple[int, ...]
    experiment: dict[str, Any]
    manifest: dict[str, Any]


class Observer:
    """Times are simulated picoseconds since the run began."""

    def flow_started(self, now_ps: int, flow_index: int, transfer: Any) -> None:
        """A flow's queue pair was created (`transfer`: the workload's `Transfer`)."""

    def flow_finished(self, record: FlowRecord) -> None:
        """The sender has the last acknowledgement."""

    def collective_finished(self, now_ps: int, collective: Any, started_ps: int) -> None:
        """All ranks of a `Collective` are done."""

    def partition_formed(self, now_ps: int, flow_indices: tuple[int, ...]) -> None:
        """Flows that share ports were put together (wormhole mode)."""

    def memo_hit(self, now_ps: int, flow_indices: tuple[int, ...], until_ps: int) -> None:
        """A remembered episode is replayed (wormhole mode)."""

    def skipped(self, flow_indices: tuple[int, ...], from_ps: int, until_ps: int) -> None:
        """A steady partition was fast-forwarded (wormhole mode)."""

    def packet_sent(self, now_ps: int, flow_index: int, seq: int, size_bytes: int) -> None:
        """A data frame began to leave its host. Costs time on every packet; sees simulated ones only."""

    def packet_dropped(self, now_ps: int, node: int, flow_index: int, size_bytes: int, why: str) -> None:
        """A frame was lost at a node or on a link."""

    def port_paused(self, now_ps: int, node: int, link_index: int, paused: bool) -> None:
        """A PFC frame arrived at `node` for its port on a link."""

    def close(self) -> None:
        """The run ended, well or badly."""
