"""Snapshots, bounds and presets, for every component with several sets of options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from wormhole_core import Cca, Component, Feedback, FlowInfo, HopRecord, LossKind, stream

CASES: list[tuple[str, dict[str, Any]]] = [
    ("none", {}),
    ("none", {"window": "bdp"}),
    ("hpcc", {}),
    ("hpcc", {"max_stage": 0, "variable_window": False}),
    ("hpcc", {"fast_react": False}),
    ("dcqcn", {}),
    ("dcqcn", {"window": "variable", "byte_counter_bytes": 50_000, "clamp_target": True}),
    ("dcqcn", {"decrease_timer_ps": 0, "alpha_timer_ps": 55_000_000, "increase_timer_ps": 55_000_000}),
    ("dcqcn", {"alpha_timer_ps": 50_000_000, "decrease_timer_ps": 50_000_000, "increase_timer_ps": 55_000_000}),
    ("timely", {"t_low_ps": 8_000_000, "t_high_ps": 40_000_000}),
    ("timely", {"window": "variable", "min_rtt_ps": 4_000_000, "t_low_ps": 5_000_000}),
    ("dctcp", {}),
    ("dctcp", {"window": "none", "gain": 0.5}),
    ("swift", {}),
    ("swift", {"ai": 0.1, "max_cwnd_packets": 3.0}),
]
IDS = [f"{name}-{'-'.join(options) or 'default'}" for name, options in CASES]
MakeCca = Callable[..., Cca]
Events = list[tuple[str, tuple[Any, ...]]]


def walk(seed: int, steps: int) -> Events:
    """A seeded sequence of ACKs (some marked, delayed or with long queues) and losses, from time 0 and byte 0."""
    rng = stream(seed, "walk")
    now_ps = ack_seq = sent = queue = stamp = 0
    events: Events = []
    for step in range(steps):
        now_ps += 80_000 + rng.below(900_000) * (1 + 40 * (rng.below(50) == 0))
        congested = (step // 200) % 2
        if rng.below(200) == 0:
            kind = LossKind.TIMEOUT if rng.below(3) == 0 else LossKind.NACK
            events.append(("loss", (now_ps, 1000, kind)))
            continue
        ack_seq += 1000
        sent += 1000 + 500 * rng.below(20)
        stamp += 60_000 + rng.below(900_000)
        queue = max(0, queue + rng.below(20_000) - (8_000 if congested else 14_000))
        rtt_ps = 4_200_000 + queue * 80 + rng.below(1_000_000) + 30_000_000 * congested
        hops = (HopRecord(stamp, sent, queue, 100_000_000_000), HopRecord(stamp + 5, sent // 2, 0, 400_000_000_000))
        marked = bool(congested and rng.below(4) == 0)
        events.append(("ack", (now_ps, ack_seq, ack_seq + 20_000 + 1000 * rng.below(30), rtt_ps, marked, hops)))
    return events


def drive(cca: Cca, events: Events, shift_ps: int = 0, shift_bytes: int = 0) -> Iterator[tuple[Any, ...]]:
    """Window, rate and next timer (relative to the shift) after every event and every timer in between."""
    fb = Feedback()
    for kind, data in events:
        now_ps = data[0] + shift_ps
        while (at_ps := cca.next_timer_ps(now_ps)) is not None and at_ps <= now_ps:
            cca.on_timer(at_ps)
            after = cca.next_timer_ps(at_ps)
            assert after is None or after > at_ps
            yield ("timer", at_ps - shift_ps, cca.window_bytes, cca.rate_bps)
        if kind == "loss":
            cca.on_loss(now_ps, data[1], data[2])
        else:
            _, ack_seq, next_seq, fb.rtt_ps, fb.ecn_marked, hops = data
            fb.now_ps, fb.acked_bytes, fb.sent_ps = now_ps, 1000, now_ps - fb.rtt_ps
            fb.ack_seq, fb.next_seq = ack_seq + shift_bytes, next_seq + shift_bytes
            fb.hops = tuple(hop._replace(ts_ps=hop.ts_ps + shift_ps) for hop in hops)
            cca.on_ack(fb)
        at_ps = cca.next_timer_ps(now_ps)
        assert at_ps is None or at_ps > now_ps
        yield (kind, None if at_ps is None else at_ps - shift_ps, cca.window_bytes, cca.rate_bps)


def is_plain(value: Any) -> bool:
    """Nested tuples of None, bool, int, float and str."""
    if isinstance(value, tuple):
        return all(type(value) is tuple and is_plain(part) for part in value)
    return value is None or type(value) in (bool, int, float, str)


def una(events: Events) -> int:
    """Bytes acknowledged by a sequence of events."""
    return max((data[1] for kind, data in events if kind == "ack"), default=0)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
@pytest.mark.parametrize("cut", [0, 1, 431, 903])
@pytest.mark.parametrize("shift", [(10**12, 0), (-77_000, 123_000), (10**12 + 3, 10**9)])
def test_restored_elsewhere_it_goes_on_the_same(
    make_cca: MakeCca, name: str, options: dict[str, Any], cut: int, shift: tuple[int, int]
) -> None:
    events = walk(5, 1400)
    before, after = events[:cut], events[cut:]
    now_ps = before[-1][1][0] if before else 0
    original, copy = make_cca(name, **options), make_cca(name, **options)
    list(drive(original, before))
    state = original.snapshot(now_ps, una(before))
    assert is_plain(state)
    copy.restore(state, now_ps + shift[0], una(before) + shift[1])
    assert copy.snapshot(now_ps + shift[0], una(before) + shift[1]) == state
    assert (copy.window_bytes, copy.rate_bps) == (original.window_bytes, original.rate_bps)
    assert list(drive(copy, after, *shift)) == list(drive(original, after))


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_taking_snapshots_changes_nothing(make_cca: MakeCca, name: str, options: dict[str, Any]) -> None:
    events = walk(6, 1500)
    watched, alone = make_cca(name, **options), make_cca(name, **options)
    seen = []
    for event in events:
        seen += drive(watched, [event])
        watched.snapshot(event[1][0], 0)
    assert seen == list(drive(alone, events))


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
@pytest.mark.parametrize("line_rate_bps", [10**9, 10**11, 16 * 10**11])
def test_outputs_are_integers_within_bounds(
    make_cca: MakeCca, make_flow: Callable[..., FlowInfo], name: str, options: dict[str, Any], line_rate_bps: int
) -> None:
    bdp_bytes = line_rate_bps * 4_160_000 // (8 * 10**12)
    flow = make_flow(line_rate_bps=line_rate_bps, bdp_bytes=bdp_bytes)
    cca = make_cca(name, flow, **options)
    ceiling_bytes = 1000 * int(options.get("max_cwnd_packets", 0)) or 2 * max(bdp_bytes, 1000)
    rates = set()
    for _, _, window_bytes, rate_bps in drive(cca, walk(7, 3000)):
        assert type(rate_bps) is int and 0 < rate_bps <= line_rate_bps
        assert window_bytes is None or (type(window_bytes) is int and 0 < window_bytes <= ceiling_bytes)
        rates.add((rate_bps, window_bytes))
    assert len(rates) > 1 or name == "none"


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_reacts_to_what_it_declares_and_nothing_else(make_cca: MakeCca, name: str, options: dict[str, Any]) -> None:
    def without(sense: str) -> Events:
        changed: Events = []
        for kind, data in walk(8, 1500):
            if kind == "loss":
                if sense != "loss":
                    changed.append((kind, data))
                continue
            now_ps, ack_seq, next_seq, rtt_ps, marked, hops = data
            rtt_ps = 4_200_000 if sense == "delay" else rtt_ps
            marked = marked and sense != "marks"
            hops = hops[:0] if sense == "telemetry" else hops
            changed.append(("ack", (now_ps, ack_seq, next_seq, rtt_ps, marked, hops)))
        return changed

    def rates(events: Events) -> list[tuple[Any, ...]]:
        return [out[2:] for out in drive(make_cca(name, **options), events) if out[0] == "ack"]

    declared = type(make_cca(name, **options)).reacts_to
    reference = rates(without("nothing"))
    assert {s for s in ("marks", "delay", "loss", "telemetry") if rates(without(s)) != reference} == declared


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_scale_moves_rate_or_window(make_cca: MakeCca, name: str, options: dict[str, Any]) -> None:
    cca = make_cca(name, **options)
    before = cca.rate_bps, cca.window_bytes
    if not cca.scale(0.5, 0):
        assert name == "none" and (cca.rate_bps, cca.window_bytes) == before
        return
    halved = cca.rate_bps * 2 == before[0] or abs(cca.window_bytes * 2 - before[1]) <= 1000
    assert halved
    cca.scale(10**9, 0)
    assert (cca.rate_bps, cca.window_bytes) == before or name == "swift"


def test_hints_are_positive_or_unknown(make_cca: MakeCca) -> None:
    hints = {name: (make_cca(name).settling_ps(), make_cca(name).period_ps()) for name, _ in CASES}
    assert hints["none"] == (0, None)
    assert hints["hpcc"] == (5 * 4_160_000, None)
    assert hints["timely"] == (None, None)
    assert hints["dcqcn"] == (None, 600_000_000)
    assert hints["dctcp"][1] % 4_160_000 == 0 and hints["dctcp"][1] > 0
    assert hints["swift"][0] == 26 * 4_160_000


LABELS = {
    "hpcc", "hpcc_perrtt", "hpcc_stage5", "dcqcn", "dcqcn_vwin", "dcqcn_paper", "dcqcn_step", "dcqcn_paper_step",
    "dcqcn_step_buf2", "timely", "timely_vwin", "timely_buf2", "dctcp", "nocc", "nocc_buf2", "nocc_win",
}  # fmt: skip


def test_every_reference_label_has_a_preset(components: dict[str, Component[Any]]) -> None:
    found = [label for component in components.values() for label in component.presets]
    assert sorted(found) == sorted(f"reference:{label}" for label in LABELS)


@pytest.mark.parametrize("name", ["dcqcn", "dctcp", "hpcc", "none", "timely"])
def test_presets_fit_their_options_and_differ_as_labelled(
    components: dict[str, Component[Any]], make_flow: Callable[..., FlowInfo], name: str
) -> None:
    component = components[name]
    known = {field.name for field in attrs.fields(component.config)}
    for label, preset in component.presets.items():
        assert set(preset) == {"cca", "network"}
        assert set(preset["cca"]) <= known
        component.build(component.config(**preset["cca"]), make_flow(), None)
        network = preset["network"]
        assert network["buffer_bytes"] == (2 if "buf2" in label else 32) * 2**20
        if "step" in label and name == "dcqcn":
            assert network["ecn_kmin_bytes"] == network["ecn_kmax_bytes"] == 400_000
        assert network.get("int_tx_unit_bytes") == (512 if name == "hpcc" else None)
        assert network["ack_obeys_pause"] is (name in ("hpcc", "dctcp", "none") or label == "reference:dcqcn_vwin")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("none", {"window": "huge"}, "none, bdp or a size"),
        ("timely", {"t_low_ps": 600_000_000}, "t_low_ps must be at most"),
        ("swift", {"fs_min_cwnd_packets": 200.0}, "fs_min_cwnd_packets must be below"),
        ("dcqcn", {"window": "some"}, "one of none, fixed, variable"),
        ("hpcc", {"eta": 1.5}, "eta must be between"),
    ],
)
def test_bad_options_say_what_was_expected(
    components: dict[str, Component[Any]], name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        components[name].config(**options)
