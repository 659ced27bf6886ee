"""Lesson 3: a control loop. A sender measures delay and adjusts its window; the answer comes a round trip later.

The rule: once per window of acknowledged data, window += gain x (target - backlog), where the backlog is what
the measured delay says is waiting. A gain of 1 corrects all of the error at once. What a sender reads now it did a
round trip ago, so a large gain corrects the same error again and again: the loop oscillates. This file is a plugin
as well as a script; the packet model is the readable one.
"""

from __future__ import annotations

import attrs
from _plot import Charts

from wormhole_core import Cca, Component, hookimpl, positive
from wormhole_core.api import load, simulate

SEEN: list[tuple[int, float, float]] = []


@attrs.frozen(kw_only=True)
class LoopConfig:
    gain: float = positive(default=0.5)
    target_packets: int = positive(default=20)


class Loop(Cca):
    """Proportional control of the backlog a flow keeps in the network."""

    reacts_to = frozenset({"delay"})

    def __init__(self, config, flow, rng):
        self.gain, self.target_bytes = config.gain, config.target_packets * flow.payload_bytes
        self.base_rtt_ps, self.packet_bytes, self.bdp_bytes = flow.base_rtt_ps, flow.payload_bytes, flow.bdp_bytes
        self.window_bytes, self.rate_bps, self.acked_bytes = flow.bdp_bytes, None, 0

    def on_ack(self, fb):
        # Of the window, the share (rtt - base) / rtt is waiting in queues.
        backlog_bytes = self.window_bytes * max(0, fb.rtt_ps - self.base_rtt_ps) // fb.rtt_ps
        SEEN.append((self.bdp_bytes, fb.now_ps / 1e6, backlog_bytes / 1e3))
        self.acked_bytes += fb.acked_bytes
        if self.acked_bytes >= self.window_bytes:
            self.acked_bytes = 0
            wanted = self.window_bytes + self.gain * (self.target_bytes - backlog_bytes)
            self.window_bytes = min(4 * self.bdp_bytes, max(self.packet_bytes, int(wanted)))

    def snapshot(self, now_ps, snd_una):
        return (self.window_bytes, self.acked_bytes)

    def restore(self, state, now_ps, snd_una):
        self.window_bytes, self.acked_bytes = state


@hookimpl
def wormhole_ccas():
    return [Component(name="loop", build=Loop, config=LoopConfig, summary="proportional control of the backlog")]


def backlog(gain: float) -> list[tuple[float, float]]:
    """(time in us, backlog in kB) of a single flow."""
    plugins = load([__file__])
    experiment = {
        "topology": {
            "plugin": "dumbbell",
            "hosts_per_side": 1,
            "bottleneck_rate_bps": "50Gbps",
            "bottleneck_delay_ps": "5us",
        },
        "workload": {"plugin": "incast", "fan_in": 1, "size_bytes": 3_000_000},
        "cca": {"plugin": "loop", "gain": gain},
        "network": {"pfc": False, "ecn": False},
    }
    simulate(experiment, plugins=plugins, model="process")
    return [(us, kilobytes) for _, us, kilobytes in plugins.manager.get_plugin("03_control_loop").SEEN]


def main() -> None:
    charts = Charts(__doc__)
    seen = {f"gain {gain}": backlog(gain) for gain in (0.2, 1.0, 1.9)}
    charts.show("Backlog that a flow keeps; the target is 20 kB", "us", "kB", seen)
    print("\n            backlog after half of the time")
    for name, points in seen.items():
        late = [kilobytes for us, kilobytes in points if us > points[-1][0] / 2]
        print(f"{name}   between {min(late):5.1f} and {max(late):5.1f} kB, {sum(late) / len(late):5.1f} kB on average")
    print(
        "\nA small gain is slow but calm, a large one fast but restless. The algorithms in wormhole_cca differ in what"
    )
    print("they measure (marks, delay, telemetry), and in how they buy speed without restlessness.")
    charts.finish()


if __name__ == "__main__":
    main()
