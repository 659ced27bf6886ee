"""HPCC configurations: translated completely, leftovers listed, contradictions refused."""

from __future__ import annotations

import pytest

from wormhole_core.component import make_config
from wormhole_core.errors import InputError
from wormhole_core.run.formats import read_hpcc_config
from wormhole_core.sim.config import NetworkConfig

MAPS = "KMAX_MAP 2 25Gbps 400 100000000000 1600\nKMIN_MAP 2 25000000000 100 100000000000 400\n" \
    "PMAX_MAP 2 25000000000 0.2 100000000000 0.5\n"  # fmt: skip
CONFIG = f"""# written by hand
ENABLE_QCN 0
PACKET_PAYLOAD_SIZE 4000   // bytes
CC_MODE 3
RATE_AI 50Mb/s
MIN_RATE 100Mb/s
U_TARGET 0.9
MI_THRESH 5
FAST_REACT 0
HAS_WIN 1
VAR_WIN 0
GLOBAL_T 1
INT_MULTI 4
ACK_HIGH_PRIO 1
L2_ACK_INTERVAL 9000
BUFFER_SIZE 2
ERROR_RATE_PER_LINK 0.001
SIMULATOR_STOP_TIME 4.00
LINK_DOWN 10.5 3 4
{MAPS}SHINY_NEW_KEY 5 6
PAUSE_TIME 5
TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flow.txt
"""


def test_everything_is_translated(write, tmp_path):
    topology = write("topology.txt", "x")
    config = read_hpcc_config(write("config.txt", CONFIG))
    assert config.cca == "hpcc"
    assert config.cca_options == {
        "eta": 0.9,
        "ai_rate_bps": 50_000_000,
        "max_stage": 5,
        "fast_react": False,
        "min_rate_bps": 100_000_000,
        "variable_window": False,
    }
    assert config.network == {
        "payload_bytes": 4000,
        "buffer_bytes": 2 * 2**20,
        "ecn": False,
        "base_rtt": "global",
        "ack_obeys_pause": False,
        "int_tx_unit_bytes": 512,
        "int_queue_unit_bytes": 320,
        "ack_every_packets": 3,
        "link_failures": ((2_000_010_500_000, 3, 4),),
        "ecn_map": {25 * 10**9: (100_000, 400_000, 0.2), 10**11: (400_000, 1_600_000, 0.5)},
    }
    assert make_config("network", NetworkConfig, config.network).payload_bytes == 4000
    assert (config.stop_ps, config.error_rate) == (4 * 10**12, 0.001)
    assert (config.topology, config.flows) == (topology, None)
    assert config.unknown == ["SHINY_NEW_KEY"]
    assert config.ignored == [("PAUSE_TIME", "a pause holds until it is resumed")]
    assert config.notes == ["FLOW_FILE names 'mix/flow.txt', which is neither there nor beside config.txt"]


def test_files_are_found_above_the_folder(write, tmp_path):
    folder = tmp_path / "mix"
    folder.mkdir()
    (folder / "flow.txt").write_text("x")
    config = folder / "config.txt"
    config.write_text("CC_MODE 1\nFLOW_FILE mix/flow.txt\n")
    assert read_hpcc_config(config).flows == folder / "flow.txt"


