"""The one place that decides: simulate, follow, replay or skip.

Once per instant in which flows start, `commit` groups them with the partitions whose ports they use.
A partition that is touched ends: it is brought to the packet state it has at that instant, or, when
its flows are as good as done, finished along its course (`tails.py`). A group that starts on quiet
ports is a fresh episode: known ones are played from their recording, new ones are simulated and
recorded, and identical ones alive at the same time follow the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..contracts.observer import Observer
from ..rng import Stream
from ..sim.driver import bound
from ..sim.event.freeze import credit, freeze, may_freeze, purge, thaw
from ..sim.kernel import DEAD, Tick
from ..sim.network import FlowPlan
from ..sim.order import BETWEEN, TIMER
from .book import Book, Statistics
from .key import Episode, fresh_episode, in_canonical_order
from .materialise import materialise
from .members import Member, Mode, Partition
from .partitions import components, grouped
from .recording import ACKED, RECEIVED, Recording
from .steady import finish_times, moved_bytes, partition_info, take_sample, unsent_ends_ps

def _stream_states(ports: list[Any]) -> list[tuple[int, int] | None]:
    return [None if p.draws is None else (p.draws.key, p.draws.counter) for p in ports]


class FirstDraw(Stream):
    """A port's marking stream that tells once when it is drawn from."""

    __slots__ = ("port", "tell")

    def __init__(self, port: Any, tell: Callable[[], None]) -> None:
        super().__init__(port.draws.key, port.draws.counter)
        self.port, self.tell = port, tell

    def uniform(self) -> float:
        plain = self.port.draws = Stream(self.key, self.counter)
        self.tell()
        return plain.uniform()


TAIL_RTTS = 3
"""A partition whose flows all end within so many base RTTs is as good as done."""
TAIL_SHARE = 0.001
"""Bandwidth-time freed by early ends that may be ignored, as a share of the FCT."""
TAIL_DEBT = 0.0025
"""Sum of those shares along a chain of episodes beyond which no more is taken."""


