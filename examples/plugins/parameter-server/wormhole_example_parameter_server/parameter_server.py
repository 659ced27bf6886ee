"""Parameter servers: an incast of gradients, then a broadcast of parameters (Li et al., OSDI 2014).

The last `servers` ranks are servers, the others workers. In each iteration a worker computes, then sends
each server its share of the gradient ("push"); a server answers with its share of the parameters
("pull"); with all shares the worker begins the next iteration. Synchronous: a server answers all
workers when it has heard the last one. Otherwise it answers each at once.

Transfer ids are (iteration, "push" | "pull", worker, server), ids of computing (iteration, "compute", worker).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from wormhole_core import Compute, Stream, Transfer, Workload, non_negative, positive
from wormhole_core.errors import ConfigError


@attrs.frozen(kw_only=True)
class ParameterServerConfig:
    """Options of `parameter-server`."""

    servers: int = positive(default=1)
    size_bytes: int = positive(default=1_000_000)
    """The whole model, which the servers share evenly."""
    iterations: int = positive(default=2)
    compute_ps: int = non_negative(default=50_000_000)
    """What a worker computes in each iteration before it pushes."""
    synchronous: bool = True
    """Servers wait for all workers before they answer."""


class ParameterServer(Workload):
    """Keeps counters only: what arrived where, in which iteration."""

    __slots__ = ("_config", "_hosts", "_iteration", "_left", "_servers", "_started", "_workers")

    def __init__(self, config: ParameterServerConfig, hosts: tuple[int, ...], rng: Stream) -> None:
        if config.servers >= len(hosts):
            raise ConfigError(
                f"workload 'parameter-server': of {len(hosts)} hosts servers must be between 1 and {len(hosts) - 1}, "
                f"got {config.servers}"
            )
        if config.size_bytes < config.servers:
            raise ConfigError(
                f"workload 'parameter-server': {config.size_bytes} bytes cannot be shared by {config.servers} servers"
            )
        self._config = config
        self._hosts = hosts
        self._workers = range(len(hosts) - config.servers)
        self._servers = range(config.servers)
        self._iteration = [0] * len(self._workers)
        self._left: dict[tuple[int, str, int], int] = {}
        self._started = False

    def share_bytes(self, server: int) -> int:
        """What a server holds; the first ones take the remainder."""
        share, rest = divmod(self._config.size_bytes, self._config.servers)
        return share + (server < rest)

    def advance(self, now_ps: int, done: Sequence[Any]) -> Iterable[Transfer | Compute]:
        """The next step of each worker and server that has what it waits for."""
        if not self._started:
            self._started = True
            return [item for worker in self._workers for item in self._begin(0, worker)]
        items: list[Transfer | Compute] = []
        for iteration, what, worker, *server in done:
            if what == "compute":
                items.extend(self._transfer(iteration, "push", worker, s) for s in self._servers)
            elif what == "push" and not self._config.synchronous:
                items.append(self._transfer(iteration, "pull", worker, server[0]))
            elif what == "push" and self._last(iteration, what, server[0], len(self._workers)):
                items.extend(self._transfer(iteration, "pull", w, server[0]) for w in self._workers)
            elif what == "pull" and self._last(iteration, what, worker, len(self._servers)):
                self._iteration[worker] = iteration + 1
                items.extend(self._begin(iteration + 1, worker))
        return items

    def _last(self, iteration: int, what: str, at: int, expected: int) -> bool:
        """Count an arrival; True if it is the last of those expected there."""
        left = self._left.pop((iteration, what, at), expected) - 1
        if left:
            self._left[iteration, what, at] = left
        return not left

    def _begin(self, iteration: int, worker: int) -> Iterable[Transfer | Compute]:
        if iteration == self._config.iterations:
            return ()
        if self._config.compute_ps == 0:
            return [self._transfer(iteration, "push", worker, server) for server in self._servers]
        return [
            Compute(id=(iteration, "compute", worker), rank=self._hosts[worker], duration_ps=self._config.compute_ps)
        ]

    def _transfer(self, iteration: int, what: str, worker: int, server: int) -> Transfer:
        ends = self._hosts[worker], self._hosts[len(self._workers) + server]
        src, dst = ends if what == "push" else ends[::-1]
        return Transfer(
            id=(iteration, what, worker, server),
            src=src,
            dst=dst,
            size_bytes=self.share_bytes(server),
            label=what,
            step=iteration,
        )

    def expected_bytes(self, host: int) -> tuple[int, int]:
        """Workers and servers send as much as they receive."""
        rank = self._hosts.index(host)
        if rank in self._workers:
            volume = self._config.iterations * self._config.size_bytes
        else:
            volume = self._config.iterations * len(self._workers) * self.share_bytes(rank - len(self._workers))
        return volume, volume

    def total_items(self) -> int:
        """A push and a pull per iteration, worker and server."""
        return 2 * self._config.iterations * len(self._workers) * self._config.servers

    def total_bytes(self) -> int:
        """The model goes twice per iteration and worker."""
        return 2 * self._config.iterations * len(self._workers) * self._config.size_bytes

    def waiting(self) -> Iterable[str]:
        """One line per worker with iterations to come."""
        for worker, iteration in enumerate(self._iteration):
            if iteration < self._config.iterations:
                left = self._left.get((iteration, "pull", worker), self._config.servers)
                yield f"worker {worker} waits for {left} servers in iteration {iteration} of {self._config.iterations}"
