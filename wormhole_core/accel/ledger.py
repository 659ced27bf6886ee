"""What was not simulated: per port, per byte, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..sim.packet import DATA
from .members import Member, Mode, Partition
from .recording import Recording
from .steady import moved_bytes


class Ledger:
    """Per port: [bytes, frames, marks, largest queue] to be added to what it counted itself."""

    def __init__(self, network: Any, counters: Any) -> None:
        self.extra: dict[Any, list[int]] = {}
        self.bytes_skipped = self.bytes_replayed = self.bytes_replayed_of_skipped = 0
        self._counters = counters
        self._doubt_bytes = 0.0
        self._classes: dict[str, int] = {}
        self._reasons: dict[str, int] = {}
        config = network.config
        self._payload, self._frame, self._ack = config.payload_bytes, network.frame_bytes, network.ack_bytes
        self._ack_every, self._in_band = config.ack_every_packets, config.acks == "in-band"

    def of(self, port: Any) -> list[int]:
        """The entry of a port."""
        return self.extra.setdefault(port, [0, 0, 0, 0])

    @property
    def frames(self) -> int:
        """Frame-hops that were not simulated."""
        return sum(entry[1] for entry in self.extra.values())

    # --- what to tell ---

    def note_policy(self, partition: Partition) -> None:
        """A policy watches a partition."""
        count = partition.unfinished
        size = (
            "1 flow"
            if count == 1
            else "2 to 8 flows"
            if count <= 8
            else "9 to 64 flows"
            if count <= 64
            else "over 64 flows"
        )
        name = f"{size}: {type(partition.policy).__name__}"
        self._classes[name] = self._classes.get(name, 0) + 1

    def note_doubt(self, payload_bytes: int, bound: float) -> None:
        """So many bytes were moved in a way that stands for this relative error."""
        self._doubt_bytes += payload_bytes * bound

    def note_reason(self, partition: Partition) -> None:
        """A policy's watch ends; if it never skipped and says why (attribute `reason`), remember that."""
        reason = getattr(partition.policy, "reason", "")
        if reason and not partition.doubt and not partition.frozen:
            self._reasons[reason] = self._reasons.get(reason, 0) + 1

    def reasons(self) -> dict[str, int]:
        """Why partitions were not skipped -> how many, most frequent first."""
        return dict(sorted(self._reasons.items(), key=lambda entry: (-entry[1], entry[0])))

    def classes(self) -> dict[str, int]:
        """Policy per class of partition -> how many it watched."""
        return dict(sorted(self._classes.items()))

    def estimated_error(self) -> float:
        """What the policies stand for, as a share of all bytes finished."""
        return self._doubt_bytes / max(1, self._counters.bytes_finished)

    def shares(self) -> dict[str, float]:
        """Shares of the bytes finished: simulated, skipped, replayed, replayed from recordings that
        were themselves in part skipped."""
        total = self._counters.bytes_finished
        if not total:
            return dict.fromkeys(("simulated", "skipped", "replayed", "replayed_of_skipped"), 0.0)
        skipped, replayed = self.bytes_skipped / total, self.bytes_replayed / total
        return {
            "simulated": max(0.0, 1 - skipped - replayed), "skipped": skipped, "replayed": replayed,
            "replayed_of_skipped": self.bytes_replayed_of_skipped / total,
        }  # fmt: skip

    # --- ports ---

    def open(self, partition: Partition) -> None:
        """Remember where the partition's ports stand; largest queues count anew."""
        partition.labels = []
        for port in partition.ports:
            entry = self.of(port)
            entry[3] = max(entry[3], port.max_queue)
            port.max_queue = 0
            partition.labels.append(
                (port.tx_bytes + entry[0], port.tx_frames + entry[1], port.marks + entry[2], port.tx_frames)
            )

    def close(self, partition: Partition, recording: Recording) -> None:
        """Write what passed since `open` into the recording."""
        recording.totals = []
        for port, base in zip(partition.ports, partition.labels, strict=True):
            entry = self.of(port)
            recording.totals.append(
                (
                    port.tx_bytes + entry[0] - base[0],
                    port.tx_frames + entry[1] - base[1],
                    port.marks + entry[2] - base[2],
                    port.max_queue,
                )
            )
            recording.hops += port.tx_frames - base[3]

    def credit_recording(self, ports: Sequence[Any], recording: Recording) -> None:
        """A whole recording was played on these ports."""
        for port, totals in zip(ports, recording.totals, strict=True):
            entry = self.of(port)
            for i in range(3):
                entry[i] += totals[i]
            entry[3] = max(entry[3], totals[3])

    def note_replayed(self, members: Iterable[Member], recording: Recording) -> None:
        """These flows finished as recorded."""
        total = sum(m.transfer.size_bytes for m in members)
        self.bytes_replayed += total
        if recording.approximate:
            self.bytes_replayed_of_skipped += total
            self.note_doubt(total, recording.error_bound)

    def credit_skip(self, members: Iterable[Member], rates: Sequence[float], duration_ps: int, sign: int = 1) -> int:
        """Flows moved at their rates for a while: full frames and their ACKs passed their ports, marked as
        often as lately. sign -1 takes it back. Returns the payload bytes."""
        moved = 0
        for member in members:
            flow, marked = member.flow, member.partition.mark_share
            payload = moved_bytes(flow, rates[member.position], duration_ps)
            moved += payload
            frames = payload // self._payload * sign
            for port in flow.data_path:
                entry = self.of(port)
                entry[0] += frames * self._frame
                entry[1] += frames
                if port in marked:
                    entry[2] += int(frames * marked[port])
            acks = frames // self._ack_every if sign > 0 else -(-frames // self._ack_every)
            for port in flow.ack_path if self._in_band else ():
                entry = self.of(port)
                entry[0] += acks * self._ack
                entry[1] += acks
        return moved * sign

    def credit_in_flight(self, ports: Iterable[Any], sign: int = 1) -> None:
        """Frames of a frozen partition pass what lies before them, and so do their ACKs. sign -1 takes
        it back."""
        acks: dict[Any, int] = {}
        for port in ports:
            for packet in (*port.fifo, *port.waiting):
                for later in packet.path[packet.hop :]:
                    entry = self.of(later)
                    entry[0] += sign * packet.size
                    entry[1] += sign
                if packet.kind == DATA:
                    acks[packet.flow] = acks.get(packet.flow, 0) + 1
        for flow, frames in acks.items():
            count = -(-frames // self._ack_every) * sign
            for port in flow.ack_path if self._in_band else ():
                entry = self.of(port)
                entry[0] += count * self._ack
                entry[1] += count


def unfinished_bytes(controller: Any, now_ps: int) -> int:
    """Bytes that partitions which are skipped or played at present have moved beyond what their packets
    say, for progress."""
    moved = 0
    for partition in controller.partitions.values():
        if partition.frozen:
            for member in partition.active():
                rate = partition.rates[member.position]
                moved += moved_bytes(member.flow, rate, now_ps - partition.frozen_ps)
        elif partition.mode is Mode.PLAY:
            recording = partition.recording
            span = max(1, recording.duration_ps if recording.complete else now_ps - partition.start_ps + 1)
            share = min(1.0, (now_ps - partition.start_ps) / span)
            moved += int(share * sum(m.transfer.size_bytes for m in partition.active()))
    return moved


def events_avoided(events: int, frame_hops: int, represented: int) -> int:
    """Estimate of the events that simulating everything would have taken besides: as many per frame-hop
    as were needed for those simulated (1.3 where none was)."""
    per_hop = events / frame_hops if frame_hops else 1.3
    return round((represented - frame_hops) * per_hop)
