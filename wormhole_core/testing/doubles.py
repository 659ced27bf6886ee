"""Stand-ins a check needs around the component it looks at: links, a network, traffic, a window.

They use the public face only, are as plain as can be, and are offered under names that begin with
`kit-`, so that the kit needs no other plugin to be installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from wormhole_core import (
    Cca,
    Component,
    Feedback,
    FlowInfo,
    Graph,
    Stream,
    Transfer,
    Workload,
    __version__,
    add_link,
    add_switch,
    new_graph,
    non_negative,
    positive,
)

from ..plugins import Entry, Plugins
from ..plugins.registry import PluginInfo

GBPS = 10**9

SLOW_LINK = FlowInfo(
    line_rate_bps=25 * GBPS, base_rtt_ps=4_670_720, bdp_bytes=14_596, payload_bytes=1000, frame_bytes=1048, hops=2
)
"""A flow over one switch at 25 Gbps, 1 us per link."""
FAST_LINK = FlowInfo(
    line_rate_bps=400 * GBPS, base_rtt_ps=8_083_840, bdp_bytes=404_192, payload_bytes=1000, frame_bytes=1048, hops=4
)
"""A flow over three switches at 400 Gbps, 1 us per link."""


@attrs.frozen(kw_only=True)
class BundleConfig:
    """Options of `kit-bundle`."""

    hosts: int = positive(default=4)
    links: int = positive(default=2)
    """Parallel links between the two switches."""
    rate_bps: int = positive(default=25 * GBPS)
    delay_ps: int = positive(default=1_000_000)


def build_bundle(config: BundleConfig, rng: Stream | None = None) -> Graph:
    """Two switches with half the hosts each, joined by parallel links."""
    graph = new_graph(config.hosts)
    left, right = add_switch(graph), add_switch(graph)
    for host in range(config.hosts):
        side = left if host < (config.hosts + 1) // 2 else right
        add_link(graph, host, side, config.rate_bps, config.delay_ps)
    for _ in range(config.links):
        add_link(graph, left, right, config.rate_bps, config.delay_ps)
    return graph


def build_star(hosts: int, rate_bps: int = 25 * GBPS, delay_ps: int = 1_000_000) -> Graph:
    """All hosts on one switch."""
    graph = new_graph(hosts)
    switch = add_switch(graph)
    for host in range(hosts):
        add_link(graph, host, switch, rate_bps, delay_ps)
    return graph


class Listed(Workload):
    """Transfers given beforehand, all handed out at time 0."""

    __slots__ = ("_transfers",)

    def __init__(self, transfers: Iterable[Transfer]) -> None:
        self._transfers: Sequence[Transfer] = tuple(transfers)

    def advance(self, now_ps: int, done: Sequence[Any]) -> Iterable[Transfer]:
        """All of them, once."""
        given, self._transfers = self._transfers, ()
        return given


@attrs.frozen(kw_only=True)
class ShiftConfig:
    """Options of `kit-shift`."""

    size_bytes: int = positive(default=100_000)
    rounds: int = positive(default=3)
    gap_ps: int = non_negative(default=1_000_000)


class Shift(Workload):
    """Host i sends to the one half way around, in rounds; all wait for a round to be over."""

    __slots__ = ("_config", "_hosts", "_left", "_round")

    def __init__(self, config: ShiftConfig, hosts: tuple[int, ...], rng: Stream | None = None) -> None:
        self._config, self._hosts = config, hosts
        self._left = 0
        self._round = 0

    def advance(self, now_ps: int, done: Sequence[Any]) -> Iterable[Transfer]:
        """The next round when the last is over."""
        self._left -= len(done)
        if self._left > 0 or self._round == self._config.rounds:
            return ()
        number, count = self._round, len(self._hosts)
        self._round += 1
        self._left = count
        return [
            Transfer(
                id=(number, rank), src=self._hosts[rank], dst=self._hosts[(rank + count // 2) % count],
                size_bytes=self._config.size_bytes, delay_ps=self._config.gap_ps if number else 0,
                sport=10_000,  # the same paths in each round, so that rounds repeat each other
            )
            for rank in range(count)
        ]  # fmt: skip


class Window(Cca):
    """Line rate and a window of twice the bandwidth-delay product."""

    __slots__ = ()

    def __init__(self, config: Any, flow: FlowInfo, rng: Stream | None = None) -> None:
        self.rate_bps = flow.line_rate_bps
        self.window_bytes = 2 * max(flow.payload_bytes, flow.bdp_bytes)

    def on_ack(self, fb: Feedback) -> None:
        """Nothing to learn."""

    def snapshot(self, now_ps: int, snd_una: int) -> tuple[()]:
        """No state."""
        return ()

    def restore(self, state: tuple[()], now_ps: int, snd_una: int) -> None:
        """No state."""

    def settling_ps(self) -> int:
        """Constant from the start."""
        return 0


DOUBLES: dict[str, Component[Any]] = {
    "topology": Component(name="kit-bundle", build=build_bundle, summary="two switches", config=BundleConfig),
    "workload": Component(name="kit-shift", build=Shift, summary="half way around, in rounds", config=ShiftConfig),
    "cca": Component(name="kit-window", build=Window, summary="a constant window"),
}


def with_doubles(plugins: Plugins) -> Plugins:
    """The same plugins and the stand-ins; what was given is not changed."""
    info = PluginInfo(
        name="kit", source="built-in", distribution="wormhole-sim", version=__version__,
        roots=(os.path.realpath(__file__),),
    )  # fmt: skip
    both = Plugins(plugins.manager, plugins.tolerant)
    for entry in plugins.registry.entries():
        both.registry.add(entry)
    for kind, component in DOUBLES.items():
        both.registry.add(Entry(kind=kind, component=component, info=info))
    both.infos = (*plugins.infos, info)
    return both
