"""Acknowledgements logged by an independent simulator, fed to each algorithm and compared ACK by ACK.

Rows: time in ns, flow, acknowledged sequence number, echo bit, next sequence number, window (0: none),
rate in Gbps, then the algorithm's own state, all after the ACK was processed. The short logs in `data`
run everywhere; the full ones where the reference data lies beside the checkout. Every row must agree to the
printed precision; ACKs that share their nanosecond with a timer, where the order could have gone either
way, are counted, and must be few for the comparison to mean something.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import pytest

from wormhole_core import Cca, Component, Feedback, FlowInfo, HopRecord

LINE_RATE_BPS = 100_000_000_000
DATA = Path(__file__).parent / "data"
REFERENCE = Path(__file__).parents[4] / "shared" / "reference"
LOGS = sorted(DATA.glob("ack_*.csv")) + sorted(REFERENCE.glob("*/ack_*.csv"))
MAX_TIES = 0.02
"""Largest share of ACKs in the nanosecond of a timer."""

Row = list[str]


class Tally(NamedTuple):
    """What a replay met: ACKs compared, and ACKs with a timer of the flow in the same nanosecond."""

    rows: int
    ties: int


def hpcc_state(cca: Cca, now_ps: int) -> tuple[Any, ...]:
    """u, current rate, stage, update seq."""
    _, current_bps, stage, utilisation, update_seq, *_ = cca.snapshot(now_ps, 0)
    return (utilisation, current_bps / 1e9, stage, update_seq)


def dcqcn_state(cca: Cca, now_ps: int) -> tuple[Any, ...]:
    """alpha, target rate, stage."""
    state = cca.snapshot(now_ps, 0)
    return (state[2], state[1] / 1e9, state[5])


def timely_state(cca: Cca, now_ps: int) -> tuple[Any, ...]:
    """RTT (an input, not compared), averaged difference, last RTT, rate, stage, update seq."""
    rate_bps, diff_ps, last_ps, stage, update_seq = cca.snapshot(now_ps, 0)
    return (None, diff_ps / 1000, last_ps / 1000, rate_bps / 1e9, stage, update_seq)


def dctcp_state(cca: Cca, now_ps: int) -> tuple[Any, ...]:
    """alpha, whether in a reduced window, marks, packets, update seq."""
    _, alpha, marks, batch, update_seq, cwr_seq = cca.snapshot(now_ps, 0)
    return (alpha, int(cwr_seq is not None), marks, batch, update_seq)


STATES: dict[str, Callable[[Cca, int], tuple[Any, ...]]] = {
    "hpcc": hpcc_state, "dcqcn": dcqcn_state, "timely": timely_state, "dctcp": dctcp_state,
}  # fmt: skip
FRAME_BYTES = {"hpcc": 1090, "timely": 1056}


def rows_of(path: Path) -> Iterator[Row]:
    """Rows after the header line."""
    with path.open(newline="") as file:
        rows = csv.reader(file)
        next(rows)
        yield from rows


def differs(value: Any, printed: str) -> bool:
    """Whether a value is not what was printed, within half a unit of its last digit."""
    if value is None:
        return False
    digits = len(printed.partition(".")[2])
    return abs(value - float(printed)) > 0.5 * 10**-digits * (1 + 1e-6)


def wrong(cca: Cca, name: str, row: Row, at_ps: int) -> str:
    """The first column that differs after the ACK, or an empty text."""
    values = (cca.window_bytes or 0, cca.rate_bps / 1e9, *STATES[name](cca, at_ps))
    for column, (value, printed) in enumerate(zip(values, row[5:], strict=False), 5):
        if differs(value, printed):
            return f"column {column}: {value!r}, logged {printed}"
    return ""


def feedback(fb: Feedback, name: str, row: Row, acked_bytes: int) -> None:
    """Fill the record from one logged row."""
    t_ns, _, ack_seq, echo, next_seq = map(int, row[:5])
    fb.now_ps, fb.ack_seq, fb.ecn_marked, fb.next_seq = t_ns * 1000, ack_seq, bool(echo), next_seq
    fb.acked_bytes = acked_bytes
    if name == "timely":
        fb.rtt_ps = int(row[7]) * 1000
    if name == "hpcc":
        fb.hops = tuple(
            HopRecord(int(ts) * 1000, int(sent), int(queue), LINE_RATE_BPS)
            for queue, sent, ts in zip(row[11::3], row[12::3], row[13::3], strict=True)
        )


def replay(path: Path, component: Component[Any], label: str) -> Tally:
    """Feed a log to one Cca per flow; fails at the first ACK after which anything differs."""
    name = component.name
    config = component.config(**component.presets[f"reference:{label}"]["cca"])
    flow = FlowInfo(
        line_rate_bps=LINE_RATE_BPS, base_rtt_ps=4_160_000, bdp_bytes=52_000, payload_bytes=1000,
        frame_bytes=FRAME_BYTES.get(name, 1048), hops=2, resolution_ps=1000,
    )  # fmt: skip
    ccas: dict[str, Cca] = {}
    acked: dict[str, int] = {}
    fb = Feedback()
    rows = ties = 0
    for row in rows_of(path):
        cca = ccas.setdefault(row[1], component.build(config, flow, None))
        feedback(fb, name, row, int(row[2]) - acked.get(row[1], 0))
        now_ps = fb.now_ps
        acked[row[1]] = fb.ack_seq
        while (at_ps := cca.next_timer_ps(now_ps)) is not None and at_ps < now_ps:
            cca.on_timer(at_ps)
        ties += name == "dcqcn" and 0 in cca.snapshot(now_ps, 0)[8:]
        if cca.next_timer_ps(now_ps) == now_ps:
            cca.on_timer(now_ps)
        cca.on_ack(fb)
        rows += 1
        fault = wrong(cca, name, row, now_ps)
        assert not fault, f"{path.name} ACK {rows} (flow {row[1]}, t = {row[0]} ns): {fault}"
    return Tally(rows, ties)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_equals_the_log_at_every_ack(path: Path, components: dict[str, Component[Any]]) -> None:
    label = path.stem.removeprefix("ack_")
    component = components[label.partition("_")[0]]
    tally = replay(path, component, label)
    print(f"{path.parent.name}/{path.name}: {tally}")
    assert tally.rows >= 100
    assert tally.ties <= MAX_TIES * tally.rows


def test_reference_logs_are_there() -> None:
    """Names the reason when only the short logs were compared."""
    if not REFERENCE.is_dir():
        pytest.skip("no reference data beside the checkout: only the short logs in tests/data were compared")
    assert len([path for path in LOGS if path.parent != DATA]) >= 20


@pytest.mark.parametrize(
    ("label", "option", "value"),
    [
        ("hpcc", "ai_rate_bps", 41_000_000),
        ("hpcc", "max_stage", 5),
        ("hpcc_perrtt", "fast_react", True),
        ("dcqcn", "gain", 1 / 250),
        ("dcqcn", "increase_timer_ps", 330_000_000),
        ("dcqcn_step", "decrease_timer_ps", 4_100_000),
        ("timely_vwin", "alpha", 0.874),
        ("timely_vwin", "window", "fixed"),
        ("dctcp", "gain", 1 / 17),
    ],
)
def test_a_wrong_parameter_is_noticed(
    label: str, option: str, value: Any, components: dict[str, Component[Any]]
) -> None:
    component = components[label.partition("_")[0]]
    options = {**component.presets[f"reference:{label}"]["cca"], option: value}
    changed = attrs.evolve(component, presets={f"reference:{label}": {"cca": options}})
    with pytest.raises(AssertionError, match="column"):
        replay(DATA / f"ack_{label}.csv", changed, label)
