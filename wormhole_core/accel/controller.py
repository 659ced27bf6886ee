"""The one place that decides: simulate, follow, replay or skip.

Once per instant in which flows start, `commit` groups them with the partitions whose ports they use.
A partition that is touched ends: it is brought to the packet state it has at that instant
(`bring_live`), or, when its flows are as good as done, finished along its course (`tails.py`). A group
that starts on quiet ports is a fresh episode: known ones are played (`player.py`), identical ones
alive at once follow the first (`leaders.py`), new ones are simulated and recorded. Live partitions
are watched for steady states (`skipper.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..contracts.observer import Observer
from ..sim.driver import bound
from ..sim.kernel import DEAD, Tick
from ..sim.network import FlowPlan
from ..sim.order import LATE
from .book import Book, Statistics
from .key import Episode, Starts
from .leaders import Leaders
from .ledger import Ledger
from .materialise import materialise
from .members import Member, Mode, Partition
from .partitions import components, grouped
from .player import Player
from .recording import ACKED, RECEIVED
from .skipper import TAIL_DEBT, Skipper
from .tails import Tails


class Controller:
    """Owns the partitions of a run.

    make_policy(info, number): a fast-forward policy for an episode; None: never skip. book: the memo.
    coarsen(ports): extra resources of a flow (partitioner). tails: finish flows along their course
    where the rest is small; off, a hit gives to the bit what simulating would have given. quantum_ps:
    approximate matching; flows that are ready within so much of each other start together, and
    recordings serve sizes of the same number of packets (0: exact matching).
    """

    def __init__(
        self,
        motion: Any,
        driver: Any,
        book: Book,
        make_policy: Callable[[Any, int], Any] | None,
        coarsen: Callable[[Any], Iterable[Any]] | None,
        observers: Sequence[Observer],
        tails: bool = True,
        quantum_ps: int = 0,
    ) -> None:
        self.motion, self.driver, self.book = motion, driver, book
        self.coarsen, self.tails, self.quantum_ps = coarsen, tails, quantum_ps
        self.env = motion.env
        self.stats = Statistics()
        self.owners: dict[Any, Partition] = {}
        self.partitions: dict[int, Partition] = {}
        self.on_formed = bound(observers, "partition_formed")
        self.on_hit = bound(observers, "memo_hit")
        self.on_skipped = bound(observers, "skipped")
        self.ledger = Ledger(motion.network, driver.counters)
        self.player = Player(self)
        self.leaders = Leaders(self)
        self.skipper = Skipper(self, make_policy)
        self.tail_rule = Tails(self)
        self.busy: Any = None
        """Keeps busy periods for the audit (`busy.py`), if there is to be one."""
        self.starts = Starts(book.dynamics, motion.network.config.payload_bytes if quantum_ps else 1, coarsen)
        self._arrivals: list[Member] = []
        self._holding = False
        self._muted = False
        self._number = 0
        for switch in motion.switches.values():
            switch.on_exact = self._switch_exact

    @property
    def extra(self) -> dict[Any, list[int]]:
        """Per port what was not simulated (`Ledger.extra`)."""
        return self.ledger.extra

    def moves_by_itself(self) -> bool:
        """Whether something is skipped or played, so that time passes without packets."""
        return any(p.mode in (Mode.SKIP, Mode.PLAY) for p in self.partitions.values())

    # --- told by the motion and the driver ---

    def start_flow(self, plan: FlowPlan, now_ps: int) -> None:
        """A flow starts at the end of this instant."""
        self._arrivals.append(Member(plan, now_ps))

    def received(self, flow: Any, now_ps: int) -> None:
        """A simulated flow's receiver has its last byte."""
        member = flow.partition
        if not member.received:
            member.received = True
            member.rx_last_byte_ps = flow.rx_last_byte_ps + flow.start_ps - member.start_ps
            if not self._muted:
                self.driver.received(member, now_ps)
        if not self._muted:
            # Also what was told in this very instant, before the flow was taken back to packets.
            self.leaders.record(member, now_ps, RECEIVED)

    def completed(self, flow: Any, now_ps: int) -> None:
        """A simulated flow's sender has its last ACK."""
        member = flow.partition
        if self._muted:
            return
        if not member.finished:
            self.finish_member(member, now_ps, flow.retransmitted_bytes)
        self.leaders.record(member, now_ps, ACKED)
        partition = member.partition
        if not partition.unfinished and partition.mode is Mode.LIVE:
            if self.leaders.is_leading(partition):
                self.leaders.complete(partition)
            self.release(partition)

    def finish_member(self, member: Member, now_ps: int, retransmitted_bytes: int) -> None:
        """A flow is done, simulated or not."""
        member.finished = True
        member.retransmitted_bytes = retransmitted_bytes
        member.partition.unfinished -= 1
        self.driver.completed(member, now_ps)

    # --- the late batch ---

    def commit(self, now_ps: int) -> None:
        """Form the partitions of the flows that start in this instant (or, with approximate matching,
        within a quantum)."""
        if not self.quantum_ps:
            self._commit(now_ps)
        elif self._arrivals and not self._holding:
            self._holding = True
            until = now_ps + self.quantum_ps
            self.env.push(until, LATE | 1, Tick(), (lambda _t: self._commit_held(until),))

    def _commit_held(self, now_ps: int) -> None:
        self._holding = False
        self._commit(now_ps)

    def _commit(self, now_ps: int) -> None:
        arrivals, self._arrivals = self._arrivals, []
        for members, touched in grouped(arrivals, self.owners, self.coarsen):
            self._form(members, touched, now_ps)

    def _form(self, members: list[Member], touched: list[Partition], now_ps: int) -> None:
        # A group before this one may have ended a partition that leads or follows one of its own.
        touched = [p for p in touched if p.mode is not Mode.ENDED]
        debt = max((p.debt for p in touched), default=0.0)
        if self.book.enabled and (not touched or self._all_tails(touched, debt, now_ps)):
            episodes = self.starts.episodes(members)
            if not touched or all([self.book.worth_a_tail(episode.key) for _, episode in episodes]):
                for partition in touched:
                    self.tail_rule.finish_along(partition, now_ps)
                for part, episode in episodes:
                    self._start_fresh(part, episode, now_ps, debt)
                return
        for partition in touched:
            self.bring_live(partition, now_ps)
            members = members + partition.active()
        for partition in touched:
            self.release(partition)
        for part in components(sorted(members, key=lambda m: m.index), self.coarsen):
            self._start_live(self.new_partition(part, now_ps, debt), now_ps)

    def _all_tails(self, touched: list[Partition], debt: float, now_ps: int) -> bool:
        return self.tails and debt <= TAIL_DEBT and all(self.tail_rule.is_tail(p, now_ps) for p in touched)

    def _start_fresh(self, members: list[Member], episode: Episode, now_ps: int, debt: float) -> None:
        """Flows that start together on ports nobody uses: known, being recorded, or new."""
        partition = self.new_partition(members, now_ps, debt, episode.ports)
        if all(_is_quiet(port, now_ps) for port in episode.ports) and not any(p.loss for p in episode.ports):
            key, recording = self.book.look_up(episode.key, partition)
            if recording is not None and recording.complete:
                if self.player.reserve(partition, recording):
                    self.player.play(partition, recording, now_ps)
                    return
            elif recording is not None:
                if self.leaders.follow(partition, recording, now_ps):
                    return
            elif key is not None:
                self.leaders.begin(partition, key)
        self._start_live(partition, now_ps)

    def _start_live(self, partition: Partition, now_ps: int) -> None:
        """Simulate: flows that do not exist yet start now."""
        for member in partition.members:
            if member.flow is None:
                member.flow = self.motion.network.build_flow(member.plan, now_ps, self.leaders.flow_stream(member))
                member.flow.partition = member
                self.motion.start_flow(member.flow)
        self.skipper.watch(partition, now_ps)

    # --- partitions ---

    def new_partition(
        self, members: list[Member], now_ps: int, debt: float, ports: list[Any] | None = None
    ) -> Partition:
        """A partition that owns its members' ports from now on."""
        if ports is None:
            ports = list(dict.fromkeys(port for m in members for port in m.ports))
        self._number += 1
        partition = Partition(self._number, members, ports, now_ps)
        partition.debt = debt
        self.partitions[partition.id] = partition
        self.stats.episodes += 1
        if self.busy is not None:
            self.busy.formed(members)
        partition.resources = self._resources(partition)
        for resource in partition.resources:
            self.owners[resource] = partition
        for listener in self.on_formed:
            listener(now_ps, tuple(m.index for m in members))
        return partition

    def _resources(self, partition: Partition) -> list[Any]:
        if self.coarsen is None:
            return partition.ports
        return [*partition.ports, *(r for m in partition.members for r in self.coarsen(m.ports))]

    def release(self, partition: Partition, keep_tick: bool = False) -> None:
        """The partition owns nothing any more."""
        for resource in partition.resources:
            if self.owners.get(resource) is partition:
                del self.owners[resource]
        if not keep_tick:
            self.stop_tick(partition)
        if partition.policy_tick is not None:
            partition.policy_tick.callbacks = DEAD
            partition.policy_tick = None
        self.ledger.note_reason(partition)
        partition.mode = Mode.ENDED
        self.partitions.pop(partition.id, None)

    @staticmethod
    def stop_tick(partition: Partition) -> None:
        """Nothing wakes the partition any more."""
        if partition.tick is not None:
            partition.tick.callbacks = DEAD
            partition.tick = None

    # --- back to packets ---

    def bring_live(self, partition: Partition, now_ps: int, done_ps: int | None = None) -> None:
        """Give the partition the packet state it has now, whatever it was doing. done_ps: events up to
        then are done (now, unless the instant has just begun)."""
        done = now_ps if done_ps is None else done_ps
        if partition.mode is Mode.LIVE:
            self.leaders.abandon(partition, now_ps, done)
            return
        self.stop_tick(partition)
        self.player.unreserve(partition)
        if partition.frozen:
            self.skipper.wake(partition, now_ps)
            self.leaders.abandon(partition, now_ps, done)
        else:
            recording = partition.recording
            assert recording is not None
            if partition in recording.followers:
                recording.followers.remove(partition)
            self.resimulate(partition, now_ps, done, recording.random)
        partition.recording = None
        partition.mode = Mode.LIVE

    def resimulate(self, partition: Partition, now_ps: int, done_ps: int, rewind: bool) -> None:
        """Simulate a partition privately from its start (materialise.py)."""
        before = self.env.executed
        self._muted = True
        try:
            materialise(self.motion, partition, done_ps, now_ps, rewind, self.leaders.flow_stream)
        finally:
            self._muted = False
        self.stats.resimulated += 1
        self.stats.events_resimulated += self.env.executed - before
        for member in partition.members:
            member.source = "simulated"

    def _switch_exact(self, switch: Any) -> None:
        """A switch begins to account for every departure: what is frozen or played on it goes live."""
        if self._muted:
            return
        now = self.env._now
        touched = [p for p in self.partitions.values() if any(port.switch is switch for port in p.ports)]
        for partition in touched:
            # The switch counts anew what it holds; what was reserved is not part of that.
            switch.held -= partition.reserved.pop(switch, 0)
        for partition in touched:
            if partition.mode in (Mode.SKIP, Mode.PLAY):
                self.bring_live(partition, now, now - 1)
                self.skipper.watch(partition, now)
            elif partition.mode is Mode.LIVE:
                self.leaders.abandon(partition, now, now - 1)

    def thaw_all(self, now_ps: int) -> None:
        """Bring every partition to packets as of the beginning of this instant."""
        for partition in list(self.partitions.values()):
            self.bring_live(partition, now_ps, now_ps - 1)

    def regroup(self, now_ps: int) -> None:
        """Routes have changed: form all partitions anew."""
        members = [m for p in self.partitions.values() for m in p.active()]
        for partition in list(self.partitions.values()):
            self.release(partition)
        for part in components(sorted(members, key=lambda m: m.index), self.coarsen):
            self.skipper.watch(self.new_partition(part, now_ps, 0.0), now_ps)


def _is_quiet(port: Any, now_ps: int) -> bool:
    """Whether a port is as if never used, so that an episode may start fresh on it."""
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
