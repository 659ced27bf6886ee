"""Lesson 4: a skipped steady state. Once flows share a link evenly, every round trip looks like the one before.

Four long flows cross one link, two in each direction. Packet mode simulates each of their packets. Wormhole mode
does so until the flows have settled, then skips: their bytes count as sent at the rates seen. Both runs are compared:
what it saved, and how far the results are apart.
"""

from __future__ import annotations

from _plot import Charts

from wormhole_core import Component, Observer, hookimpl
from wormhole_core.api import load, simulate

PACKETS: list[tuple[float, int]] = []
SKIPS: list[tuple[float, float]] = []


class Watch(Observer):
    """Writes down the packets that were simulated, and the stretches that were not."""

    def __init__(self, config, run):
        pass

    def packet_sent(self, now_ps, flow_index, seq, size_bytes):
        PACKETS.append((now_ps / 1e9, flow_index))

    def skipped(self, flow_indices, from_ps, until_ps):
        SKIPS.append((from_ps / 1e9, until_ps / 1e9))


@hookimpl
def wormhole_observers():
    return [Component(name="watch", build=Watch, summary="packets simulated, stretches skipped")]


def run(mode: str):
    """(result, packets simulated as (ms, flow), skips as (ms, ms)) of one mode."""
    plugins = load([__file__])
    experiment = {
        "topology": {"plugin": "dumbbell", "hosts_per_side": 2},
        "workload": {"plugin": "permutation", "size_bytes": 20_000_000, "shift": 2},
        "cca": {"plugin": "hpcc", "expected_flows": 4},
        "observers": {"watch": "watch"},
    }
    result = simulate(experiment, plugins=plugins, mode=mode)
    module = plugins.manager.get_plugin("04_skipped_steady_state")
    return result, module.PACKETS, module.SKIPS


def per_slice(packets: list[tuple[float, int]], end_ms: float, slices: int = 60) -> list[tuple[float, float]]:
    """Packets simulated in each of `slices` equal stretches of time."""
    counts = [0] * slices
    for ms, _ in packets:
        counts[min(slices - 1, int(ms / end_ms * slices))] += 1
    return [(number * end_ms / slices, count) for number, count in enumerate(counts)]


def main() -> None:
    charts = Charts(__doc__)
    exact, all_packets, _ = run("packet")
    fast, packets, skips = run("wormhole")
    end_ms = exact.summary["simulated_ps"] / 1e9
    charts.show(
        "Packets that were simulated",
        "ms",
        "packets per sixtieth of the run",
        {"wormhole mode": per_slice(packets, end_ms), "packet mode": per_slice(all_packets, end_ms)},
    )
    print(f"\npacket mode simulated {len(all_packets)} packets, wormhole mode {len(packets)}")
    for from_ms, until_ms in skips:
        print(f"skipped from {from_ms:.3f} to {until_ms:.3f} ms")
    print("\nflow          packet mode   wormhole mode   apart")
    pairs = zip(*(sorted(result.flows, key=lambda flow: flow.id) for result in (exact, fast)), strict=True)
    for a, b in pairs:
        apart = 100 * abs(b.fct_ps - a.fct_ps) / a.fct_ps
        print(f"{a.src} -> {a.dst} {a.fct_ps / 1e9:14.4f} ms {b.fct_ps / 1e9:12.4f} ms {apart:6.3f} %")
    print("\nIn the gaps of the chart no packet moved. Between two skips they do for a while, which shows whether the")
    print("state still holds. Congestion control never learns of it: its clock stands still during a skip.")
    charts.finish()


if __name__ == "__main__":
    main()
