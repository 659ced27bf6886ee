"""Incast: many hosts send to one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from wormhole_core import Stream, Transfer, Workload, non_negative, optional, positive
from wormhole_core.errors import ConfigError


@attrs.frozen(kw_only=True)
class IncastConfig:
    """Options of `incast`."""

    fan_in: int | None = optional()
    """Senders: the first so many hosts other than the receiver; default all."""
    receiver: int | None = attrs.field(default=None)
    """Rank of the receiver, from 0; default the last."""
    size_bytes: int = positive(default=1_000_000)
    """What each sender sends."""
    stagger_ps: int = non_negative(default=0)
    """Time between the starts of two successive senders."""


class Incast(Workload):
    """Transfer i is that of the i-th sender."""

    __slots__ = ("_config", "_receiver", "_senders", "_started")

    def __init__(self, config: IncastConfig, hosts: tuple[int, ...]) -> None:
        rank = len(hosts) - 1 if config.receiver is None else config.receiver
        if not 0 <= rank < len(hosts):
            raise ConfigError(f"workload 'incast': receiver must be a rank between 0 and {len(hosts) - 1}, got {rank}")
        fan_in = len(hosts) - 1 if config.fan_in is None else config.fan_in
        if not 1 <= fan_in < len(hosts):
            raise ConfigError(
                f"workload 'incast': of {len(hosts)} hosts fan_in must be between 1 and {len(hosts) - 1}, got {fan_in}"
            )
        self._config = config
        self._receiver = hosts[rank]
        self._senders = [host for host in hosts if host != self._receiver][:fan_in]
        self._started = False

    def advance(self, now_ps: int, done: Sequence[Any]) -> Iterable[Transfer]:
        """All transfers at the first call, none later."""
        if self._started:
            return ()
        self._started = True
        return (
            Transfer(
                id=number, src=sender, dst=self._receiver, size_bytes=self._config.size_bytes,
                delay_ps=number * self._config.stagger_ps, label="incast",
            )
            for number, sender in enumerate(self._senders)
        )  # fmt: skip

    def expected_bytes(self, host: int) -> tuple[int, int]:
        """Senders send once, the receiver gets it all."""
        size = self._config.size_bytes
        return size * (host in self._senders), size * len(self._senders) * (host == self._receiver)

    def total_items(self) -> int:
        """One transfer per sender."""
        return len(self._senders)

    def total_bytes(self) -> int:
        """Bytes of all senders."""
        return len(self._senders) * self._config.size_bytes


def build(config: IncastConfig, hosts: tuple[int, ...], rng: Stream) -> Incast:
    """The workload object; raises ConfigError if the hosts are too few."""
    return Incast(config, hosts)
