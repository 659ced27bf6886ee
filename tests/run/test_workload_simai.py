"""The SimAI workload: order of operations, groups, sizes, totals, refusals."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from wormhole_core import Collective, stream
from wormhole_core.component import make_config
from wormhole_core.contracts.collectives import CollectiveRun
from wormhole_core.errors import ConfigError, InputError
from wormhole_core.run.formats.simai_workload import read_simai_workload
from wormhole_core.run.simai_program import SimaiOptions, make_program, rank_groups
from wormhole_core.run.workload_simai import SimaiWorkload

TRANSFORMER = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: {pp}"
TWO_ROWS = (
    "embed -1 5000 ALLREDUCE 65536 7000 ALLREDUCE 65537 9000 REDUCESCATTER 8000 100",
    "head  -1 2000 ALLREDUCE 4     3000 NONE      0     4000 ALLREDUCE     9000 200",
)


@pytest.fixture
def parse(tmp_path):
    def parse(*rows, header=None, tp=2, ep=1, pp=1):
        path = tmp_path / "w.txt"
        first = header or TRANSFORMER.format(tp=tp, ep=ep, pp=pp)
        path.write_text("\n".join([first, str(len(rows)), *rows]))
        return read_simai_workload(path)

    return parse


def drive(workload, rng=None, transfers=None):
    """An ideal network; returns the labels of what begins, per rank or group, in order."""
    log, waiting, runs = [], [], {}

    def begin(items):
        for item in items:
            log.append(item)
            if isinstance(item, Collective) and transfers is not None:
                runs[item.id] = CollectiveRun(item)
                begun = runs[item.id].start()
                transfers.extend(begun)
                waiting.extend(t.id for t in begun)
            else:
                waiting.append(item.id)

    begin(workload.advance(0, ()))
    while waiting:
        ended = waiting.pop(rng.below(len(waiting)) if rng else 0)
        if ended[0] in runs:
            run = runs[ended[0]]
            begun = run.done([ended])
            transfers.extend(begun)
            waiting.extend(t.id for t in begun)
            if not run.finished:
                continue
            ended = run.collective.id
            del runs[ended]
        begin(workload.advance(0, [ended]))
    assert list(workload.waiting()) == []
    return log


def describe(ops):
    return [(op.kind, op.label, op.group or op.duration_ps, op.blocking) for op in ops]


def sizes(groups):
    return {kind: len(g[0]) for kind, g in groups.items()}


def test_order_of_a_pass(parse):
    parsed = parse(*TWO_ROWS)
    program = make_program(parsed, sizes(rank_groups(parsed, 4)), SimaiOptions())
    assert describe(program.body) == [
        ("wait", "embed update", 100_000, True),
        ("compute", "embed fwd", 5_000_000, True),
        ("collective", "embed fwd", "tp", True),
        ("wait", "head update", 200_000, True),
        ("compute", "head fwd", 2_000_000, True),
        ("collective", "head fwd", "tp", True),
        ("compute", "head ig", 7_000_000, True),  # nothing between ig and wg of this row: one piece
        ("collective", "head wg", "dp", False),
        ("compute", "embed ig", 7_000_000, True),
        ("collective", "embed ig", "tp", True),
        ("compute", "embed wg", 9_000_000, True),
        ("collective", "embed wg", "dp", False),
    ]
    assert [(op.launch, op.duration_ps) for op in program.tail] == [(11, 100_000), (7, 200_000)]
    assert [op.size_bytes for op in program.body if op.kind == "collective"] == [65536, 4096, 9000, 65537, 8000]


def test_one_rank_alone_computes_and_updates_and_talks_to_nobody(parse):
    log = drive(SimaiWorkload(parse(*TWO_ROWS, tp=1), (7,), SimaiOptions(passes=2)))
    us = [(i.label, i.duration_ps / 1e6) for i in log]
    one_pass = [("embed fwd", 5), ("head fwd", 2 + 3 + 4 + 7 + 9)]
    updates = [("embed update", 0.1), ("head update", 0.2)]
    assert us == [*one_pass, updates[0], one_pass[0], updates[1], one_pass[1], *updates]


def test_groups_count_tensor_parallel_ranks_first_and_pipeline_stages_last(parse):
    groups = rank_groups(parse(*TWO_ROWS, tp=2, ep=2, pp=2), 16)
    assert groups["tp"] == [(i, i + 1) for i in range(0, 16, 2)]
    assert groups["dp"] == [(0, 2, 4, 6), (1, 3, 5, 7), (8, 10, 12, 14), (9, 11, 13, 15)]
    assert groups["ep"] == [(0, 2), (1, 3), (4, 6), (5, 7), (8, 10), (9, 11), (12, 14), (13, 15)]
    assert groups["dp_ep"] == [(0, 4), (1, 5), (2, 6), (3, 7), (8, 12), (9, 13), (10, 14), (11, 15)]
    for kind in groups:
        assert sorted(rank for group in groups[kind] for rank in group) == list(range(16))


def test_a_blocking_collective_holds_only_its_own_group(parse):
    workload = SimaiWorkload(parse(*TWO_ROWS), tuple(range(4)), SimaiOptions())
    assert [c.rank for c in workload.advance(0, ())] == [0, 1, 2, 3]
    assert workload.advance(1, [(0, 1, 0)]) == []
    assert "embed fwd (ring-all-reduce, TP group 0, pass 0): 1 of 2 ranks have come to it" in list(workload.waiting())
    (collective,) = workload.advance(2, [(0, 1, 1)])
    assert (collective.ranks, collective.algorithm, collective.size_bytes) == ((0, 1), "ring-all-reduce", 65536)
    begun = workload.advance(3, [collective.id])
    assert [(c.rank, c.label) for c in begun] == [(0, "head fwd"), (1, "head fwd")]


def test_a_weight_gradient_is_left_behind_and_waited_for_before_the_next_forward(parse):
    row = "only -1 5000 NONE 0 1 NONE 0 1 REDUCESCATTER 8000 100"
    workload = SimaiWorkload(
        parse(row, "next -1 1 NONE 0 6000 NONE 0 1 ALLREDUCE 8000 1", tp=1), (0, 1), SimaiOptions(passes=2)
    )
    begun = workload.advance(0, ())
    assert [i.label for i in begun] == ["only fwd"] * 2
    begun = [item for c in begun for item in workload.advance(1, [c.id])]
    # next: forward is empty, its computing goes on while nothing is pending yet
    assert [i.label for i in begun] == ["next ig"] * 2
    begun = [item for c in begun for item in workload.advance(2, [c.id])]
    # Both gradients are on their way, nobody computes: the next forward waits for the first row's.
    assert [i.label for i in begun] == ["next wg", "only wg"]
    assert workload.advance(3, [begun[0].id]) == []
    assert [i.label for i in workload.advance(4, [begun[1].id])] == ["only update"] * 2


OPTIONS = [{}, {"passes": 3}, {"columns": "fwd,ig"}, {"compute_scale": 0}, {"size_divisor": 7}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("hosts", "tp", "ep", "pp"), [(2, 2, 1, 1), (6, 2, 3, 1), (8, 2, 2, 2), (5, 1, 5, 1)])
def test_totals_hold_whatever_the_order_of_completions(parse, options, hosts, tp, ep, pp):
    rows = (*TWO_ROWS, "moe -1 10 ALLTOALL_EP 9999 20 ALLGATHER 7777 30 ALLREDUCE_DP_EP 12345 40")
    reference = None
    for seed in (None, 1, 2):
        workload = SimaiWorkload(
            parse(*rows, tp=tp, ep=ep, pp=pp), tuple(range(10, 10 + hosts)), SimaiOptions(**options)
        )
        transfers = []
        log = drive(workload, stream(seed, "order") if seed else None, transfers)
        assert len(transfers) == workload.total_items()
        assert sum(t.size_bytes for t in transfers) == workload.total_bytes()
        sent, received = Counter(), Counter()
        for t in transfers:
            sent[t.src] += t.size_bytes
            received[t.dst] += t.size_bytes
        for host in range(10, 10 + hosts):
            assert workload.expected_bytes(host) == (sent[host], received[host])
        everything = Counter(map(repr, log)), Counter(map(repr, transfers))
        reference = reference or everything
        assert everything == reference
        assert not workload._meetings


def test_micro_runs_row_after_row_among_all(parse):
    rows = [f"micro_test -1 1 NONE 0 1 NONE 0 1 ALLREDUCE {size} 1" for size in (4096, 8192)]
    log = drive(SimaiWorkload(parse(*rows, header="MICRO"), (3, 1, 2), SimaiOptions()))
    assert [(i.ranks, i.size_bytes) for i in log] == [((3, 1, 2), 4096), ((3, 1, 2), 8192)]


def test_broadcast_is_run_and_placeholders_are_left_out(parse):
    rows = (
        "norm -1 1 BROADCAST 16384 1 NONE 0 1 NONE 0 100",
        "grad -1 1 NONE 0 1 NONE 0 1 ALLGATHER 1 1",
    )
    workload = SimaiWorkload(parse(*rows), (0, 1, 2, 3), SimaiOptions())
    assert "collectives left out as placeholders (fewer bytes than ranks): 1" in workload.notes
    log = drive(workload)
    assert [(i.algorithm, i.ranks) for i in log] == [("broadcast", (0, 1)), ("broadcast", (2, 3))]


def test_checkpointed_layers_run_forward_again(parse):
    rows = [f"layer{i} -1 {2 + i}000 NONE 0 1 NONE 0 1 NONE 0 1" for i in range(4)]
    header = TRANSFORMER.format(tp=1, ep=1, pp=1) + " checkpoints: 2 0 2 checkpoint_initiates: 2 1 3"
    parsed = parse(*rows, header=header)
    program = make_program(parsed, sizes(rank_groups(parsed, 1)), SimaiOptions())
    forward = 2 + 3 + 4 + 5
    assert sum(op.duration_ps for op in program.body) == (forward + 4 + 2) * 1_000_000
    parsed.checkpoints = ()
    with pytest.raises(InputError, match=r"w.txt:1: checkpoint_initiates names layer 3, but no checkpoint"):
        make_program(parsed, sizes(rank_groups(parsed, 1)), SimaiOptions())


def test_data_parallel_policy_sends_weight_gradients_before_computing_on(parse):
    parsed = parse("a -1 10 NONE 0 2000 NONE 0 3000 ALLREDUCE 5000 1", header="DATA")
    program = make_program(parsed, sizes(rank_groups(parsed, 4)), SimaiOptions())
    assert [op.label for op in program.body if op.kind != "wait"] == ["a fwd", "a wg", "a ig"]
    assert [op.duration_ps for op in program.body if op.kind == "compute"] == [3_010_000, 2_000_000]


def test_relabelling_hosts_changes_names_only(parse):
    names = (5, 40, 2, 77)
    plain, other = [], []
    drive(SimaiWorkload(parse(*TWO_ROWS), (0, 1, 2, 3), SimaiOptions()), transfers=plain)
    drive(SimaiWorkload(parse(*TWO_ROWS), names, SimaiOptions()), transfers=other)
    assert [(t.id, names[t.src], names[t.dst], t.size_bytes) for t in plain] == [
        (t.id, t.src, t.dst, t.size_bytes) for t in other
    ]


def test_hosts_that_do_not_fit_and_policies_not_supported_are_refused(parse):
    with pytest.raises(InputError, match=r"w.txt:1: 6 hosts cannot be divided into TP 4 x PP 1; take a multiple of 4"):
        SimaiWorkload(parse(*TWO_ROWS, tp=4), tuple(range(6)), SimaiOptions())
    with pytest.raises(InputError, match=r"DP of 3 .6 hosts. cannot be divided into EP 2"):
        SimaiWorkload(parse(*TWO_ROWS, tp=2, ep=2), tuple(range(6)), SimaiOptions())
    with pytest.raises(ConfigError, match="policy HYBRID_DLRM can be validated but not run"):
        SimaiWorkload(parse(*TWO_ROWS, header="HYBRID_DLRM"), (0, 1), SimaiOptions())


def test_options_are_checked():
    assert make_config("simai", SimaiOptions, {"columns": "wg, fwd"}).columns == ("wg", "fwd")
    assert make_config("simai", SimaiOptions, {"columns": ["ig"]}).columns == ("ig",)
    for columns in ("", "wg,wg", "update"):
        with pytest.raises(ConfigError, match="simai: columns must be some of fwd, ig, wg"):
            make_config("simai", SimaiOptions, {"columns": columns})
    with pytest.raises(ConfigError, match="size_divisor must be greater than 0"):
        make_config("simai", SimaiOptions, {"size_divisor": 0})


@pytest.fixture
def gpt13b():
    folder = Path(__file__).resolve().parents[3] / "shared/inputs/simai_workload"
    if not folder.exists():
        pytest.skip("the sample inputs do not lie beside the checkout")
    return read_simai_workload(next(folder.glob("aicb_G13B-M1-C01*")))


def test_data_parallel_collectives_of_gpt13b(gpt13b):
    workload = SimaiWorkload(gpt13b, tuple(range(128)), SimaiOptions(columns="wg"))
    assert (workload.total_items(), workload.total_bytes()) == (1920, 1920 * 406_077_440)
    transfers = []
    log = drive(workload, transfers=transfers)
    assert Counter(t.size_bytes for t in transfers) == {406_077_440: 1920}
    rails = [i.ranks for i in log if isinstance(i, Collective)]
    assert rails == [tuple(range(rail, 128, 8)) for rail in range(8)]
    assert {t.step for t in transfers} == set(range(15))


def test_whole_pass_of_gpt13b_is_lazy(gpt13b):
    workload = SimaiWorkload(gpt13b, tuple(range(128)), SimaiOptions())
    # What a dense step is known to take (309,248 flows), and the broadcast others drop (16 x 7).
    assert workload.total_items() == 309_248 + 112
    assert [(i.algorithm, i.label) for i in workload.advance(0, ())] == [("broadcast", "norm fwd")] * 16


def test_the_former_name_of_an_option_is_answered_with_the_right_one():
    with pytest.raises(ConfigError, match="no option 'size_scale'; did you mean 'size_divisor'"):
        make_config("simai", SimaiOptions, {"size_scale": 4})
