"""SimAI workloads: header spellings, groups, exact sizes, and refusals with their line."""

from __future__ import annotations

import pytest

from wormhole_core.errors import InputError
from wormhole_core.run.formats import SimaiOp, read_simai_workload

HEADER = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 2 pp: 1 vpp: 1 ga: 2 all_gpus: 8 "
    "checkpoints: 2 1 3 checkpoint_initiates: 0 pp_comm: 50331648.0"
)
WORK = f"""{HEADER}
3
grad\t-1\t1\tBROADCAST\t16\t1\tNONE\t0\t1\tREDUCESCATTER\t6497239040\t100
moe   -1 5000  ALLTOALL_EP 65536 9000 ALLGATHER 65536 4000 ALLREDUCE_DP_EP 8 100

last  -1 1 NONE 0 1 NONE 0 1 NONE 0 1"""


def test_rows_and_groups(write):
    work = read_simai_workload(write("w.txt", WORK))
    assert (work.policy, work.tp, work.ep, work.pp, work.vpp, work.ga, work.all_gpus) == (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD", 4, 2, 1, 1, 2, 8,
    )  # fmt: skip
    assert (work.checkpoints, work.checkpoint_initiates, work.pp_comm_bytes) == ((1, 3), (), 50331648)
    first, moe, last = work.rows
    assert first.fwd == SimaiOp(kind="BROADCAST", group="tp", size_bytes=16)
    assert first.wg == SimaiOp(kind="REDUCESCATTER", group="dp", size_bytes=6497239040)
    assert (moe.fwd.group, moe.ig.group, moe.wg.group) == ("ep", "tp", "dp_ep")
    assert (moe.name, moe.fwd_compute_ps, moe.ig_compute_ps, moe.wg_compute_ps, moe.update_ps, moe.line) == (
        "moe", 5_000_000, 9_000_000, 4_000_000, 100_000, 4,
    )  # fmt: skip
    assert (last.fwd, last.ig, last.wg, last.line) == (None, None, None, 6)
    assert work.ops() == {
        "fwd:BROADCAST": 1, "wg:REDUCESCATTER": 1, "fwd:ALLTOALL_EP": 1, "ig:ALLGATHER": 1, "wg:ALLREDUCE_DP_EP": 1,
    }  # fmt: skip
    assert sum(work.op_bytes().values()) == 16 + 6497239040 + 65536 * 2 + 8
    assert work.compute_ps() == {"fwd": 5_002_000, "ig": 9_002_000, "wg": 4_002_000, "update": 201_000}


def test_micro_and_other_spellings(write):
    micro = read_simai_workload(write("m.txt", "MICRO\n1\nt -1 1 NONE 0 1 NONE 0 1 ALLTOALL 4096 1\n"))
    assert (micro.tp, micro.rows[0].wg.group) == (None, "all")
    other = read_simai_workload(write("o.txt", WORK.replace("pp_comm: ", "pp_comm ").replace("ga:", "gala:")))
    assert other.pp_comm_bytes == 50331648
    assert other.notes == ["unknown header words ignored: 'gala:' '2'"]


def test_thirteenth_column(write):
    text = "HYBRID_CUSTOMIZED\n1\nt -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1 DATA\n"
    assert read_simai_workload(write("c.txt", text)).rows[0].policy == "DATA"
    with pytest.raises(InputError, match=r":3: the row has 12 columns, expected 13"):
        read_simai_workload(write("c.txt", text.replace(" DATA", "")))


@pytest.mark.parametrize("count", ["2", "4"])
def test_count_must_match_unless_lenient(write, count):
    path = write("w.txt", WORK.replace("\n3\n", f"\n{count}\n"))
    with pytest.raises(InputError, match=rf"w\.txt:2: the file declares {count} rows but has 3; .*--lenient"):
        read_simai_workload(path)
    work = read_simai_workload(path, lenient=True)
    assert (len(work.rows), work.notes) == (3, [f"the file declares {count} rows but has 3"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ALLTOALL_EP", "ALLTOONE", r":4: column 4 is 'ALLTOONE'.*; expected NONE or one of ALLREDUCE"),
        ("BROADCAST", "ALLREDUCEALLTOALL", r":3: column 4 is 'ALLREDUCEALLTOALL'"),
        ("6497239040", "-4", r":3: column 11 \(bytes\) is -4, expected at least 0"),
        ("6497239040", "0", r":3: column 11: a REDUCESCATTER of 0 bytes"),
        ("6497239040", "big", r":3: column 11 \(bytes\) is 'big', expected a number"),
        ("5000", "-5", r":4: column 3 is '-5' ns, expected a time that is not negative"),
        ("5000  ", "", r":4: the row has 11 columns, expected 12"),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER_FWD_IN_BACKWD", r":1: policy is .*; did you mean"),
        ("_group: 4", "_group: 0", r":1: header option 'model_parallel_NPU_group' is 0, expected at least 1"),
        ("checkpoints: 2", "checkpoints: 99", r":1: header option 'checkpoints' announces 99 layers"),
        (" 50331648.0", "", r":1: header option 'pp_comm' has no value"),
        ("\n3\n", "\nthree\n", r":2: the number of rows is 'three', expected a number"),
    ],
)
def test_faults(write, old, new, message):
    text = WORK.replace(old, new, 1)
    assert text != WORK
    with pytest.raises(InputError, match=message):
        read_simai_workload(write("w.txt", text))
