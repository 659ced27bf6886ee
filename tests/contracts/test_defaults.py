"""Optional methods of the base classes do nothing and promise nothing unless they are overridden."""

from __future__ import annotations

import pytest

from wormhole_core import (
    Cca,
    CcaReceiver,
    FastForwardPolicy,
    FlowKey,
    MemoBackend,
    Observer,
    Partitioner,
    Routing,
    Workload,
)


class Plain(Cca):
    __slots__ = ()

    def __init__(self):
        self.window_bytes, self.rate_bps = 1000, None

    def on_ack(self, fb):
        pass

    def snapshot(self, now_ps, snd_una):
        return ()

    def restore(self, state, now_ps, snd_una):
        pass


def test_a_cca_needs_three_methods_and_has_no_dictionary():
    cca = Plain()
    assert cca.on_loss(5, 1000, "nack") is None and cca.on_signal(5, "credit", 1) is None
    assert cca.next_timer_ps(5) is None and cca.on_timer(5) is None
    assert cca.settling_ps() is None and cca.period_ps() is None and cca.make_receiver() is None
    assert cca.scale(0.5, 5) is False
    assert (cca.window_bytes, cca.rate_bps, cca.telemetry, cca.reacts_to) == (1000, None, "none", frozenset())
    with pytest.raises(AttributeError):
        cca.windowbytes = 1  # a misspelt attribute must not pass silently
    with pytest.raises(TypeError, match="abstract"):
        Cca()


def test_a_receiver_echoes_every_mark():
    receiver = CcaReceiver()
    assert receiver.on_data(5, True) is True and receiver.on_data(5, False) is False
    assert receiver.snapshot(5) == () and receiver.restore((), 5) is None


def test_a_workload_knows_nothing_of_its_volume():
    class Silent(Workload):
        def advance(self, now_ps, done):
            return ()

    workload = Silent()
    assert (workload.expected_bytes(0), workload.total_items(), workload.total_bytes()) == (None, None, None)
    assert tuple(workload.waiting()) == ()


def test_a_routing_takes_the_first_link_and_a_partitioner_adds_nothing():
    key = FlowKey(flow_index=0, src=0, dst=1, sport=10000, dport=100)
    assert Routing().choose(key, 5, 4, 0, 0) == 0 and Routing().snapshot() == ()
    assert tuple(Partitioner().resources([(1, 2)])) == ()


def test_a_policy_has_no_state_to_keep():
    class Never(FastForwardPolicy):
        def interval_ps(self):
            return 1

        def observe(self, sample):
            return None

    policy = Never()
    assert policy.snapshot() == () and policy.restore((), 5) is None and policy.resumed(None) is None


def test_a_back_end_counts_the_bytes_of_its_values():
    class Fixed(MemoBackend):
        def get(self, key):
            return None

        def put(self, key, value, rank, tags=""):
            pass

        def scan(self):
            yield b"a" * 32, b"123", 1, 0, ""
            yield b"b" * 32, b"4567", 1, 0, ""

        def delete(self, keys):
            return 0

    backend = Fixed()
    assert backend.size_bytes() == 7 and backend.touch(b"a" * 32) is None
    assert backend.compact() is None and backend.close() is None


def test_an_observer_hears_everything_in_silence():
    observer = Observer()
    heard = [
        observer.flow_started(0, 0, None),
        observer.flow_finished(None),
        observer.collective_finished(0, None, 0),
        observer.partition_formed(0, (0, 1)),
        observer.memo_hit(0, (0,), 5),
        observer.skipped((0,), 0, 5),
        observer.packet_sent(0, 0, 0, 1000),
        observer.packet_dropped(0, 1, 0, 1000, "buffer"),
        observer.port_paused(0, 1, 2, True),
        observer.close(),
    ]
    assert heard == [None] * len(heard)
