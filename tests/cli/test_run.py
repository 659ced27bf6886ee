"""`wormhole-sim run` end to end: files in, tables, JSON and folders out."""

from __future__ import annotations

import csv
import json
import signal
from pathlib import Path

import pytest

from wormhole_core.run import runner

HPCC_TOPOLOGY = "5 1 4\n4\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 4 100Gbps 1us 0\n3 4 100Gbps 1us 0\n"
HPCC_FLOWS = "2\n0 3 3 100 100000 2.0\n1 3 3 200 100000 2.0\n"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_an_experiment_ends_in_tables(cli, files):
    answer = cli("run", files / "exp.toml")
    assert answer.code == 0
    assert answer.out.startswith("Complete: 3 flows, 250 kB")
    for words in ("Flow completion time and slowdown", "Busiest links", "switch 4", "host 3", "drops", "frame-hops"):
        assert words in answer.out


def test_a_quick_run_equals_the_experiment(cli, files):
    full = cli("run", files / "exp.toml", "--json").result
    quick = cli(
        "run",
        "--topology",
        files / "topology.json",
        "--flows",
        files / "flows.csv",
        "--cca",
        "none",
        "--seed",
        7,
        "--json",
    ).result
    for summary in (full, quick):
        del summary["cost"], summary["experiment"]
    assert full == quick


def test_result_folder(cli, files):
    out = files / "out"
    answer = cli("run", files / "exp.toml", "--out", out, "--fct", files / "fct.txt", "--json", "--quiet")
    assert answer.err == ""
    assert json.loads((out / "result.json").read_text()) == answer.result
    summary = answer.result
    assert (summary["status"], summary["mode"], summary["seed"]) == ("complete", "wormhole", 7)
    assert (summary["flows_done"], summary["flows_pending"]) == (3, 0)
    assert summary["bytes_done"] == 250_000
    assert {"events_executed", "frame_hops", "cpu_s", "wall_s", "peak_memory_bytes"} <= summary["cost"].keys()
    used = {(c["kind"], c["name"]): c["distribution"] for c in summary["manifest"]["plugins"]["components"]}
    assert used["cca", "none"] == "wormhole-cca"
    assert used["topology", "file"] == "wormhole-sim"
    flows = rows(out / "flows.csv")
    assert sorted(row["id"] for row in flows) == ["0", "1", "2"]
    assert all(int(row["rx_last_byte_ps"]) < int(row["fct_ps"]) for row in flows)
    assert all(float(row["slowdown"]) >= 1 for row in flows)
    by_id = {row["id"]: row for row in flows}
    last_arrival = max(int(by_id[i]["start_ps"]) + int(by_id[i]["rx_last_byte_ps"]) for i in "01")
    assert int(by_id["2"]["start_ps"]) == last_arrival + 500_000  # start_ns after the last dependency
    links = rows(out / "links.csv")
    assert len(links) == 8
    busiest = max(links, key=lambda row: int(row["tx_bytes"]))
    assert (busiest["from"], busiest["to"]) == ("4", "3")
    fct = [line.split() for line in (files / "fct.txt").read_text().splitlines()]
    assert [row[:2] for row in fct][-1] == ["0b000201", "0b000301"]


def test_equal_seeds_give_equal_bytes(cli, files):
    texts = []
    for name in ("a", "b"):
        assert cli("run", files / "exp.toml", "--out", files / name, "--quiet").code == 0
        summary = json.loads((files / name / "result.json").read_text())
        del summary["cost"]
        texts.append(
            [
                json.dumps(summary),
                *((files / name / f"{t}.csv").read_bytes() for t in ("flows", "links", "collectives")),
            ]
        )
    assert texts[0] == texts[1]


def test_outputs_can_be_chosen(cli, files):
    assert cli("run", files / "exp.toml", "--out", files / "o", "--set", 'run.outputs=["flows"]', "--quiet").code == 0
    assert sorted(path.name for path in (files / "o").iterdir()) == ["flows.csv", "result.json"]


def test_an_earlier_result_is_replaced_but_other_files_are_not_touched(cli, files):
    out = files / "out"
    assert cli("run", files / "exp.toml", "--out", out, "--quiet").code == 0
    assert cli("run", files / "exp.toml", "--out", out, "--quiet", "--set", "run.outputs=[]").code == 0
    assert [path.name for path in out.iterdir()] == ["result.json"]
    (out / "thesis.tex").write_text("mine")
    refused = cli("run", files / "exp.toml", "--out", out, "--quiet")
    assert refused.code == 2
    assert "thesis.tex" in refused.line and "--force" in refused.line
    assert cli("run", files / "exp.toml", "--out", out, "--quiet", "--force").code == 0
    assert (out / "thesis.tex").read_text() == "mine"


