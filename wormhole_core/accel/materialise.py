"""Reaching the packet state of a partition that was not simulated: private re-simulation.

An episode is a function of its start. So a partition that was replayed from a recording, and is
interrupted, is simulated from its start up to the instant, in an environment of its own and on its
own ports (nobody else uses them), with the stretches skipped that were skipped in the recording. The
result is what would have been there had it been simulated all along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..rng import Stream
from ..sim.event.freeze import credit, freeze, set_environment, thaw
from ..sim.kernel import KernelEnvironment
from .members import Member, Partition
from .steady import moved_bytes

ALL = 1 << 62


def materialise(
    motion: Any,
    partition: Partition,
    until_ps: int,
    now_ps: int,
    rewind: bool,
    flow_stream: Callable[[Member, int | None], Stream],
) -> None:
    """Build the partition's flows and packets as of until_ps (events of that instant done) and leave
    their events in the real heap, where the time is now_ps >= until_ps.

    rewind: use the recording's random numbers again. flow_stream(member, key): the stream of a flow's
    congestion control, with that key if it is not None. The caller mutes the motion's callbacks.
    """
    recording, ports = partition.recording, partition.ports
    assert recording is not None
    env = KernelEnvironment()
    env._now = partition.start_ps
    saved = _calm_switches(ports)
    real_env, motion.env = motion.env, env
    set_environment((), ports, env)
    if rewind:
        _rewind_streams(recording, ports)
    for member in partition.members:
        key = recording.flow_streams[member.position] if rewind and recording.flow_streams else None
        member.flow = motion.network.build_flow(member.plan, partition.start_ps, flow_stream(member, key))
        member.flow.partition = member
        motion.start_flow(member.flow)
    stretches = list(recording.segments)
    if recording.finish is not None:
        stretches.append((recording.finish[0], ALL, recording.finish[1]))
    for elapsed, duration, rates in stretches:
        begin = partition.start_ps + elapsed
        if begin >= until_ps:
            break
        env.advance(ALL, begin)
        skip = min(duration, until_ps - begin)
        flows = [(m, rates[m.position]) for m in partition.members if not m.flow.finished]
        freeze((m.flow for m, _ in flows), ports)
        credit([m.flow for m, _ in flows], [moved_bytes(m.flow, rate, skip) for m, rate in flows])
        env._now = begin + skip
        thaw((m.flow for m, _ in flows), ports, skip)
    env.advance(ALL, until_ps)
    alive = [m.flow for m in partition.members if not m.flow.finished]
    freeze(alive, ports)
    set_environment(alive, ports, real_env)
    motion.env = real_env
    real_env.executed += env.executed
    _restore_switches(saved, ports, now_ps)
    thaw(alive, ports, 0)


def _calm_switches(ports: list[Any]) -> list[tuple[Any, bool, int]]:
    """Switch off the buffer's exact mode meanwhile: the recording was made in calm switches."""
    saved = []
    for switch in {p.switch for p in ports if p.switch is not None}:
        saved.append((switch, switch.exact, switch.calm_bytes))
        switch.exact, switch.calm_bytes = False, ALL
    return saved


def _restore_switches(saved: list[tuple[Any, bool, int]], ports: list[Any], now_ps: int) -> None:
    for switch, exact, calm_bytes in saved:
        switch.exact, switch.calm_bytes = exact, calm_bytes
        if exact:
            for port in ports:
                if port.switch is switch:
                    switch.adopt(port, now_ps)


def _rewind_streams(recording: Any, ports: list[Any]) -> None:
    """Random numbers of an episode that used some: the same again."""
    for port, state in zip(ports, recording.streams, strict=False):
        if state is not None:
            port.draws = Stream(*state)
