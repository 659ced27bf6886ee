"""Lesson 2: an incast. Many hosts answer one at the same time; the buffer of its switch decides what happens.

Three networks: buffers without end; a small buffer that drops what does not fit; a small buffer with priority flow
control (PFC), which pauses the senders instead. The readable packet model again.
"""

from __future__ import annotations

from _plot import Charts

from wormhole_core.api import load, simulate

NETWORKS = {
    "endless buffer": {"buffer_bytes": "1GB", "pfc": False},
    "400 kB, drops": {"buffer_bytes": "400kB", "pfc": False},
    "400 kB, PFC": {"buffer_bytes": "400kB", "pfc": True},
}
FAN_IN = (1, 2, 4, 8, 12, 16)


def main() -> None:
    charts = Charts(__doc__)
    plugins = load()
    slowest: dict[str, list[tuple[float, float]]] = {}
    queues: dict[str, list[tuple[float, float]]] = {}
    print("network          senders  slowest flow   peak queue   drops  sent again   pauses")
    for name, network in NETWORKS.items():
        for fan_in in FAN_IN:
            result = simulate(
                {
                    "topology": {"plugin": "star", "hosts": fan_in + 1, "delay_ps": "200ns"},
                    "workload": {"plugin": "incast", "size_bytes": 50_000},
                    "cca": {"plugin": "none"},
                    "network": {**network, "ecn": False, "rto_ps": "100us"},
                },
                plugins=plugins,
                model="process",
            )
            fct_us = max(flow.fct_ps for flow in result.flows) / 1e6
            peak = max(link.max_queue_bytes for link in result.links if link.node > fan_in) / 1e3
            slowest.setdefault(name, []).append((fan_in, fct_us))
            queues.setdefault(name, []).append((fan_in, peak))
            summary = result.summary
            again = summary["retransmitted_bytes"] / 1e3
            print(
                f"{name:15s} {fan_in:8d} {fct_us:10.1f} us {peak:9.1f} kB {summary['drops']:7d} {again:8.1f} kB "
                f"{summary['pauses']:8d}"
            )
    charts.show("Slowest flow of an incast of 50 kB each", "senders", "us", slowest)
    charts.show("Longest queue at the switch", "senders", "kB", queues)
    print("\nDrops cost a timeout and everything sent after the gap; pauses cost nothing here, but they also stop")
    print("whoever shares the paused link. Congestion control exists to need neither: lesson 3.")
    charts.finish()


if __name__ == "__main__":
    main()
