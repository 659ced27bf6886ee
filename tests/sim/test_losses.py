"""Lost frames are sent again: the last one after the timeout, others by go-back-N or selective repeat."""

from __future__ import annotations

import pytest

FRAME_PS = 1_048 * 80
ACK_PS = 60 * 80
DELAY_PS = 1_000_000


class Nth:
    """Draws that lose exactly the n-th frame (from 1) of a port."""

    def __init__(self, *lost: int) -> None:
        self.count, self.lost = 0, lost

    def uniform(self) -> float:
        self.count += 1
        return 0.0 if self.count in self.lost else 1.0


def lossy(
    kit, model, src: int, lost: tuple[int, ...], reliability: str, frames: int = 10, rto_ps: int | None = 77_000_000
):
    run = kit.make(
        kit.chain(1, 10**11, DELAY_PS),
        [kit.flow(0, 0, 1, frames * 1_000)],
        model=model,
        network={"reliability": reliability, "rto_ps": rto_ps},
    )
    port = next(p for p in run.simulation.network.port_list if p.node == src)
    port.loss, port.loss_draws = 0.5, Nth(*lost)
    return run.finish().drain()


@pytest.mark.parametrize("reliability", ["go-back-n", "selective-repeat"])
def test_last_frame_comes_again_after_the_timeout(kit, model, reliability):
    run = lossy(kit, model, 0, (10,), reliability)
    ack_of_ninth = 10 * FRAME_PS + 2 * ACK_PS + 4 * DELAY_PS
    again = 2 * FRAME_PS + 2 * ACK_PS + 4 * DELAY_PS
    assert run.records[0].fct_ps == ack_of_ninth + 77_000_000 + again
    assert run.records[0].retransmitted_bytes == 1_000
    assert run.simulation.counters.drops == 1


@pytest.mark.parametrize("reliability", ["go-back-n", "selective-repeat"])
def test_last_ack_lost(kit, model, reliability):
    """The receiver answers the duplicate; its own completion time stays what it was."""
    run = lossy(kit, model, 1, (10,), reliability)
    record = run.records[0]
    assert record.rx_last_byte_ps == 11 * FRAME_PS + 2 * DELAY_PS
    assert (
        record.fct_ps
        == 10 * FRAME_PS + 2 * ACK_PS + 4 * DELAY_PS + 77_000_000 + 2 * FRAME_PS + 2 * ACK_PS + 4 * DELAY_PS
    )


@pytest.mark.parametrize("reliability", ["go-back-n", "selective-repeat"])
def test_only_frame_lost_twice_backs_off(kit, model, reliability):
    run = lossy(kit, model, 0, (1, 2), reliability, frames=1)
    assert run.records[0].fct_ps == 77_000_000 + 2 * 77_000_000 + 2 * FRAME_PS + 2 * ACK_PS + 4 * DELAY_PS
    assert run.records[0].retransmitted_bytes == 2_000


def test_an_ack_ends_the_back_off(kit, model):
    """Both frames are lost, then the second again: its timeout counts from the ACK of the first, and not
    from the doubled timeout that was running."""
    run = lossy(kit, model, 0, (1, 2, 4), "go-back-n", frames=2)
    trip = 2 * FRAME_PS + 2 * ACK_PS + 4 * DELAY_PS
    assert run.records[0].fct_ps == 77_000_000 + trip + 77_000_000 + trip
    assert run.records[0].retransmitted_bytes == 3_000


def test_one_lost_frame_repeats_one_or_a_window(kit, model):
    selective = lossy(kit, model, 0, (3,), "selective-repeat", frames=200)
    back = lossy(kit, model, 0, (3,), "go-back-n", frames=200)
    assert selective.records[0].retransmitted_bytes == 1_000
    # All that was sent in the round trip until the NACK came.
    round_trip = 2 * FRAME_PS + 4 * DELAY_PS + 2 * ACK_PS
    frames = back.records[0].retransmitted_bytes // 1_000
    assert frames == pytest.approx(round_trip / FRAME_PS, abs=2)
    assert selective.records[0].fct_ps < back.records[0].fct_ps


@pytest.mark.parametrize("loss", [0.001, 0.01])
def test_random_loss(kit, loss):
    means, again = {}, {}
    for reliability in ("go-back-n", "selective-repeat"):
        flows = [kit.flow(n, n, n + 4, 1_000_000) for n in range(4)]
        run = kit.run(kit.star(8, loss=loss), flows, network={"reliability": reliability}).drain()
        assert len(run.records) == 4
        means[reliability] = sum(run.fct.values()) / 4
        again[reliability] = sum(r.retransmitted_bytes for r in run.records.values())
        assert run.simulation.counters.retransmitted_bytes == again[reliability]
    assert means["selective-repeat"] <= means["go-back-n"]
    assert 0 < again["selective-repeat"] < again["go-back-n"]