def test_set_wins_over_preset_and_preset_over_the_file(cli, files):
    arguments = ("run", files / "exp.toml", "--preset", "reference:hpcc", "--json", "--quiet")
    experiment = cli(*arguments).result["experiment"]
    assert experiment["cca"]["plugin"] == "hpcc"
    assert experiment["network"]["dependency"] == "sender"
    experiment = cli(*arguments, "--set", "network.dependency=receiver", "--set", "cca.eta=0.9").result["experiment"]
    assert experiment["network"]["dependency"] == "receiver"
    assert experiment["cca"]["eta"] == 0.9


def test_a_preset_inside_the_file_gives_way_to_the_file(cli, files):
    text = (files / "exp.toml").read_text().replace('plugin = "none"', 'preset = "reference:hpcc"')
    (files / "exp.toml").write_text(text.replace("pfc = true", "payload_bytes = 500"))
    summary = cli("run", files / "exp.toml", "--json", "--quiet").result
    assert "500 B payload" in summary["derived"]["frame"]
    assert ("cca", "hpcc") in {(c["kind"], c["name"]) for c in summary["manifest"]["plugins"]["components"]}


def test_switches_can_be_set(cli, files):
    (files / "flows.csv").write_text("flow_id,src,dst,bytes,start_ns\n0,0,3,1000000,0\n1,1,3,1000000,0\n")
    arguments = ("run", files / "exp.toml", "--set", "network.buffer_bytes=200kB", "--json", "--quiet")
    on = cli(*arguments, "--set", "network.pfc=true").result
    off = cli(*arguments, "--set", "network.pfc=false").result
    assert on["pauses"] > 0 and on["drops"] == 0
    assert off["pauses"] == 0 and off["drops"] > 0 and off["retransmitted_bytes"] > 0
    assert on["flows_done"] == off["flows_done"] == 2


def test_component_plugins_need_no_files(cli):
    summary = cli(
        "run", "--topology", "star", "--set", "topology.hosts=4", "--workload", "ring-all-reduce",
        "--set", "workload.size_bytes=40kB", "--cca", "none", "--json", "--quiet",
    ).result  # fmt: skip
    assert summary["flows_done"] == 2 * 3 * 4
    (collective,) = summary["collectives"]
    assert (collective["algorithm"], collective["ranks"], collective["bytes"]) == ("ring-all-reduce", 4, 40_000)
    assert 0 < collective["bus_bps"] < 100e9


def test_hpcc_config_names_everything(cli, files):
    (files / "topology.txt").write_text(HPCC_TOPOLOGY)
    (files / "flow.txt").write_text(HPCC_FLOWS)
    (files / "config.txt").write_text(
        "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nCC_MODE 3\nU_TARGET 0.9\nSIMULATOR_STOP_TIME 3.0\n"
        "PACKET_PAYLOAD_SIZE 500\n"
    )
    summary = cli("run", "--hpcc-config", files / "config.txt", "--json", "--quiet").result
    assert summary["flows_done"] == 2
    assert summary["simulated_ps"] > 2e12
    assert summary["experiment"]["cca"] == {"plugin": "hpcc", "eta": 0.9}
    other = cli("run", "--hpcc-config", files / "config.txt", "--cca", "none", "--json", "--quiet").result
    assert other["experiment"]["cca"] == {"plugin": "none"}
    assert other["experiment"]["network"]["payload_bytes"] == 500


def test_stopping_early_is_partial_and_no_fault(cli, files):
    out = files / "out"
    answer = cli("run", files / "exp.toml", "--set", "run.stop_ps=2us", "--out", out, "--quiet", "--json")
    assert answer.code == 0
    assert answer.result["status"] == "partial"
    assert (answer.result["flows_done"], answer.result["flows_pending"]) == (0, 3)
    assert answer.result["pending"]
    assert json.loads((out / "result.json").read_text())["status"] == "partial"


@pytest.fixture
def small_slices(monkeypatch):
    monkeypatch.setattr(runner, "SLICE_EVENTS", 50)
    monkeypatch.setattr(runner, "SLICE_EVENTS_WORMHOLE", 50)
    monkeypatch.setattr(runner, "SLICE_EVENTS_PER_LINK", 0)


def test_ctrl_c_keeps_what_is_there(cli, files, monkeypatch, small_slices):
    out = files / "out"
    calls = []

    def engine_with_signal(*arguments):
        engine = make_engine(*arguments)
        advance = engine.advance

        def interrupted(*arguments):
            calls.append(1)
            over = advance(*arguments)
            if engine.counters.flows_finished == 2:
                signal.raise_signal(signal.SIGINT)
            return over

        engine.advance = interrupted
        return engine

    make_engine = runner.make_engine
    monkeypatch.setattr(runner, "make_engine", engine_with_signal)
    answer = cli("run", files / "exp.toml", "--out", out, "--quiet")
    assert answer.code == 130
    assert "kept" in answer.line
    summary = json.loads((out / "result.json").read_text())
    assert (summary["status"], summary["flows_done"], summary["flows_pending"]) == ("interrupted", 2, 1)
    assert len(rows(out / "flows.csv")) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_stall_lists_what_is_pending(cli, files):
    # Loss on the only path and a timeout longer than the patience: nothing moves.
    text = (files / "topology.json").read_text().replace('"a": 0,', '"loss": 0.999, "a": 0,')
    (files / "topology.json").write_text(text)
    answer = cli(
        "run", files / "exp.toml", "--set", "run.no_progress_ps=1ms", "--set", "network.rto_ps=400us", "--out",
        files / "out", "--quiet", "--json",
    )  # fmt: skip
    assert answer.code == 3
    assert "flow 0 (0 -> 3)" in answer.err and "Traceback" not in answer.err
    assert answer.result["status"] == "stalled"
    assert json.loads((files / "out" / "result.json").read_text())["status"] == "stalled"


