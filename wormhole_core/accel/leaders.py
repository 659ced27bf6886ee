"""Recording a live episode, and identical episodes alive at once: one leads, the others follow.

A follower started with or after its leader, so whatever the recording says of an elapsed time is
known before the follower gets there. It is not in the network: room for the leader's queues is taken
on its switches as they grow (`queue_grew`). When a leader is interrupted, or an episode turns out to
use random numbers, followers are taken to packets by private re-simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ..rng import Stream
from ..units import PS_PER_S
from .conflict_graph import shape_of
from .members import Member, Mode, Partition
from .player import fits
from .recording import Recording

FIRST_ROOM_BYTES = 2_304
"""Room first taken for each port's queue; it doubles as the leader's queue grows beyond it."""


class FirstDraw(Stream):
    """A port's marking stream that tells once when it is drawn from."""

    __slots__ = ("port", "tell")

    def __init__(self, port: Any, tell: Callable[[], None]) -> None:
        super().__init__(port.draws.key, port.draws.counter)
        self.port, self.tell = port, tell

    def uniform(self) -> float:
        """The next number, from a plain stream that takes this one's place."""
        plain = self.port.draws = Stream(self.key, self.counter)
        self.tell()
        return plain.uniform()


class FlowStream(Stream):
    """A flow's stream for its congestion control; while its partition leads, drawing makes that known."""

    __slots__ = ("leaders", "member")

    def __init__(self, key: int, leaders: Leaders, member: Member) -> None:
        super().__init__(key)
        self.leaders, self.member = leaders, member

    def bits(self) -> int:
        """The next number."""
        self.leaders.first_draw(self.member.partition)
        return super().bits()


