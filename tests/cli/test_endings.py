"""How the command ends when the world around it does not hold: full disks, closed outputs, signals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SMALL = ("run", "--topology", "star", "--workload", "incast", "--set", "topology.hosts=3", "--cca", "none")
SMALL = (*SMALL, "--set", "workload.size_bytes=20kB")
COMMAND = (sys.executable, "-m", "wormhole_core")
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")


@needs_full
def test_a_full_disk_under_the_hpcc_table_is_one_line(cli):
    answer = cli(*SMALL, "--quiet", "--fct", FULL)
    assert answer.code == 2
    assert "/dev/full" in answer.line and "No space left" in answer.line


@needs_full
@pytest.mark.parametrize("option", ["--json", "--seed=2"])
def test_a_full_disk_under_standard_output_is_one_line(option):
    with FULL.open("w") as full:
        ended = subprocess.run([*COMMAND, *SMALL, option], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1 and "No space left" in ended.stderr


def test_tables_nobody_reads_are_no_failure():
    first = subprocess.Popen([*COMMAND, *SMALL], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first.stdout.close()
    assert (first.communicate(timeout=60)[1], first.returncode) == ("", 0)


def test_a_stall_stays_a_stall_when_nobody_reads():
    stall = ("--set", 'network.link_failures=[["1us", 0, 3]]', "--set", "run.no_progress_ps=1ms", "--mode=packet")
    stalled = subprocess.Popen([*COMMAND, *SMALL, *stall], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    stalled.stdout.close()
    assert "flow 0 (0 -> 2)" in stalled.communicate(timeout=60)[1]
    assert stalled.returncode == 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_both_ways_to_end_a_run_keep_what_is_done(number, tmp_path):
    long = ("--set", "workload.size_bytes=1GB", "--mode=packet", "--json", "--out", tmp_path)
    run = subprocess.Popen(
        [*COMMAND, *SMALL, *long], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    until = time.monotonic() + 60
    while time.monotonic() < until and not (tmp_path / "flows.csv").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    run.send_signal(number)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130 and err.count("\n") == 1
    if out:  # interrupted before the first event there is no result to show
        assert json.loads(out)["status"] == "interrupted"
    assert json.loads((tmp_path / "result.json").read_text())["status"] in ("interrupted", "partial")


def test_names_that_are_no_text_go_into_the_result(cli, tmp_path):
    flows = tmp_path / "fl\udcff.csv"
    try:
        flows.write_text("flow_id,src,dst,bytes,start_ns\n0,0,1,1000,0\n")
    except OSError:
        pytest.skip("the file system takes no such name")
    answer = cli("run", "--topology", "star", "--flows", flows, "--out", tmp_path / "out", "--json")
    assert answer.code == 0
    assert answer.result["experiment"]["workload"]["flows"] == str(flows)
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == answer.result