def test_plain_progress_when_there_is_no_terminal(cli, files, monkeypatch, small_slices):
    from wormhole_core.cli import progress

    monkeypatch.setattr(progress, "PLAIN_EVERY_S", 0.0)
    answer = cli("run", files / "exp.toml", "--json")
    assert answer.result["status"] == "complete"
    assert "% · " in answer.err and "3 flows" in answer.err and "events/s" in answer.err
    assert "\x1b" not in answer.err


def test_hpcc_config_says_what_has_no_effect(cli, files):
    (files / "topology.txt").write_text(HPCC_TOPOLOGY)
    (files / "flow.txt").write_text(HPCC_FLOWS)
    config = files / "config.txt"
    config.write_text(
        "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nCC_MODE 3\nMY_KEY 4\nPAUSE_TIME 5\nL2_BACK_TO_ZERO 1\n"
    )
    answer = cli("run", "--hpcc-config", config, "--json")
    notes = answer.result["notes"]
    for note in ("unknown key ignored: MY_KEY", "PAUSE_TIME ignored: a pause holds until it is resumed", "go-back-N"):
        assert any(line.startswith(f"{config}: ") and note in line for line in notes), notes
        assert note in answer.err


@pytest.mark.parametrize(("key", "option"), [("FLOW_FILE", "--flows"), ("TOPOLOGY_FILE", "--topology")])
def test_hpcc_config_that_names_a_file_that_is_not_there(cli, files, key, option):
    (files / "topology.txt").write_text(HPCC_TOPOLOGY)
    (files / "flow.txt").write_text(HPCC_FLOWS)
    names = {"TOPOLOGY_FILE": "topology.txt", "FLOW_FILE": "flow.txt", key: "gone.txt"}
    config = files / "config.txt"
    config.write_text("".join(f"{name} {file}\n" for name, file in names.items()) + "CC_MODE 3\n")
    why = f"{key} names 'gone.txt', which is neither there nor beside config.txt"
    assert why in cli("validate", config).out
    answer = cli("run", "--hpcc-config", config, "--quiet")
    assert answer.code == 2 and answer.line.startswith(f"{config}: {why}") and option in answer.line
    there = {"--flows": "flow.txt", "--topology": "topology.txt"}[option]
    assert cli("run", "--hpcc-config", config, option, files / there, "--quiet").code == 0


def test_the_headline_names_what_was_run(cli, files):
    (files / "exp.toml").write_text((files / "exp.toml").read_text().replace('[cca]\nplugin = "none"\n', ""))
    out = " ".join(cli("run", files / "exp.toml").out.split())
    assert "topology topology.json, workload flows.csv, cca hpcc (the default), routing ecmp (the default)" in out
    out = " ".join(cli("run", files / "exp.toml", "--topology", "star", "--cca", "dcqcn").out.split())
    assert "topology star, workload flows.csv, cca dcqcn, routing ecmp (the default)" in out


@pytest.mark.parametrize("mode", ["packet", "wormhole"])
def test_a_timeout_below_the_base_rtt_is_refused(cli, files, mode):
    """Two links of 1 us each way, and 80 ns per link to send a payload of 1000 B: 4.16 us."""
    run = ("run", files / "exp.toml", "--quiet", "--mode", mode)
    answer = cli(*run, "--set", "network.rto_ps=4us")
    assert answer.code == 2 and "network.rto_ps is 4 us, less than the longest base RTT" in answer.line
    assert "4.16 us" in answer.line
    assert cli(*run, "--set", "network.rto_ps=5us", "--set", "run.stop_ps=10us").code == 0


def test_options_may_be_set_before_their_component(cli, files):
    answer = cli("run", files / "exp.toml", "--set", "cca.eta=0.9", "--set", "cca.plugin=hpcc", "--json", "--quiet")
    assert answer.result["experiment"]["cca"] == {"plugin": "hpcc", "eta": 0.9}


def test_a_stop_is_said_in_the_headline(cli, files):
    assert "pending, 0 B in" in (out := cli("run", files / "exp.toml", "--set", "run.stop_ps=2us").out)
    assert out.startswith("Partial") and "stopped at 2 us (run.stop_ps)" in out