class Leaders:
    """Recordings that grow, for partitions of `controller`."""

    def __init__(self, controller: Any) -> None:
        self.controller = controller
        self.book = controller.book
        self.env = controller.env

    # --- recording ---

    def begin(self, partition: Partition, key: bytes) -> None:
        """Record the partition, which starts now, under its key."""
        partition.key = key
        self.controller.ledger.open(partition)
        self._lead(partition, self.book.begin(key, len(partition.members)))
        recording = partition.recording
        assert recording is not None
        recording.streams = stream_states(partition.ports)
        recording.flow_streams = self._stream_keys(partition)
        recording.sizes = tuple(m.transfer.size_bytes for m in partition.members)
        recording.together = len({m.start_ps for m in partition.members}) == 1
        self._watch_draws(partition)

    def _lead(self, partition: Partition, recording: Recording) -> None:
        partition.recording = recording
        recording.leader = partition
        network = self.controller.motion.network
        unseen = growth_unseen(partition, network.frame_bytes, network.ack_bytes)
        recording.room = [0] * len(partition.ports)
        for label, port in enumerate(partition.ports):
            if port.switch is not None:
                port.watch_level = FIRST_ROOM_BYTES
                while port.watch_level < port.max_queue:
                    port.watch_level *= 2
                recording.room[label] = port.watch_level + unseen[label]
                port.watcher = lambda p, label=label: self.queue_grew(partition, label, p)

    def is_leading(self, partition: Partition) -> bool:
        """Whether the partition's recording is its own and still grows."""
        recording = partition.recording
        return recording is not None and recording.leader is partition and not recording.complete

    def record(self, member: Member, now_ps: int, kind: int) -> None:
        """Something happened to a flow of a live partition."""
        partition = member.partition
        if not self.is_leading(partition):
            return
        recording = partition.recording
        recording.events.append((now_ps - partition.start_ps, member.position, kind, member.retransmitted_bytes))
        for follower in list(recording.followers):
            self.controller.player.deliver(follower, now_ps)

    def complete(self, partition: Partition) -> None:
        """The end of a growing recording is known."""
        recording = partition.recording
        assert recording is not None and partition.key is not None
        self.controller.ledger.close(partition, recording)
        recording.complete = True
        recording.leader = None
        recording.shape = shape_of(partition.members, partition.ports)
        self._unwatch_queues(partition)
        self.book.store(partition.key, recording)
        followers, recording.followers = recording.followers, []
        for follower in followers:
            self.controller.player.deliver(follower, self.env._now)

    # --- followers ---

    def follow(self, partition: Partition, recording: Recording, now_ps: int) -> bool:
        """Follow a growing recording; False if there is no room for its queues so far."""
        rooms: dict[Any, int] = {}
        for port, room in zip(partition.ports, recording.room, strict=True):
            if room:
                rooms[port.switch] = rooms.get(port.switch, 0) + room
        if not all(fits(switch, room) for switch, room in rooms.items()):
            self.controller.stats.refused += 1
            return False
        for switch, room in rooms.items():
            switch.held += room
            partition.reserved[switch] = room
        self.controller.player.play(partition, recording, now_ps)
        return True

    def queue_grew(self, leader: Partition, label: int, port: Any) -> None:
        """A queue of a leader outgrew the room its followers have for it."""
        recording = leader.recording
        if recording is None or recording.leader is not leader:
            port.watch_level = 1 << 62
            return
        level = port.watch_level
        while port.watch_level < port.max_queue:
            port.watch_level *= 2
        more = port.watch_level - level
        recording.room[label] += more
        now = self.env._now
        for follower in list(recording.followers):
            switch = follower.ports[label].switch
            switch.held += more
            follower.reserved[switch] = follower.reserved.get(switch, 0) + more
            if not fits(switch, 0) and follower.mode is Mode.PLAY:
                self.controller.bring_live(follower, now, now - 1)
                self.controller.skipper.watch(follower, now)

    def abandon(self, partition: Partition, now_ps: int, done_ps: int) -> None:
        """A live partition is interrupted: if it led, the first follower goes on in its place."""
        leading = self.is_leading(partition)
        recording, partition.recording = partition.recording, None
        if not leading:
            return
        assert recording is not None and partition.key is not None
        self._unwatch_queues(partition)
        self.book.drop(partition.key, recording)
        recording.leader = None
        followers, recording.followers = recording.followers, []
        if followers:
            heir, others = followers[0], followers[1:]
            heir.key = partition.key
            new = self.book.begin(heir.key, recording.flows)
            new.random, new.streams, new.flow_streams = recording.random, recording.streams, recording.flow_streams
            new.sizes, new.together = recording.sizes, recording.together
            for other in others:
                other.recording = new
                new.followers.append(other)
            self._promote(heir, recording, new, now_ps, done_ps)

    def _promote(self, heir: Partition, old: Recording, new: Recording, now_ps: int, done_ps: int) -> None:
        """A follower becomes a leader: simulate it privately up to done_ps and go on live, recording
        into `new` what `old` has up to then and what comes."""
        elapsed = done_ps - heir.start_ps
        controller = self.controller
        controller.stop_tick(heir)
        controller.player.unreserve(heir)
        heir.recording = old
        controller.ledger.open(heir)
        rewind = old.random and bool(new.streams)
        if not new.streams:
            new.streams = stream_states(heir.ports)
            new.flow_streams = self._stream_keys(heir)
        controller.resimulate(heir, now_ps, done_ps, rewind)
        new.events = [event for event in old.events if event[0] <= elapsed]
        new.segments = [(at, min(span, elapsed - at), rates) for at, span, rates in old.segments if at < elapsed]
        new.approximate = old.approximate and bool(new.segments)
        heir.mode = Mode.LIVE
        self._lead(heir, new)
        if not new.random:
            self._watch_draws(heir)
        controller.skipper.watch(heir, now_ps)

    @staticmethod
    def _unwatch_queues(partition: Partition) -> None:
        for port in partition.ports:
            port.watch_level = 1 << 62
            port.watcher = None

    # --- random numbers ---

    def flow_stream(self, member: Member, key: int | None = None) -> FlowStream:
        """The stream for a flow's congestion control, its own or the one with this key."""
        return FlowStream(self._stream_key(member) if key is None else key, self, member)

    def _stream_key(self, member: Member) -> int:
        return int(self.controller.motion.network.cca_stream(member.index).key)

    def _stream_keys(self, partition: Partition) -> list[int]:
        return [self._stream_key(member) for member in partition.members]

    def _watch_draws(self, partition: Partition) -> None:
        for port in partition.ports:
            if port.draws is not None:
                port.draws = FirstDraw(port, lambda: self.first_draw(partition))

    def first_draw(self, partition: Partition) -> None:
        """The episode uses random numbers, so it is one of several variants, and those that follow it
        but belong to another variant get a leader of their own. (The frame that made the draw left in
        the past, but nothing of it was seen yet: followers are taken to the instant before and draw
        for themselves.)"""
        if not self.is_leading(partition) or partition.recording.random:  # type: ignore[union-attr]
            return
        recording, base = partition.recording, partition.key
        assert recording is not None and base is not None
        now = self.env._now
        partition.key = self.book.make_random(base, recording)
        followers, recording.followers = recording.followers, []
        for follower in followers:
            follower.key, other = self.book.look_up(base, follower)
            if other is None:
                new = self.book.begin(follower.key, recording.flows)
                new.random = True
                new.sizes, new.together = recording.sizes, recording.together
                self._promote(follower, recording, new, now, now - 1)
            else:
                follower.recording = other
                self.controller.stats.hits_of_random += 1
                if other.complete:
                    self.controller.player.deliver(follower, now)
                else:
                    other.followers.append(follower)


def growth_unseen(partition: Partition, frame_bytes: int, ack_bytes: int) -> list[int]:
    """By how much each queue may have grown since the frame whose arrival told its length began to
    leave: what its feeders bring meanwhile, less what it sends. A feeder of nothing but ACKs brings as
    much less as ACKs are smaller than frames."""
    data: dict[Any, set[Any]] = {}
    acks: dict[Any, set[Any]] = {}
    for member in partition.members:
        for path, feeders in ((member.plan.path, data), (member.ports[len(member.plan.path) :], acks)):
            for feeder, port in pairwise(path):
                feeders.setdefault(port, set()).add(feeder)
    unseen = []
    for port in partition.ports:
        of_data = data.get(port, set())
        of_acks = acks.get(port, set()) - of_data
        rate_bps = sum(p.rate_bps for p in of_data) + sum(p.rate_bps for p in of_acks) * ack_bytes // frame_bytes
        span_ps = port.delay_ps + port.tx_of[frame_bytes]
        growth = max(0, rate_bps - port.rate_bps) * span_ps // (8 * PS_PER_S)
        unseen.append(0 if port.switch is None else growth + len(of_data) * frame_bytes + len(of_acks) * ack_bytes)
    return unseen


def stream_states(ports: list[Any]) -> list[tuple[int, int] | None]:
    """Where the ports' marking streams are."""
    return [None if p.draws is None else (p.draws.key, p.draws.counter) for p in ports]
