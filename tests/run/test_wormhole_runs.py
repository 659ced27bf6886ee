"""Runs in wormhole mode: the section, what a run leaves cold and warm, stops, stalls, progress, comparisons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wormhole_core.api import Watcher, compare, load, simulate
from wormhole_core.errors import ConfigError, InputError, StalledError
from wormhole_core.run import runner
from wormhole_core.run.trust import packet_exact, sentence

RING = {
    "topology": {"plugin": "star", "hosts": 4},
    "workload": {"plugin": "ring-all-reduce", "size_bytes": "400kB"},
    "cca": {"plugin": "hpcc"},
}
INCAST = {
    "topology": {"plugin": "star", "hosts": 3},
    "workload": {"plugin": "incast", "size_bytes": "6MB"},
    "cca": {"plugin": "hpcc", "expected_flows": 2},
}

FIRST = Path(__file__).resolve().parents[2] / "examples" / "first"


@pytest.fixture(scope="module")
def plugins():
    return load()


def with_memo(source, path: Path, **more):
    return {**source, "acceleration": {"memo": {"plugin": "sqlite", "path": str(path)}, **more}}


def counts(result):
    return result.summary["cost"]["acceleration"]


# --- modes and options ---


def test_wormhole_is_the_default_and_packet_mode_one_word_away(plugins):
    fast, slow = simulate(RING, plugins=plugins), simulate(RING, plugins=plugins, mode="packet")
    assert (fast.summary["mode"], slow.summary["mode"]) == ("wormhole", "packet")
    assert fast.summary["acceleration"] == {
        "partitioner": "ports", "memo": "memory", "fast_forward": "settled", "tails": True, "quantum_ps": 0,
        "audit": 0.0, "matches": "exact",
    }  # fmt: skip
    assert slow.summary["acceleration"] is None and "acceleration" not in slow.summary["cost"]
    assert counts(fast)["hits"] == 5  # six steps of one ring, all alike
    assert fast.summary["cost"]["frame_hops"] < slow.summary["cost"]["frame_hops"] / 5
    represented = fast.summary["cost"]["frame_hops_represented"]
    assert represented == pytest.approx(slow.summary["cost"]["frame_hops"], rel=0.01)
    assert slow.summary["cost"]["frame_hops_represented"] == slow.summary["cost"]["frame_hops"]
    ends = [max(f.start_ps + f.fct_ps for f in r.flows) for r in (fast, slow)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-3)


def test_the_readable_model_runs_in_packet_mode_unless_told_otherwise(plugins):
    assert simulate(RING, plugins=plugins, model="process").summary["mode"] == "packet"
    with pytest.raises(ConfigError, match="'process' cannot be accelerated"):
        simulate(RING, plugins=plugins, model="process", mode="wormhole")


@pytest.mark.parametrize("policy", ["off", "none"])
def test_nothing_skipped_nothing_remembered_is_packet_mode_to_the_bit(plugins, policy):
    plain = {**INCAST, "acceleration": {"memo": "none", "fast_forward": policy}}
    ours, theirs = simulate(plain, plugins=plugins), simulate(INCAST, plugins=plugins, mode="packet")
    assert [(f.id, f.fct_ps) for f in ours.flows] == [(f.id, f.fct_ps) for f in theirs.flows]
    assert ours.links == theirs.links
    trust = ours.summary["cost"]["trust"]
    assert trust["packet_exact"] and trust["byte_shares"]["simulated"] == 1 and trust["audit"] is None
    assert counts(ours)["memo_bytes"] == counts(ours)["looks"] == counts(ours)["skips"] == 0


@pytest.mark.parametrize(
    ("acceleration", "told"),
    [
        ({"memo": "sqlight"}, "did you mean 'sqlite'"),
        ({"memory": 1}, "did you mean 'memo'"),
        ({"tails": "perhaps"}, "tails: 'perhaps' is not a switch"),
        ({"quantum_ps": -1}, "quantum_ps must be at least 0"),
        ({"partitioner": "none"}, "unknown partitioner 'none'"),
        ({"fast_forward": {"theta": 0.05}}, "needs plugin"),
    ],
    ids=str,
)
@pytest.mark.parametrize("mode", ["wormhole", "packet"])
def test_bad_options_are_refused_in_every_mode(plugins, acceleration, told, mode):
    with pytest.raises(ConfigError, match=told):
        simulate({**RING, "acceleration": acceleration}, plugins=plugins, mode=mode)


def test_a_file_that_is_no_store_is_refused_and_left_alone(plugins, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("not a store\n" * 100)
    with pytest.raises(InputError, match="not a memo store"):
        simulate(with_memo(RING, notes), plugins=plugins)
    assert notes.read_text() == "not a store\n" * 100


@pytest.mark.parametrize("partitioner", ["switches", "whole"])
def test_coarser_partitions_have_fewer_episodes_or_as_many(plugins, partitioner):
    two = {**RING, "topology": {"plugin": "star", "hosts": 8}, "workload": {**RING["workload"], "group_size": 4}}
    fine = simulate({**two, "acceleration": {"memo": "none"}}, plugins=plugins)
    coarse = simulate({**two, "acceleration": {"memo": "none", "partitioner": partitioner}}, plugins=plugins)
    assert counts(coarse)["episodes"] < counts(fine)["episodes"]
    assert [f.fct_ps for f in coarse.flows] == [f.fct_ps for f in fine.flows]


# --- cold and warm ---


@pytest.mark.parametrize("source", [RING, INCAST], ids=["ring", "incast"])
@pytest.mark.parametrize("stop_ps", [None, "40us"])
def test_cold_and_warm_leave_the_same_bytes_but_for_the_cost(plugins, tmp_path, source, stop_ps):
    source = with_memo(source, tmp_path / "memo")
    texts, costs = [], []
    for name in ("cold", "warm"):
        result = simulate(source, plugins=plugins, out=tmp_path / name, stop_ps=stop_ps)
        files = {p.name: p.read_bytes() for p in sorted((tmp_path / name).iterdir())}
        summary = json.loads(files.pop("result.json"))
        costs.append(summary.pop("cost"))
        texts.append((summary, files))
        assert result.summary["status"] == ("complete" if stop_ps is None else "partial")
    assert texts[0] == texts[1]
    assert set(texts[0][1]) == {"flows.csv", "links.csv", "collectives.csv"}
    assert b"source" not in texts[0][1]["flows.csv"]
    if stop_ps is None:
        assert costs[1]["frame_hops"] == 0 < costs[0]["frame_hops"]
        assert costs[1]["acceleration"]["misses"] == 0 < costs[0]["acceleration"]["misses"]
        assert costs[1]["trust"]["byte_shares"]["replayed"] == 1
        assert costs[0]["frame_hops_represented"] == costs[1]["frame_hops_represented"]
        assert costs[0]["trust"]["packet_exact"] == costs[1]["trust"]["packet_exact"]


@pytest.mark.parametrize(
    "change",
    [
        {"cca": {"plugin": "hpcc", "eta": 0.9}},
        {"network": {"payload_bytes": 1001}},
        {"network": {"ack_every_packets": 2}},
        {"network": {"ecn_kmin_bytes": 399_999}},
        {"network": {"base_rtt": "global"}},
        {"topology": {"plugin": "star", "hosts": 3, "delay_ps": "1001ns"}},
        {"acceleration": {"fast_forward": {"plugin": "rate-window", "theta": 0.01}}},
        {"acceleration": {"tails": False}},
    ],
    ids=str,
)
def test_one_difference_and_nothing_is_found(plugins, tmp_path, change):
    small = {**INCAST, "workload": {**INCAST["workload"], "size_bytes": "60kB"}}
    memo = {"plugin": "sqlite", "path": str(tmp_path / "memo")}
    first = {**small, "acceleration": {"memo": memo}}
    assert counts(simulate(first, plugins=plugins))["hits"] == 0
    assert counts(simulate(first, plugins=plugins))["hits"] == 1
    other = {**small, **change, "acceleration": {**change.get("acceleration", {}), "memo": memo}}
    assert counts(simulate(other, plugins=plugins))["hits"] == 0


def test_a_damaged_entry_is_simulated_again_and_counted(plugins, tmp_path):
    import sqlite3

    source = with_memo(RING, tmp_path / "memo")
    first = simulate(source, plugins=plugins)
    with sqlite3.connect(tmp_path / "memo") as db:
        db.execute("UPDATE entries SET value = substr(value, 1, 40)")
    db.close()
    second, third = simulate(source, plugins=plugins), simulate(source, plugins=plugins)
    assert counts(second)["damaged"] > 0 and counts(second)["misses"] == 1
    assert counts(third)["damaged"] == counts(third)["misses"] == 0
    assert [f.fct_ps for f in first.flows] == [f.fct_ps for f in second.flows] == [f.fct_ps for f in third.flows]


# --- progress, stalls ---


class Seen(Watcher):
    def __init__(self) -> None:
        self.shares: list[float] = []
        self.times: list[int] = []

    def advanced(self, progress):
        self.shares.append(progress.share)
        self.times.append(progress.now_ps)


def test_progress_advances_with_what_is_skipped_and_replayed(plugins, monkeypatch):
    monkeypatch.setattr(runner, "SLICE_EVENTS_WORMHOLE", 1)
    monkeypatch.setattr(runner, "SLICE_EVENTS_PER_LINK", 0)
    seen = Seen()
    simulate({**RING, "workload": {"plugin": "ring-all-reduce", "size_bytes": "80kB"}}, plugins=plugins, watcher=seen)
    assert seen.shares[-1] == 1
    assert all(b >= a - 1e-9 for a, b in zip(seen.shares, seen.shares[1:], strict=False))
    # The ring moves evenly, whether simulated (first step) or replayed (the others).
    total = seen.times[-1]
    assert all(abs(share - at / total) < 0.2 for share, at in zip(seen.shares, seen.times, strict=True))


def test_a_long_skip_is_no_stall_and_a_stall_is_one(plugins):
    long = {**INCAST, "workload": {"plugin": "incast", "size_bytes": "200MB"}}
    result = simulate(long, plugins=plugins, no_progress_ps="200us")
    assert result.summary["status"] == "complete" and counts(result)["skips"] > 0
    nothing_arrives = {"plugin": "file", "path": str(FIRST / "topology.json"), "loss": 0.9999}
    lossy = {"topology": nothing_arrives, "workload": {"flows": str(FIRST / "flows.csv")}, "network": {"rto_ps": "1s"}}
    with pytest.raises(StalledError, match=r"no byte moved for 1 ms(.|\n)*flow") as caught:
        simulate(lossy, plugins=plugins, no_progress_ps="1ms")
    assert caught.value.result.summary["status"] == "stalled"


# --- comparisons and words ---


def test_compare_puts_wormhole_beside_packet_and_fluid(plugins):
    comparison = compare(RING, plugins=plugins, floor=1, fluid=True)
    plain = comparison.as_dict()
    errors = {"fct_error", "sorted_fct_error", "mean_fct_error", "makespan_error"}
    promised = {*errors, "noise_floor", "packet", "wormhole"}
    assert promised <= plain.keys()
    assert plain["fct_error"].keys() == {"mean", "p99", "max"}
    assert [plain[mode]["mode"] for mode in ("packet", "wormhole")] == ["packet", "wormhole"]
    assert plain["fluid"]["mode"] == "fluid"
    assert plain["fluid_error"]["makespan_error"] > plain["makespan_error"]
    assert plain["noise_floor"]["runs"] == 1 and plain["noise_floor"]["makespan_error"] > 0
    events = [plain[name]["cost"]["events_executed"] for name in ("packet", "wormhole")]
    assert plain["events_avoided"] == events[0] - events[1] > 0
    assert comparison.beyond({"makespan_error": 1.0, "fct_error.max": 1.0}) == []
    (told,) = comparison.beyond({"fct_error.max": 0.0})
    assert told.startswith("fct_error.max is 0.0")


def test_starts_are_jittered_by_a_round_trip_unless_told_otherwise(plugins):
    loaded, jitters = plugins, []
    original = runner.make_engine

    def spy(parts, *rest):
        jitters.append(parts.run.start_jitter_ps)
        return original(parts, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "make_engine", spy)
        result = compare(RING, plugins=loaded, floor=1).reference
    assert jitters == [0, 0, result.summary["base_rtt_ps"]]
    assert result.summary["base_rtt_ps"] == 4_160_000  # 2 x 2 us of cable, two payloads of 1000 B at 100 Gbps


def statistics(**changed):
    base = dict.fromkeys(("skips", "tails", "hits_of_skipped", "hits_approximate", "hits_of_random"), 0)
    return {**base, **changed}


def test_exact_means_that_nothing_was_estimated():
    assert packet_exact(statistics())
    for name in statistics():
        assert not packet_exact(statistics(**{name: 1}))


def test_the_sentence_says_what_a_run_rests_on(plugins):
    ring = simulate(RING, plugins=plugins)
    text = sentence(ring.summary)
    assert "16.7% simulated, 83.3% replayed" in text and "compare does that" in text
    assert "compare" not in sentence(ring.summary, measured=True)
    exact = simulate({**RING, "acceleration": {"fast_forward": "off", "memo": "none"}}, plugins=plugins)
    assert "nothing was skipped" in sentence(exact.summary)
