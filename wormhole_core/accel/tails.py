"""The tail rule: a partition whose flows are as good as done does not shape what starts on its ports.

Without it the last ACKs of one step of a collective are part of the start of the next, every tiny
difference of times is a new episode, and nothing is ever seen again. Used only where it buys
something (`Book.worth_a_tail`), counted, and bounded along a chain of episodes.
"""

from __future__ import annotations

from typing import Any

from ..sim.event.freeze import freeze, may_freeze
from .members import Mode, Partition
from .recording import ACKED, RECEIVED, Recording
from .skipper import TAIL_DEBT, TAIL_SHARE

TAIL_RTTS = 3
"""Flows that are known to end within so many base RTTs are as good as done."""


class Tails:
    """Ends partitions of `controller` that are in their tail."""

    def __init__(self, controller: Any) -> None:
        self.controller = controller

    def is_tail(self, partition: Partition, now_ps: int) -> bool:
        """Whether all that is left of a partition ends within a few RTTs and is known, and is little: its
        last ACKs are no longer in the way of what starts, which gains one ACK's time (measured on rings
        of 4 to 16 hosts); the rule holds where that is under `TAIL_SHARE` of how long the partition lived."""
        small_ps = TAIL_SHARE * (now_ps - partition.start_ps)
        if partition.debt > TAIL_DEBT or self._gain_ps(partition) > small_ps:
            return False
        members = partition.active()
        if partition.mode is Mode.LIVE:
            return all(m.received for m in members) and may_freeze(partition.ports)
        if partition.mode is not Mode.PLAY:
            return False
        recording = partition.recording
        assert recording is not None
        if not recording.complete:
            return all(m.received for m in members)
        # Data still on its way would have to share what starts now.
        data_ps = max((e[0] for e in recording.events[partition.cursor :] if e[2] == RECEIVED), default=0)
        if partition.start_ps + data_ps > now_ps + small_ps:
            return False
        rtt = max((m.plan.info.base_rtt_ps for m in members), default=0)
        return partition.start_ps + recording.duration_ps <= now_ps + TAIL_RTTS * rtt

    def _gain_ps(self, partition: Partition) -> int:
        network = self.controller.motion.network
        if network.config.acks == "lane":
            return 0
        return max(port.tx_of[network.ack_bytes] for port in partition.ports)

    def finish_along(self, partition: Partition, now_ps: int) -> None:
        """End a partition in its tail: its flows finish when they would, its ports are free at once."""
        controller = self.controller
        if partition.mode is Mode.ENDED:
            return
        controller.stats.tails += 1
        recording = partition.recording
        if partition.mode is Mode.LIVE:
            self._foresee(partition, now_ps)
        elif recording is not None and not recording.complete:
            # It follows a leader that is in its tail too; the leader's end is foreseen for both.
            leader = recording.leader
            self._foresee(leader, now_ps)
            controller.player.detach(leader)
        controller.player.detach(partition)

    def _foresee(self, partition: Partition, now_ps: int) -> None:
        """All receivers have their bytes: the last ACKs arrive as through empty queues."""
        controller = self.controller
        recorded = controller.leaders.is_leading(partition)
        recording = partition.recording if recorded else Recording(len(partition.members))
        assert recording is not None
        partition.recording = recording
        start, ack_bytes = partition.start_ps, controller.motion.network.ack_bytes
        events = []
        for member in partition.active():
            due = member.start_ps + member.rx_last_byte_ps + member.ack_latency_ps(ack_bytes)
            events.append((max(due, now_ps + 1) - start, member.position, ACKED, member.flow.retransmitted_bytes))
        partition.cursor = len(recording.events)
        freeze(partition.real_flows(), partition.ports)
        partition.frozen, partition.frozen_ps = True, now_ps
        partition.foreseen_ps = partition.foreseen_bytes = 0
        controller.ledger.credit_in_flight(partition.ports)
        partition.rates = (0.0,) * len(partition.members)
        partition.mode = Mode.PLAY
        recording.events.extend(sorted(events))
        # What follows gains one ACK's time per step: said of this one, which its copies inherit.
        doubt = self._gain_ps(partition) / max(1, now_ps - start)
        recording.error_bound += doubt
        controller.ledger.note_doubt(sum(m.transfer.size_bytes for m in partition.members), doubt)
        if recorded:
            recording.approximate = True
            controller.leaders.complete(partition)
        else:
            recording.complete = True
