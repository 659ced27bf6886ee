"""Who sends what, after what."""

from __future__ import annotations

from collections import Counter

import pytest
from wormhole_example_parameter_server.parameter_server import ParameterServer, ParameterServerConfig

from wormhole_core import Compute, Transfer, stream
from wormhole_core.errors import ConfigError

HOSTS = (10, 11, 12, 13, 14)


def made(hosts=HOSTS, **options) -> ParameterServer:
    return ParameterServer(ParameterServerConfig(**options), hosts, stream(1))


def run_through(workload: ParameterServer) -> list[Transfer | Compute]:
    """All items, with an ideal network that completes one at a time."""
    queue = list(workload.advance(0, []))
    seen = []
    while queue:
        seen.append(queue.pop(0))
        queue.extend(workload.advance(0, [seen[-1].id]))
    return seen


def test_a_synchronous_server_waits_for_all_workers():
    workload = made(compute_ps=0, iterations=1)
    pushes = list(workload.advance(0, []))
    assert [(t.src, t.dst, t.label) for t in pushes] == [(host, 14, "push") for host in HOSTS[:4]]
    assert list(workload.advance(5, [t.id for t in pushes[:3]])) == []
    pulls = list(workload.advance(9, [pushes[3].id]))
    assert [(t.src, t.dst, t.label) for t in pulls] == [(14, host, "pull") for host in HOSTS[:4]]
    assert len(list(workload.waiting())) == 4
    assert list(workload.advance(12, [t.id for t in pulls])) == [] and list(workload.waiting()) == []


def test_an_asynchronous_server_answers_at_once():
    workload = made(compute_ps=0, synchronous=False)
    pushes = list(workload.advance(0, []))
    (pull,) = workload.advance(5, [pushes[2].id])
    assert (pull.src, pull.dst) == (14, 12)
    (push,) = workload.advance(9, [pull.id])
    assert push.id == (1, "push", 2, 0)


@pytest.mark.parametrize("synchronous", [True, False])
@pytest.mark.parametrize("servers", [1, 2, 3])
def test_volumes(synchronous, servers):
    workload = made(servers=servers, size_bytes=1_000_001, iterations=3, synchronous=synchronous)
    items = run_through(workload)
    transfers = [item for item in items if isinstance(item, Transfer)]
    assert len(transfers) == len({t.id for t in transfers}) == workload.total_items()
    assert sum(t.size_bytes for t in transfers) == workload.total_bytes()
    sent, received = Counter(), Counter()
    for t in transfers:
        sent[t.src] += t.size_bytes
        received[t.dst] += t.size_bytes
    assert [(sent[host], received[host]) for host in HOSTS] == [workload.expected_bytes(host) for host in HOSTS]
    assert sum(isinstance(item, Compute) for item in items) == 3 * (5 - servers)


def test_computing_comes_first():
    workload = made()
    items = list(workload.advance(0, []))
    assert [(item.rank, item.duration_ps) for item in items] == [(host, 50_000_000) for host in HOSTS[:4]]


def test_too_many_servers_are_refused():
    with pytest.raises(ConfigError, match="of 5 hosts servers must be between 1 and 4, got 5"):
        made(servers=5)
    with pytest.raises(ConfigError, match="2 bytes cannot be shared by 3 servers"):
        made(servers=3, size_bytes=2)