@pytest.mark.parametrize(
    ("text", "cca", "options"),
    [
        (
            "CC_MODE 1 EWMA_GAIN 0.00390625 ALPHA_RESUME_INTERVAL 1 RATE_DECREASE_INTERVAL 4 RP_TIMER 900 "
            "FAST_RECOVERY_TIMES 1 RATE_AI 50Mb/s RATE_HAI 100Mb/s MIN_RATE 100Mb/s CLAMP_TARGET_RATE 0 "
            "HAS_WIN 0 VAR_WIN 1",
            "dcqcn",
            {
                "gain": 1 / 256, "alpha_timer_ps": 10**6, "decrease_timer_ps": 4 * 10**6,
                "increase_timer_ps": 9 * 10**8, "fast_recovery_steps": 1,
                "ai_rate_bps": 5 * 10**7, "hai_rate_bps": 10**8, "min_rate_bps": 10**8,
                "clamp_target": False, "window": "none",
            },
        ),
        ("CC_MODE 1 HAS_WIN 1 VAR_WIN 1", "dcqcn", {"window": "variable"}),
        ("CC_MODE 7 HAS_WIN 1 VAR_WIN 0 RATE_AI 1Mb/s", "timely", {"window": "fixed", "ai_rate_bps": 10**6}),
        ("CC_MODE 8 DCTCP_RATE_AI 615Mb/s EWMA_GAIN 0.0625", "dctcp", {"gain": 1 / 16, "ai_rate_bps": 615 * 10**6}),
        ("CC_MODE 0 HAS_WIN 1", "none", {"window": "bdp"}),
        ("CC_MODE 12 HAS_WIN 0", "none", {"window": "none"}),
        ("CC_MODE 3", "hpcc", {}),
    ],
)  # fmt: skip
def test_congestion_control(write, text, cca, options):
    config = read_hpcc_config(write("config.txt", text))
    assert (config.cca, config.cca_options) == (cca, options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ENABLE_QCN 1\nCC_MODE x", r":2: the value of CC_MODE is 'x', expected a number"),
        ("ENABLE_QCN 2", r":1: the value of ENABLE_QCN is '2', expected at most 1"),
        ("CC_MODE\nRATE_AI 5Mb/s", r":2: CC_MODE has no value: RATE_AI follows it"),
        ("CC_MODE 10", r":1: CC_MODE is 10 \(HPCC-PINT\), which is not modelled"),
        ("CC_MODE", r"the file ends where the value of CC_MODE was expected"),
        ("BUFFER_SIZE 0", r":1: BUFFER_SIZE is 0, expected at least 1"),
        ("U_TARGET 1.5", r":1: the value of U_TARGET is '1.5', expected a ratio"),
        ("RATE_AI 50", None),
        ("RATE_AI fast", r":1: the value of RATE_AI is 'fast', expected a rate"),
        ("RP_TIMER -1", r":1: the value of RP_TIMER is '-1' us"),
        ("ERROR_RATE_PER_LINK 2", r":1: the value of ERROR_RATE_PER_LINK is '2', expected a probability"),
        ("LINK_DOWN 5 3 3", r":1: LINK_DOWN names node 3 twice"),
        ("LINK_DOWN 0 0 0", None),
        ("KMIN_MAP 9999999 1 2", r"KMIN_MAP announces 9999999 entries"),
        ("KMIN_MAP 1 25Gbps 4", r":1: KMIN_MAP is there but KMAX_MAP is not"),
        (
            MAPS.replace("KMIN_MAP 2 25000000000 100", "KMIN_MAP 2 40000000000 100"),
            r"KMIN_MAP has no entry for 25000000000",
        ),
        (MAPS.replace(" 100 ", " 500 "), r":2: KMIN_MAP at 25000000000 bps is 500000 B, above"),
    ],
)
def test_faults(write, text, message):
    path = write("config.txt", text)
    if message is None:
        read_hpcc_config(path)
        return
    with pytest.raises(InputError, match=message):
        read_hpcc_config(path)


def test_shared_configurations(shared):
    config = read_hpcc_config(shared / "inputs/hpcc/config.txt")
    assert (config.cca, config.topology.name, config.flows.name, config.unknown) == (
        "hpcc",
        "topology.txt",
        "flow.txt",
        [],
    )
    simai = read_hpcc_config(shared / "inputs/simai_topo/SimAI.conf")
    assert (simai.cca, simai.network["payload_bytes"], simai.unknown) == ("dcqcn", 9000, [])
    assert len(simai.network["ecn_map"]) == 6