class Controller:
    """Owns the partitions of a run.

    make_policy(info): a fast-forward policy for an episode, or None: never skip. book: the memo.
    coarsen(ports): extra resources of a flow (partitioner).
    """

    def __init__(self, motion: Any, driver: Any, book: Book, make_policy: Callable[[Any, int], Any] | None,
                 coarsen: Callable[[Any], Iterable[Any]] | None, observers: list[Observer]) -> None:
        self.motion, self.driver, self.book = motion, driver, book
        self.env = motion.env
        self.make_policy, self.coarsen = make_policy, coarsen
        self.stats = Statistics()
        self.owners: dict[Any, Partition] = {}
        self.partitions: dict[int, Partition] = {}
        self.arrivals: list[Member] = []
        self.extra: dict[Any, list[int]] = {}
        self.muted = False
        self._number = 0
        self._ack_bytes = motion.network.ack_bytes
        self._on_formed = bound(observers, "partition_formed")
        self._on_hit = bound(observers, "memo_hit")
        self._on_skipped = bound(observers, "skipped")
        for switch in motion.switches.values():
            switch.on_exact = self.switch_exact

    # --- told by the motion and the driver ---

    def start_flow(self, plan: FlowPlan, now_ps: int) -> None:
        """A flow starts at the end of this instant."""
        self.arrivals.append(Member(plan, now_ps))

    def received(self, flow: Any, now_ps: int) -> None:
        """A simulated flow's receiver has its last byte."""
        member = flow.partition
        member.received = True
        member.rx_last_byte_ps = flow.rx_last_byte_ps
        if self.muted:
            return
        self.driver.received(member, now_ps)
        self._record(member, now_ps, RECEIVED)

    def completed(self, flow: Any, now_ps: int) -> None:
        """A simulated flow's sender has its last ACK."""
        member = flow.partition
        if self.muted:
            return
        self._finish_member(member, now_ps, flow.retransmitted_bytes)
        self._record(member, now_ps, ACKED)
        partition = member.partition
        if not partition.unfinished:
            self._end_live(partition, now_ps)

    def _finish_member(self, member: Member, now_ps: int, retransmitted: int) -> None:
        member.finished = True
        member.retransmitted_bytes = retransmitted
        member.partition.unfinished -= 1
        self.driver.completed(member, now_ps)

    # --- the late batch ---

    def commit(self, now_ps: int) -> None:
        """Form the partitions of the flows that start in this instant."""
        arrivals, self.arrivals = self.arrivals, []
        for members, touched in grouped(arrivals, self.owners, self.coarsen):
            self._form(members, touched, now_ps)

    def _form(self, members: list[Member], touched: list[Partition], now_ps: int) -> None:
        tails = all(self._is_tail(p, now_ps) for p in touched)
        if self.book.enabled and tails:
            parts = [in_canonical_order(part) for part in components(members, self.coarsen)]
            debt = max((p.debt for p in touched), default=0.0)
            episodes = [fresh_episode(part, self.book.dynamics) for part in parts]
            if not touched or (debt <= TAIL_DEBT and all(self.book.worth_a_tail(e.key) for e in episodes)):
                for partition in touched:
                    self._finish_along(partition, now_ps)
                for part, episode in zip(parts, episodes, strict=True):
                    self._start_fresh(part, episode, now_ps, debt)
                return
        old: list[Member] = []
        debt = 0.0
        for partition in touched:
            self.bring_live(partition, now_ps)
            old.extend(partition.active())
            debt = max(debt, partition.debt)
            self._release(partition)
        members = sorted(old + members, key=lambda m: m.index)
        for part in components(members, self.coarsen):
            new = self._new_partition(part, now_ps, debt)
            self._start_live(new, now_ps)

    def _new_partition(self, members: list[Member], now_ps: int, debt: float, ports: list[Any] | None = None) -> Partition:
        if ports is None:
            ports = list(dict.fromkeys(port for m in members for port in m.ports))
        self._number += 1
        partition = Partition(self._number, members, ports, now_ps)
        partition.debt = debt
        self.partitions[partition.id] = partition
        self.stats.episodes += 1
        for resource in self._resources(partition):
            self.owners[resource] = partition
        for listener in self._on_formed:
            listener(now_ps, tuple(m.index for m in members))
        return partition

    def _resources(self, partition: Partition) -> list[Any]:
        if self.coarsen is None:
            return partition.ports
        extra = [r for m in partition.members for r in self.coarsen(m.ports)]
        return [*partition.ports, *extra]

    def _release(self, partition: Partition) -> None:
        """The partition owns nothing any more."""
        for resource in self._resources(partition):
            if self.owners.get(resource) is partition:
                del self.owners[resource]
        for tick in (partition.tick, partition.policy_tick):
            if tick is not None:
                tick.callbacks = DEAD
        partition.tick = partition.policy_tick = None
        partition.mode = Mode.ENDED
        self.partitions.pop(partition.id, None)

    # --- fresh episodes ---

    def _start_fresh(self, members: list[Member], episode: Episode, now_ps: int, debt: float) -> None:
        partition = self._new_partition(members, now_ps, debt, episode.ports)
        fresh = all(self._is_quiet(port, now_ps) for port in episode.ports)
        if not fresh or any(port.loss for port in episode.ports):
            self._start_live(partition, now_ps)
            return
        key, recording = self.book.look_up(episode.key)
        partition.key = key
        if recording is not None and self._reserve(partition, recording):
            self._play(partition, recording, now_ps)
            return
        if recording is None and key is not None:
            partition.recording = self.book.begin(key, len(members))
            partition.recording.leader = partition
            partition.recording.streams = _stream_states(partition.ports)
            self._watch_draws(partition)
        self._start_live(partition, now_ps)

    @staticmethod
    def _is_quiet(port: Any, now_ps: int) -> bool:
        if not port.quiet(now_ps) or port.paused or port.down or port.flows or port.run_bytes:
            return False
        if port.switch is not None and port.switch.exact:
            return False
        nic = port.host
        if nic is not None:
            if nic.data_paused or any(not pair.finished for pair in nic.schedule.pairs):
                return False
            nic.schedule.pairs, nic.schedule.last = [], 0
        return True

    def _start_live(self, partition: Partition, now_ps: int) -> None:
        """Simulate: flows that do not exist yet start now."""
        partition.mode = Mode.LIVE
        if partition.recording is not None:
            self._open_totals(partition)
        for member in partition.members:
            if member.flow is None:
                member.flow = self.motion.network.build_flow(member.plan, now_ps)
                member.flow.partition = member
                self.motion.start_flow(member.flow)
            member.source = "simulated" if member.source == "simulated" else member.source
        self._watch(partition, now_ps)

    # --- recording ---

    def _open_totals(self, partition: Partition) -> None:
        partition.labels = []
        for port in partition.ports:
            extra = self._extra(port)
            extra[3] = max(extra[3], port.max_queue)
            port.max_queue = 0
            partition.labels.append((port.tx_bytes + extra[0], port.tx_frames + extra[1], port.marks + extra[2], port.tx_frames))

    def _close_totals(self, partition: Partition) -> None:
        recording = partition.recording
        assert recording is not None
        recording.totals = []
        for port, base in zip(partition.ports, partition.labels, strict=True):
            extra = self._extra(port)
            recording.totals.append((port.tx_bytes + extra[0] - base[0], port.tx_frames + extra[1] - base[1],
                                     port.marks + extra[2] - base[2], port.max_queue))
            recording.hops += port.tx_frames - base[3]

    def _extra(self, port: Any) -> list[int]:
        return self.extra.setdefault(port, [0, 0, 0, 0])

    def _watch_draws(self, partition: Partition) -> None:
        """See that the first random number the episode uses is noticed."""
        for port in partition.ports:
            if port.draws is not None:
                port.draws = FirstDraw(port, lambda: self._first_draw(partition))

    def _first_draw(self, partition: Partition) -> None:
        """An episode turns out to use random numbers: it is one of several variants, and those that
        follow it but belong to another variant get a leader of their own. (The frame that made the
        draw left in the past, but nothing of it was seen yet: followers are taken to the instant
        before and draw for themselves.)"""
        recording, base = partition.recording, partition.key
        if recording is None or recording.leader is not partition or recording.complete or recording.random:
            return
        assert base is not None
        now = self.env._now
        partition.key = self.book.make_random(base, recording)
        followers, recording.followers = recording.followers, []
        for follower in followers:
            follower.key, other = self.book.look_up(base)
            if other is None:
                new = self.book.begin(follower.key, recording.flows)
                new.random = True
                self._promote(follower, recording, new, now, now - 1)
            elif other is recording or other.leader is not None or other.complete:
                follower.recording = other
                other.followers.append(follower)

    def _record(self, member: Member, now_ps: int, kind: int) -> None:
        partition = member.partition
        recording = partition.recording
        if recording is None or recording.leader is not partition or recording.complete:
            return
        recording.events.append((now_ps - partition.start_ps, member.position, kind, member.retransmitted_bytes))
        for follower in list(recording.followers):
            self._deliver(follower, now_ps)

    def _end_live(self, partition: Partition, now_ps: int) -> None:
        recording = partition.recording
        if recording is not None and recording.leader is partition and not recording.complete:
            self._complete_recording(partition)
        self._release(partition)

    def _complete_recording(self, partition: Partition) -> None:
        recording = partition.recording
        assert recording is not None and partition.key is not None
        self._close_totals(partition)
        recording.complete = True
        recording.leader = None
        self.book.store(partition.key, recording)
        followers, recording.followers = recording.followers, []
        for follower in followers:
            self._deliver(follower, self.env._now)

    def _abandon_recording(self, partition: Partition, now_ps: int, done_ps: int) -> None:
        """A leader is interrupted: the first follower goes on in its place."""
        recording, partition.recording = partition.recording, None
        if recording is None or recording.leader is not partition or recording.complete:
            return
        assert partition.key is not None
        self.book.drop(partition.key, recording)
        recording.leader = None
        followers, recording.followers = recording.followers, []
        if followers:
            heir = followers[0]
            heir.key = partition.key
            new = self.book.begin(partition.key, recording.flows)
            new.random, new.streams = recording.random, recording.streams
            for other in followers[1:]:
                other.recording = new
                new.followers.append(other)
            self._promote(heir, recording, new, now_ps, done_ps)

    def _promote(self, heir: Partition, old: Recording, new: Recording, now_ps: int, done_ps: int) -> None:
        """A follower becomes a leader: simulate it privately up to done_ps and go on live, recording
        into `new` what `old` has up to then and what comes."""
        elapsed = done_ps - heir.start_ps
        self._stop_tick(heir)
        self._unreserve(heir)
        heir.recording = old
        self._open_totals(heir)
        rewind = old.random and bool(new.streams)
        if not new.streams:
            new.streams = _stream_states(heir.ports)
        self._resimulate(heir, now_ps, done_ps, rewind)
        new.events = [event for event in old.events if event[0] <= elapsed]
        new.segments = [(at, min(span, elapsed - at), rates) for at, span, rates in old.segments if at < elapsed]
        new.approximate = old.approximate and bool(new.segments)
        heir.recording = new
        new.leader = heir
        heir.mode = Mode.LIVE
        if not new.random:
            self._watch_draws(heir)
        self._watch(heir, now_ps)

    @staticmethod
    def _stop_tick(partition: Partition) -> None:
        if partition.tick is not None:
            partition.tick.callbacks = DEAD
            partition.tick = None

    # --- playing recordings ---

    def _reserve(self, partition: Partition, recording: Recording) -> bool:
        """Take the recorded peaks from the switches' room below the calm level; False: no room."""
        if not recording.complete:
            peaks = self.book.assumed_peaks(partition)
        else:
            peaks = {}
            for label, port in enumerate(partition.ports):
                if port.switch is not None:
                    peaks[port.switch] = peaks.get(port.switch, 0) + recording.peak_bytes(label)
        for switch, peak in peaks.items():
            if switch.exact or 5 * (switch.held + peak) > 4 * switch.calm_level:
                self.stats.refused += 1
                return False
        for switch, peak in peaks.items():
            switch.held += peak
            partition.reserved.append((switch, peak))
        return True

    @staticmethod
    def _unreserve(partition: Partition) -> None:
        for switch, peak in partition.reserved:
            switch.held -= peak
        partition.reserved.clear()

    def _play(self, partition: Partition, recording: Recording, now_ps: int) -> None:
        partition.recording = recording
        partition.mode = Mode.PLAY
        partition.cursor = 0
        for member in partition.members:
            member.source = "replayed"
        if recording.complete:
            self.stats.hits += 1
            if recording.approximate:
                self.stats.hits_of_skipped += 1
        else:
            self.stats.followers += 1
            recording.followers.append(partition)
        self.stats.flows_replayed += len(partition.members)
        for listener in self._on_hit:
            listener(now_ps, tuple(m.index for m in partition.members), now_ps + recording.duration_ps)
        self._deliver(partition, now_ps)

    def _deliver(self, partition: Partition, now_ps: int) -> None:
        """Hand out what the recording says has happened by now; arm a tick for what comes next."""
        recording = partition.recording
        if recording is None or partition.mode is not Mode.PLAY:
            if recording is None or partition.mode is not Mode.ENDED or partition.unfinished == 0:
                return
        events = recording.events
        start = partition.start_ps
        while partition.cursor < len(events) and start + events[partition.cursor][0] <= now_ps:
            elapsed, position, kind, retransmitted = events[partition.cursor]
            partition.cursor += 1
            member = partition.members[position]
            if kind == RECEIVED:
                if not member.received:
                    member.received = True
                    member.rx_last_byte_ps = elapsed + start - member.start_ps
                    self.driver.received(member, now_ps)
            elif not member.finished:
                self._finish_member(member, now_ps, retransmitted)
        if partition.cursor < len(events):
            due = start + events[partition.cursor][0]
            tick = partition.tick
            if tick is None or tick.callbacks is None or tick.callbacks == DEAD:
                partition.tick = Tick(partition.id)
                self.env.push(due, TIMER | (1 << 31) | partition.id, partition.tick, (lambda _t: self._deliver(partition, self.env._now),))
        elif recording.complete:
            self._end_play(partition)

    def _end_play(self, partition: Partition) -> None:
        recording = partition.recording
        assert recording is not None
        self._unreserve(partition)
        if partition.frozen:
            self._drop_frozen(partition)
        elif partition.mode is Mode.PLAY:
            self._credit_totals(partition, recording)
        if partition.mode is Mode.PLAY:
            self._release(partition)

    def _credit_totals(self, partition: Partition, recording: Recording) -> None:
        for port, totals in zip(partition.ports, recording.totals, strict=True):
            extra = self._extra(port)
            for i in range(3):
                extra[i] += totals[i]
            extra[3] = max(extra[3], totals[3])

    # --- back to packets ---

    def bring_live(self, partition: Partition, now_ps: int, done_ps: int | None = None) -> None:
        """Give the partition the packet state it has now, whatever it was doing. done_ps: events up to
        then are done (now, unless the instant has just begun)."""
        done = now_ps if done_ps is None else done_ps
        if partition.mode is Mode.LIVE:
            self._abandon_recording(partition, now_ps, done)
            return
        self._stop_tick(partition)
        self._unreserve(partition)
        if partition.frozen:
            self._wake(partition, now_ps)
            self._abandon_recording(partition, now_ps, done)
        else:
            recording = partition.recording
            assert recording is not None
            if partition in recording.followers:
                recording.followers.remove(partition)
            self._resimulate(partition, now_ps, done, recording.random)
        partition.recording = None
        partition.mode = Mode.LIVE

    def thaw_all(self, now_ps: int) -> None:
        """Bring every partition to packets as of the beginning of this instant."""
        for partition in list(self.partitions.values()):
            self.bring_live(partition, now_ps, now_ps - 1)

    def regroup(self, now_ps: int) -> None:
        """Routes have changed: form all partitions anew."""
        members = [m for p in self.partitions.values() for m in p.active()]
        for partition in list(self.partitions.values()):
            self._release(partition)
        for part in components(sorted(members, key=lambda m: m.index), self.coarsen):
            self._watch(self._new_partition(part, now_ps, 0.0), now_ps)

    def _resimulate(self, partition: Partition, now_ps: int, done_ps: int, rewind: bool) -> None:
        before = self.env.executed
        self.muted = True
        try:
            materialise(self.motion, partition, done_ps, now_ps, rewind)
        finally:
            self.muted = False
        self.stats.resimulated += 1
        self.stats.events_resimulated += self.env.executed - before
        for member in partition.members:
            member.source = "simulated"

    def switch_exact(self, switch: Any) -> None:
        """A switch begins to account for every departure: what is frozen or played on it goes live."""
        now = self.env._now
        if self.muted:
            return
        touched = [p for p in self.partitions.values() if any(port.switch is switch for port in p.ports)]
        for partition in touched:
            partition.reserved = [(s, b) for s, b in partition.reserved if s is not switch]
        for partition in touched:
            if partition.mode in (Mode.SKIP, Mode.PLAY):
                self.bring_live(partition, now, now - 1)
                self._watch(partition, now)
            elif partition.mode is Mode.LIVE:
                self._abandon_recording(partition, now, now - 1)

    # --- steady states ---

    def _watch(self, partition: Partition, now_ps: int) -> None:
        """Let a policy look at a live partition from now on."""
        partition.policy = None
        if partition.policy_tick is not None:
            partition.policy_tick.callbacks = DEAD
            partition.policy_tick = None
        if self.make_policy is None or any(p.loss for p in partition.ports) or not partition.real_flows():
            return
        partition.disturbance = None
        info = partition_info(partition, self.motion.network.config.payload_bytes)
        partition.policy = self.make_policy(info, partition.id)
        if partition.policy is None:
            return
        partition.order = tuple(partition.active())
        self._arm_policy(partition, now_ps)

    def _arm_policy(self, partition: Partition, now_ps: int) -> None:
        tick = partition.policy_tick = Tick(partition.id)
        self.env.push(now_ps + partition.policy.interval_ps(), BETWEEN | partition.id, tick, (lambda _t: self._look(partition),))

    def _look(self, partition: Partition) -> None:
        now = self.env._now
        partition.policy_tick = None
        if partition.mode is not Mode.LIVE:
            return
        if len(partition.order) != partition.unfinished:
            if partition.recording is None and partition.unfinished > 1:
                parts = components(partition.active(), self.coarsen)
                if len(parts) > 1:
                    self._split(partition, parts, now)
                    return
            self._watch(partition, now)
            return
        plan = partition.policy.observe(take_sample(partition, now))
        if plan is None or not self._skip(partition, plan, now):
            self._arm_policy(partition, now)

    def _split(self, partition: Partition, parts: list[list[Member]], now_ps: int) -> None:
        debt = partition.debt
        self._release(partition)
        for part in parts:
            self._watch(self._new_partition(part, now_ps, debt), now_ps)

    def _skip(self, partition: Partition, plan: Any, now_ps: int) -> bool:
        """Carry out a plan; False if it does not pay or must not be."""
        flows = partition.real_flows()
        members = partition.active()
        if min(plan.bytes_per_ps) <= 0 or not may_freeze(partition.ports):
            return False
        rtt = max(f.base_rtt_ps for f in flows)
        unsent = min(unsent_ends_ps(f, r) for f, r in zip(flows, plan.bytes_per_ps, strict=True))
        rates = [0.0] * len(partition.members)
        for member, rate in zip(members, plan.bytes_per_ps, strict=True):
            rates[member.position] = rate
        ends, freed = finish_times([f.end_seq - f.snd_una for f in flows], plan.bytes_per_ps, self._one_bottleneck(flows))
        shortest = min(now_ps + e - f.start_ps for e, f in zip(ends, flows, strict=True))
        share = freed / shortest
        finish = now_ps + max(ends) <= plan.until_ps and share <= TAIL_SHARE and partition.debt + share <= TAIL_DEBT
        until = min(plan.until_ps, now_ps + int(unsent))
        if not finish and until - now_ps < 4 * rtt:
            return False
        partition.rates = tuple(rates)
        freeze(flows, partition.ports)
        partition.frozen, partition.frozen_ps = True, now_ps
        self.stats.skips += 1
        if finish:
            partition.debt += share
            self._finish_at_rates(partition, members, ends, now_ps, plan.error_bound + share)
            return True
        partition.mode = Mode.SKIP
        partition.tick = Tick(partition.id)
        self.env.push(until, BETWEEN | partition.id, partition.tick, (lambda _t: self._skip_ends(partition),))
        return True

    @staticmethod
    def _one_bottleneck(flows: list[Any]) -> bool:
        shared = set(flows[0].data_path)
        for flow in flows[1:]:
            shared &= set(flow.data_path)
        return bool(shared)

    def _finish_at_rates(self, partition: Partition, members: list[Member], ends: list[float], now_ps: int, bound_: float) -> None:
        """The end is known: from here on the partition plays what its rates say."""
        recording = partition.recording
        recorded = recording is not None
        if recording is None:
            recording = partition.recording = Recording(len(partition.members))
            recording.leader = partition
        resolution = self.motion.network.config.clock_resolution_ps
        events = []
        for member, end in zip(members, ends, strict=True):
            acked = max(1, round(end / resolution) * resolution)
            received = max(1, acked - member.ack_latency_ps(self._ack_bytes))
            at = now_ps - partition.start_ps
            if not member.received:
                events.append((at + received, member.position, RECEIVED, 0))
            events.append((at + acked, member.position, ACKED, member.flow.retransmitted_bytes))
            member.source = "skipped"
        partition.cursor = len(recording.events)
        recording.events.extend(sorted(events))
        recording.finish = now_ps - partition.start_ps, partition.rates
        recording.approximate, recording.error_bound = True, bound_
        partition.mode = Mode.PLAY
        self._credit_skip(partition, max(int(e) for e in ends))
        if recorded:
            self._complete_recording(partition)
        else:
            recording.complete = True
        self._deliver(partition, now_ps)

    def _credit_skip(self, partition: Partition, duration_ps: int) -> None:
        """Count what a skip stands for at the ports: full frames and their ACKs."""
        network = self.motion.network
        payload, frame = network.config.payload_bytes, network.frame_bytes
        every = network.config.ack_every_packets
        for member in partition.active():
            flow = member.flow
            frames = moved_bytes(flow, partition.rates[member.position], duration_ps) // payload
            for port in flow.data_path:
                extra = self._extra(port)
                extra[0] += frames * frame
                extra[1] += frames
            for port in flow.ack_path if network.config.acks == "in-band" else ():
                extra = self._extra(port)
                extra[0] += frames // every * network.ack_bytes
                extra[1] += frames // every

    def _skip_ends(self, partition: Partition) -> None:
        now = self.env._now
        partition.tick = None
        self._wake(partition, now)
        partition.mode = Mode.LIVE
        partition.policy.resumed(take_sample(partition, now))
        self._arm_policy(partition, now)

    def _wake(self, partition: Partition, now_ps: int) -> None:
        """Thaw a frozen partition: its flows have moved at their rates since it was frozen."""
        shift = now_ps - partition.frozen_ps
        members = partition.active()
        flows = [m.flow for m in members]
        if partition.mode is Mode.PLAY:
            # Counted to the end when it was foreseen; take back what will be simulated instead.
            self._uncount(partition, now_ps)
        else:
            self._credit_skip(partition, shift)
        credit(flows, [moved_bytes(m.flow, partition.rates[m.position], shift) for m in members])
        thaw(flows, partition.ports, shift)
        partition.frozen = False
        self.stats.skipped_ps += shift
        recording = partition.recording
        if recording is not None and recording.leader is partition and not recording.complete:
            recording.segments.append((partition.frozen_ps - partition.start_ps, shift, partition.rates))
            recording.approximate = True
        partition.disturbance = None
        for listener in self._on_skipped:
            listener(tuple(m.index for m in members), partition.frozen_ps, now_ps)

    def _uncount(self, partition: Partition, now_ps: int) -> None:
        recording = partition.recording
        assert recording is not None
        rest = partition.start_ps + recording.duration_ps - now_ps
        before = {port: list(self._extra(port)) for port in partition.ports}
        self._credit_skip(partition, max(0, rest))
        for port, old in before.items():
            extra = self._extra(port)
            for i in range(2):
                extra[i] = max(0, old[i] - (extra[i] - old[i]))

    def _drop_frozen(self, partition: Partition) -> None:
        """A partition that was finished at its rates: what it left in the network vanishes."""
        flows = [m.flow for m in partition.members if m.flow is not None]
        for flow in flows:
            self.motion.flows.pop(flow.index, None)
        purge(flows, partition.ports)
        partition.frozen = False
        for listener in self._on_skipped:
            listener(tuple(m.index for m in partition.members), partition.frozen_ps, self.env._now)

    # --- tails ---

    def _is_tail(self, partition: Partition, now_ps: int) -> bool:
        """Whether all that is left of a partition ends within a few RTTs and is known."""
        if partition.debt > TAIL_DEBT:
            return False
        members = partition.active()
        if partition.mode is Mode.LIVE:
            return all(m.received for m in members) and may_freeze(partition.ports)
        if partition.mode is Mode.PLAY:
            recording = partition.recording
            assert recording is not None
            rtt = max((m.plan.info.base_rtt_ps for m in members), default=0)
            if recording.complete:
                return partition.start_ps + recording.duration_ps <= now_ps + TAIL_RTTS * rtt
            return all(m.received for m in members)
        return False

    def _finish_along(self, partition: Partition, now_ps: int) -> None:
        """End a partition in its tail: its flows finish when they would, its ports are free at once."""
        self.stats.tails += 1
        if partition.mode is Mode.LIVE:
            self._foresee(partition, now_ps)
        elif not partition.recording.complete:  # type: ignore[union-attr]
            # It follows a leader in its tail; the leader's end is foreseen first.
            leader = partition.recording.leader  # type: ignore[union-attr]
            if leader is not None and leader.mode is Mode.LIVE:
                self._foresee(leader, now_ps)
                self._after_foresight(leader)
        self._after_foresight(partition)

    def _after_foresight(self, partition: Partition) -> None:
        recording = partition.recording
        assert recording is not None
        if partition.mode is Mode.ENDED:
            return
        if partition.frozen:
            self._drop_frozen(partition)
        elif recording.complete:
            self._credit_totals(partition, recording)
        self._unreserve(partition)
        tick, partition.tick = partition.tick, None
        self._release(partition)
        partition.tick = tick
        if partition.unfinished and (tick is None or tick.callbacks in (None, DEAD)):
            self._deliver(partition, self.env._now)

    def _foresee(self, partition: Partition, now_ps: int) -> None:
        """All receivers have their bytes: the last ACKs arrive as through empty queues."""
        recording = partition.recording
        recorded = recording is not None and recording.leader is partition
        if recording is None:
            recording = partition.recording = Recording(len(partition.members))
            recording.leader = partition
        start = partition.start_ps
        events = []
        for member in partition.active():
            due = member.start_ps + member.rx_last_byte_ps + member.ack_latency_ps(self._ack_bytes)
            events.append((max(due, now_ps + 1) - start, member.position, ACKED, member.flow.retransmitted_bytes))
        partition.cursor = len(recording.events)
        freeze(partition.real_flows(), partition.ports)
        partition.frozen, partition.frozen_ps = True, now_ps
        partition.mode = Mode.PLAY
        recording.events.extend(sorted(events))
        if recorded:
            recording.approximate = True
            self._complete_recording(partition)
        else:
            recording.complete = True
