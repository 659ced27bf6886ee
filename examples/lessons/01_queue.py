"""Lesson 1: a queue. Two hosts send at full rate to a third; what does not fit into its link waits at the switch.

Arrivals minus departures: with n senders and links of rate b the queue grows by (n - 1) b. The packet model is the
readable one (`model="process"`): every host, port and link is a SimPy process in `wormhole_core/sim/process`.

A switch tells the length of its queue in the frames that leave it (in-band telemetry). The "congestion control"
below controls nothing; it only writes down what it is told. This file is a plugin as well as a script.
"""

from __future__ import annotations

from _plot import Charts

from wormhole_core import Cca, Component, hookimpl
from wormhole_core.api import load, simulate

RATE_BPS, SIZE_BYTES = 100_000_000_000, 400_000
SEEN: list[tuple[float, float]] = []


class Probe(Cca):
    """Sends at line rate and records the queue of the last switch on its path."""

    telemetry = "int"

    def __init__(self, config, flow, rng):
        self.window_bytes, self.rate_bps = None, flow.line_rate_bps

    def on_ack(self, fb):
        ts_ps, _tx_bytes, queue_bytes, _rate_bps = fb.hops[-1]
        SEEN.append((ts_ps / 1e6, queue_bytes / 1e3))

    def snapshot(self, now_ps, snd_una):
        return ()

    def restore(self, state, now_ps, snd_una):
        pass


@hookimpl
def wormhole_ccas():
    return [Component(name="probe", build=Probe, summary="records queues")]


def queue(senders: int) -> list[tuple[float, float]]:
    """(time in us, queue in kB) while `senders` hosts send 400 kB each to one."""
    plugins = load([__file__])
    experiment = {
        "topology": {"plugin": "star", "hosts": senders + 1, "rate_bps": RATE_BPS, "delay_ps": 1_000_000},
        "workload": {"plugin": "incast", "size_bytes": SIZE_BYTES},
        "cca": {"plugin": "probe"},
        "network": {"pfc": False, "ecn": False},
    }
    simulate(experiment, plugins=plugins, model="process")
    return sorted(plugins.manager.get_plugin("01_queue").SEEN)


def name(senders: int) -> str:
    """How a series is called."""
    return f"{senders} sender{'s' if senders > 1 else ''}"


def main() -> None:
    charts = Charts(__doc__)
    measured = {name(n): queue(n) for n in (1, 2, 3)}
    charts.show("Queue in front of the receiver", "us", "kB", measured)
    print("\nsenders  peak queue   (n - 1) x 400 kB, headers included")
    frame = 1090 / 1000
    for n in (1, 2, 3):
        peak = max(kilobytes for _, kilobytes in measured[name(n)])
        print(f"{n:7d}  {peak:7.1f} kB   {(n - 1) * SIZE_BYTES * frame / 1e3:7.1f} kB")
    print("\nThe last byte has arrived when n x 400 kB have left; nothing was lost, everybody waited.")
    charts.finish()


if __name__ == "__main__":
    main()
