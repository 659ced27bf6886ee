"""Skipping steady states: policies look at live partitions, and their plans are carried out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..errors import PluginError
from ..sim.event.freeze import credit, freeze, may_freeze, purge, thaw
from ..sim.kernel import DEAD, Tick
from ..sim.order import BETWEEN
from ..units import PS_PER_S
from .members import Member, Mode, Partition
from .partitions import components
from .recording import ACKED, RECEIVED, Recording
from .steady import finish_times, moved_bytes, partition_info, take_sample, unsent_ends_ps

TAIL_SHARE = 0.001
"""Bandwidth-time freed by early ends that may be ignored, as a share of the FCT."""
TAIL_DEBT = 0.0025
"""Sum of those shares along a chain of episodes beyond which no more is taken."""
MARK_LOOKS = 64
"""How many looks back the share of marked frames is taken from, to be counted for a skip."""
SHORTEST_RTTS = 4
"""Skips shorter than this do not pay for a freeze and a thaw."""


class Skipper:
    """Watches live partitions of `controller`. make_policy(info, number) -> policy or None."""

    def __init__(self, controller: Any, make_policy: Any) -> None:
        self.controller = controller
        self.make_policy = make_policy
        self.env = controller.env
        self._config = controller.motion.network.config

    # --- watching ---

    def watch(self, partition: Partition, now_ps: int) -> None:
        """Let a new policy look at a live partition from now on."""
        partition.policy = None
        if partition.policy_tick is not None:
            partition.policy_tick.callbacks = DEAD
            partition.policy_tick = None
        if self.make_policy is None or not partition.real_flows() or any(p.loss for p in partition.ports):
            return
        partition.disturbance = None
        partition.marks_seen = []
        partition.policy = self.make_policy(partition_info(partition, self._config.payload_bytes), partition.id)
        if partition.policy is not None:
            partition.watched = partition.unfinished
            self.controller.ledger.note_policy(partition)
            self._arm(partition, now_ps)

    def _arm(self, partition: Partition, now_ps: int) -> None:
        tick = partition.policy_tick = Tick(partition.id)
        self.env.push(
            now_ps + partition.policy.interval_ps(), BETWEEN | partition.id, tick, (lambda _t: self._look(partition),)
        )

    def _look(self, partition: Partition) -> None:
        now = self.env._now
        partition.policy_tick = None
        if partition.mode is not Mode.LIVE:
            return
        if partition.watched != partition.unfinished:
            self._flows_left(partition, now)
            return
        partition.marks_seen.append([(port.marks, port.tx_frames) for port in partition.ports])
        if len(partition.marks_seen) > MARK_LOOKS:
            del partition.marks_seen[0]
        plan = partition.policy.observe(take_sample(partition, now))
        if plan is None or not self._skip(partition, plan, now):
            self._arm(partition, now)

    def _flows_left(self, partition: Partition, now_ps: int) -> None:
        """Since the last look flows have finished: split what no longer hangs together, look anew."""
        controller = self.controller
        if partition.recording is None and partition.unfinished > 1:
            parts = components(partition.active(), controller.coarsen)
            if len(parts) > 1:
                debt = partition.debt
                controller.release(partition)
                for part in parts:
                    self.watch(controller.new_partition(part, now_ps, debt), now_ps)
                return
        self.watch(partition, now_ps)

    # --- skipping ---

    def _skip(self, partition: Partition, plan: Any, now_ps: int) -> bool:
        """Carry out a plan; False if it does not pay or must not be."""
        flows, members = partition.real_flows(), partition.active()
        speeds = plan.bytes_per_ps
        check_rates(speeds, len(flows), type(partition.policy).__name__)
        if min(speeds) <= 0 or not fits_links(flows, speeds) or not may_freeze(partition.ports):
            return False
        ends, freed = finish_times([f.end_seq - f.snd_una for f in flows], speeds, _one_bottleneck(flows))
        share = freed / min(now_ps + end - flow.start_ps for end, flow in zip(ends, flows, strict=True))
        finish = (
            self.controller.tails and now_ps + max(ends) <= plan.until_ps
            and share <= TAIL_SHARE and partition.debt + share <= TAIL_DEBT
        )  # fmt: skip
        until = min(plan.until_ps, now_ps + int(min(unsent_ends_ps(f, r) for f, r in zip(flows, speeds, strict=True))))
        if not finish and until - now_ps < SHORTEST_RTTS * max(f.base_rtt_ps for f in flows):
            return False
        rates = [0.0] * len(partition.members)
        for member, speed in zip(members, speeds, strict=True):
            rates[member.position] = speed
        partition.rates = tuple(rates)
        partition.mark_share = _mark_shares(partition)
        freeze(flows, partition.ports)
        partition.frozen, partition.frozen_ps = True, now_ps
        self.controller.stats.skips += 1
        partition.doubt = plan.error_bound + (share if finish else 0.0)
        if finish:
            partition.debt += share
            self._finish_at_rates(partition, members, ends, now_ps, plan.error_bound + share)
            return True
        partition.mode = Mode.SKIP
        partition.tick = Tick(partition.id)
        self.env.push(until, BETWEEN | partition.id, partition.tick, (lambda _t: self._skip_ends(partition),))
        return True

    def _skip_ends(self, partition: Partition) -> None:
        now = self.env._now
        partition.tick = None
        self.wake(partition, now)
        partition.mode = Mode.LIVE
        partition.policy.resumed(take_sample(partition, now))
        self._arm(partition, now)

    def wake(self, partition: Partition, now_ps: int) -> None:
        """Thaw a frozen partition: its flows have moved at their rates since it was frozen."""
        controller = self.controller
        shift = now_ps - partition.frozen_ps
        members = partition.active()
        flows = [m.flow for m in members]
        # Flows whose end was foreseen and has passed: only what they have in the network is left.
        done = [m.flow for m in partition.members if m.finished and m.flow is not None and not m.flow.finished]
        if partition.mode is Mode.PLAY:
            # Its whole rest was counted when its end was worked out.
            controller.stats.skipped_ps -= partition.foreseen_ps
            controller.ledger.credit_skip(members, partition.rates, partition.foreseen_ps, -1)
            controller.ledger.credit_in_flight(partition.ports, -1)
            controller.ledger.bytes_skipped -= partition.foreseen_bytes
            controller.ledger.note_doubt(-partition.foreseen_bytes, partition.doubt)
        moved = [moved_bytes(m.flow, partition.rates[m.position], shift) for m in members]
        payload = controller.ledger.credit_skip(members, partition.rates, shift)
        controller.ledger.bytes_skipped += payload
        controller.ledger.note_doubt(payload, partition.doubt)
        credit(flows + done, moved + [flow.end_seq - flow.snd_nxt for flow in done])
        thaw(flows + done, partition.ports, shift)
        partition.frozen = False
        controller.stats.skipped_ps += shift
        for member in members:
            member.source = "skipped"
        if controller.leaders.is_leading(partition):
            recording = partition.recording
            recording.segments.append((partition.frozen_ps - partition.start_ps, shift, partition.rates))  # type: ignore[union-attr]
            recording.approximate = True  # type: ignore[union-attr]
        partition.disturbance = None
        for listener in controller.on_skipped:
            listener(tuple(m.index for m in members), partition.frozen_ps, now_ps)

    # --- to the end ---

    def _finish_at_rates(
        self, partition: Partition, members: list[Member], ends: list[float], now_ps: int, bound: float
    ) -> None:
        """The end is known: from here on the partition plays what its rates say."""
        controller = self.controller
        recorded = controller.leaders.is_leading(partition)
        recording = partition.recording if recorded else Recording(len(partition.members))
        assert recording is not None
        partition.recording = recording
        resolution, at = self._config.clock_resolution_ps, now_ps - partition.start_ps
        events = []
        for member, end in zip(members, ends, strict=True):
            acked = max(1, round(end / resolution)) * resolution
            if not member.received:
                received = max(resolution, acked - member.ack_latency_ps(controller.motion.network.ack_bytes))
                events.append((at + received, member.position, RECEIVED, 0))
            events.append((at + acked, member.position, ACKED, member.flow.retransmitted_bytes))
            member.source = "skipped"
        partition.cursor = len(recording.events)
        recording.events.extend(sorted(events))
        recording.finish = at, partition.rates
        recording.approximate, recording.error_bound = True, bound
        partition.mode = Mode.PLAY
        partition.foreseen_ps = max(int(end) for end in ends)
        controller.stats.skipped_ps += partition.foreseen_ps
        partition.foreseen_bytes = controller.ledger.credit_skip(members, partition.rates, partition.foreseen_ps)
        controller.ledger.credit_in_flight(partition.ports)
        controller.ledger.bytes_skipped += partition.foreseen_bytes
        controller.ledger.note_doubt(partition.foreseen_bytes, partition.doubt)
        if recorded:
            controller.leaders.complete(partition)
        else:
            recording.complete = True
        controller.player.deliver(partition, now_ps)

    def drop_frozen(self, partition: Partition) -> None:
        """A partition whose end was foreseen: what it left in the network vanishes."""
        flows = [m.flow for m in partition.members if m.flow is not None]
        for flow in flows:
            self.controller.motion.flows.pop(flow.index, None)
        purge(flows, partition.ports)
        partition.frozen = False
        for listener in self.controller.on_skipped:
            listener(tuple(m.index for m in partition.members), partition.frozen_ps, self.env._now)


def check_rates(speeds: Sequence[float], flows: int, policy: str) -> None:
    """Raise PluginError for a plan that is none."""
    if len(speeds) != flows:
        raise PluginError(
            f"fast-forward policy {policy}: a plan has {len(speeds)} rates for {flows} flows; give one per flow"
        )
    for i, speed in enumerate(speeds):
        if not 0 <= speed < math.inf:
            raise PluginError(
                f"fast-forward policy {policy}: a plan moves flow {i} at {speed!r} bytes per ps; "
                "give a finite rate, 0 or more"
            )


def fits_links(flows: Sequence[Any], speeds: Sequence[float]) -> bool:
    """Whether the links could carry that much (bytes per ps, headers left out)."""
    load: dict[Any, float] = {}
    for flow, speed in zip(flows, speeds, strict=True):
        for port in flow.data_path:
            load[port] = load.get(port, 0.0) + speed
    return all(8 * PS_PER_S * speed <= port.rate_bps for port, speed in load.items())


def _one_bottleneck(flows: list[Any]) -> bool:
    shared = set(flows[0].data_path)
    for flow in flows[1:]:
        shared &= set(flow.data_path)
    return bool(shared)


def _mark_shares(partition: Partition) -> dict[Any, float]:
    """Marked frames per frame at ports that marked any lately."""
    shares = {}
    for port, (marks, frames) in zip(partition.ports, partition.marks_seen[0], strict=True):
        if port.marks > marks:
            shares[port] = (port.marks - marks) / max(1, port.tx_frames - frames)
    return shares
