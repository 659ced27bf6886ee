"""The key of an episode: everything that shapes how it evolves, and nothing else.

Flows are taken by NIC port and then by index (the order of flows matters within a NIC only), ports
are numbered by first appearance along data and ACK paths.
The key has, per flow, what its congestion control was told and its path; per port its rate, delay,
loss, marking thresholds and the switch it belongs to; and the order of the ports' indices, which
decides what happens first in one instant. Sizes join the key of a whole episode: they decide when
flows leave. What is the same for the whole run (code, options) enters as `dynamics`.

The Flow Conflict Graph of the paper (vertices flows, edges numbers of shared links) is not a key:
three flows on one link and three flows pairwise on three links have the same graph and different
fair shares. It is kept as a summary for people (`conflict_graph.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from .members import Member
from .partitions import Coarsen, components

KNOWN_STARTS = 4096
"""Starts kept; when there are more, all are forgotten."""


class Episode:
    """Members and ports of an episode in canonical order, with its key."""

    __slots__ = ("key", "ports", "switches")

    def __init__(self, key: bytes, ports: list[Any], switches: list[Any]) -> None:
        self.key = key
        self.ports = ports
        self.switches = switches


def in_canonical_order(members: Sequence[Member]) -> list[Member]:
    """Members by the index of the port they send by, then by flow index."""
    return sorted(members, key=lambda m: (m.plan.path[0].index, m.plan.index))


def fresh_episode(members: Sequence[Member], dynamics: bytes, size_unit: int = 1) -> Episode:
    """Key of an episode whose ports are empty and whose flows start together.

    32 bytes over flows x hops, sizes included (in units of size_unit bytes, to the nearest: more than 1
    is an approximate match). The caller has checked that the ports are quiet.
    """
    labels: dict[Any, int] = {}
    switches: dict[Any, int] = {}
    flows = []
    for member in members:
        plan = member.plan
        there = tuple(labels.setdefault(port, len(labels)) for port in plan.path)
        if plan.lane:
            back: tuple[Any, ...] = ("lane", *((port.rate_bps, port.delay_ps) for port in plan.back))
        else:
            back = tuple(labels.setdefault(port, len(labels)) for port in plan.back)
        info = plan.info
        flows.append((
            there, back, info.line_rate_bps, info.base_rtt_ps, info.bdp_bytes, info.hops, info.size_bytes,
            max(1, (plan.transfer.size_bytes + size_unit // 2) // size_unit),
        ))  # fmt: skip
    ports = list(labels)
    facts = []
    for port in ports:
        switch = port.switch
        where = -1 if switch is None else switches.setdefault(switch, len(switches))
        marking = port.marking
        ecn = None if marking is None else (marking.kmin_bytes, marking.kmax_bytes, marking.pmax)
        buffer = None if switch is None else (switch.buffer.capacity, switch.calm_level)
        facts.append((port.rate_bps, port.delay_ps, port.loss, ecn, where, buffer))
    order = sorted(range(len(ports)), key=lambda label: ports[label].index)
    text = repr((flows, facts, order)).encode()
    return Episode(hashlib.blake2b(text, digest_size=32, key=dynamics[:64]).digest(), ports, list(switches))


class Starts:
    """Splits flows that start together into episodes. What starts on the same ports with the same sizes
    is split the same way under the same keys, so that is worked out once: in training the same few
    starts come for ever. (Routes, and what congestion control is told, follow from ports and sizes.)
    """

    def __init__(self, dynamics: bytes, size_unit: int, coarsen: Coarsen) -> None:
        self.dynamics, self.size_unit, self.coarsen = dynamics, size_unit, coarsen
        self._known: dict[Any, list[tuple[list[int], Episode]]] = {}

    def episodes(self, members: Sequence[Member]) -> list[tuple[list[Member], Episode]]:
        """Members of each episode in canonical order, with its key; episodes by their first flow index."""
        members = in_canonical_order(members)
        what: list[Any] = []
        for member in members:
            plan = member.plan
            what += plan.path, plan.back, plan.transfer.size_bytes
        start = tuple(what)
        known = self._known.get(start)
        if known is None:
            known = []
            places = {id(member): place for place, member in enumerate(members)}
            for part in components(members, self.coarsen):
                episode = fresh_episode(part, self.dynamics, self.size_unit)
                known.append(([places[id(member)] for member in part], episode))
            if len(self._known) >= KNOWN_STARTS:
                self._known.clear()
            self._known[start] = known
        found = [([members[place] for place in order], episode) for order, episode in known]
        return found if len(found) == 1 else sorted(found, key=lambda one: min(m.index for m in one[0]))


def variant_key(key: bytes, seed: int, variant: int) -> bytes:
    """Key of one of the recordings of an episode that uses random numbers."""
    return hashlib.blake2b(key + f"{seed}/{variant}".encode(), digest_size=32).digest()
