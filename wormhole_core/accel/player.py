"""Playing a recording: admission, handing out its events, ending."""

from __future__ import annotations

from typing import Any

from ..sim.kernel import DEAD, Tick
from ..sim.order import TIMER
from .members import Mode, Partition
from .recording import RECEIVED, Recording


class Player:
    """Plays recordings for partitions of `controller`."""

    def __init__(self, controller: Any) -> None:
        self.controller = controller
        self.env = controller.env

    # --- room in the buffers ---

    def reserve(self, partition: Partition, recording: Recording) -> bool:
        """Take the recorded peaks from the switches' room below the calm level; False: no room.

        What is played is not in the buffers, so the sum of peaks must stay where neither a pause nor a
        drop could bite, with a margin of 1.25 (algorithm note, section 5)."""
        peaks: dict[Any, int] = {}
        for label, port in enumerate(partition.ports):
            if port.switch is not None:
                peaks[port.switch] = peaks.get(port.switch, 0) + recording.peak_bytes(label)
        if not all(fits(switch, peak) for switch, peak in peaks.items()):
            self.controller.stats.refused += 1
            return False
        for switch, peak in peaks.items():
            switch.held += peak
            partition.reserved[switch] = peak
        return True

    @staticmethod
    def unreserve(partition: Partition) -> None:
        """Give the room back."""
        for switch, peak in partition.reserved.items():
            switch.held -= peak
        partition.reserved.clear()

    # --- playing ---

    def play(self, partition: Partition, recording: Recording, now_ps: int) -> None:
        """From now on the partition does what the recording says; room has been reserved."""
        stats = self.controller.stats
        partition.recording = recording
        partition.mode = Mode.PLAY
        partition.cursor = 0
        for member in partition.members:
            member.source = "replayed"
        if recording.complete:
            stats.hits += 1
            stats.hits_of_skipped += recording.approximate
            stats.hits_of_random += recording.random
        else:
            stats.followers += 1
            recording.followers.append(partition)
        if self.controller.quantum_ps and not _same(partition, recording):
            stats.hits_approximate += 1
        stats.flows_replayed += len(partition.members)
        for listener in self.controller.on_hit:
            listener(now_ps, tuple(m.index for m in partition.members), now_ps + recording.duration_ps)
        self.deliver(partition, now_ps)

    def deliver(self, partition: Partition, now_ps: int) -> None:
        """Hand out what has happened by now; arm a tick for what comes next."""
        recording = partition.recording
        if recording is None or (partition.mode is not Mode.PLAY and not partition.detached):
            return
        driver = self.controller.driver
        events, start = recording.events, partition.start_ps
        while partition.cursor < len(events) and start + events[partition.cursor][0] <= now_ps:
            elapsed, position, kind, retransmitted = events[partition.cursor]
            partition.cursor += 1
            member = partition.members[position]
            if kind != RECEIVED:
                if not member.finished:
                    self.controller.finish_member(member, now_ps, retransmitted)
            elif not member.received:
                member.received = True
                member.rx_last_byte_ps = elapsed + start - member.start_ps
                driver.received(member, now_ps)
        if partition.cursor < len(events):
            self._arm(partition, start + events[partition.cursor][0])
        elif recording.complete and not partition.detached:
            self._end(partition, recording)

    def _arm(self, partition: Partition, due_ps: int) -> None:
        tick = partition.tick
        if tick is not None and tick.callbacks not in (None, DEAD):
            return
        partition.tick = Tick(partition.id)
        callbacks = (lambda _t: self.deliver(partition, self.env._now),)
        self.env.push(due_ps, TIMER | (1 << 31) | partition.id, partition.tick, callbacks)

    def _end(self, partition: Partition, recording: Recording) -> None:
        self.unreserve(partition)
        self.clear_ports(partition, recording)
        self.controller.release(partition)

    def clear_ports(self, partition: Partition, recording: Recording) -> None:
        """The episode is over as far as its ports go: count it, and remove what was frozen in them."""
        if partition.frozen:
            self.controller.skipper.drop_frozen(partition)
        else:
            self.controller.ledger.credit_recording(partition.ports, recording)
            self.controller.ledger.note_replayed(partition.members, recording)

    def detach(self, partition: Partition) -> None:
        """The partition's flows still finish as recorded, but its ports are free from now on."""
        recording = partition.recording
        assert recording is not None and recording.complete
        if partition.mode is Mode.ENDED:
            return
        self.unreserve(partition)
        self.clear_ports(partition, recording)
        self.controller.release(partition, keep_tick=True)
        partition.detached = True
        if partition.unfinished:
            self.deliver(partition, self.env._now)


def _same(partition: Partition, recording: Recording) -> bool:
    """Whether what is played is exactly what was recorded: the same sizes, all flows ready at once."""
    sizes = tuple(m.transfer.size_bytes for m in partition.members)
    return sizes == recording.sizes and len({m.start_ps for m in partition.members}) == 1 and recording.together


def fits(switch: Any, more_bytes: int) -> bool:
    """Whether a switch stays calm with a margin of 1.25 if it held so much more."""
    return not switch.exact and 5 * (switch.held + more_bytes) <= 4 * switch.calm_level
