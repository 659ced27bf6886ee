"""What congestion control must do in a network: use a link alone, share it fairly."""

from __future__ import annotations

from ...contracts.workload import Transfer
from ...units import PS_PER_S
from ..doubles import SLOW_LINK, build_star
from ..runs import SentBytes, advance_to, simulation
from ..subject import Subject
from ._register import check

ENDLESS_BYTES = 10**9


@check("cca")
def uses_a_link_alone(subject: Subject) -> str:
    """Alone on a link it uses at least 80% of it in steady state."""
    graph = build_star(2, SLOW_LINK.line_rate_bps)
    engine = simulation(subject, graph, [Transfer(id=0, src=0, dst=1, size_bytes=ENDLESS_BYTES)])
    start_ps, end_ps = _span(subject)
    advance_to(engine, start_ps)
    before = _wire_bytes(engine)
    advance_to(engine, end_ps)
    use = (_wire_bytes(engine) - before) * 8 * PS_PER_S / (end_ps - start_ps) / SLOW_LINK.line_rate_bps
    limit = subject.limit("link_use")
    subject.expect(use >= limit, f"at least {limit:.0%} of a link of its own", f"{use:.1%}")
    return f"{use:.1%} of the link"


@check("cca")
def shares_fairly(subject: Subject) -> str:
    """Two flows that begin together through one link: Jain index of at least 0.9 by the end."""
    graph = build_star(3, SLOW_LINK.line_rate_bps)
    sent = SentBytes()
    transfers = [Transfer(id=number, src=number, dst=2, size_bytes=ENDLESS_BYTES) for number in range(2)]
    engine = simulation(subject, graph, transfers, [sent])
    start_ps, end_ps = _span(subject)
    advance_to(engine, start_ps)
    before = dict(sent.bytes)
    advance_to(engine, end_ps)
    shares = [sent.bytes.get(number, 0) - before.get(number, 0) for number in range(2)]
    index = sum(shares) ** 2 / (2 * sum(share * share for share in shares)) if any(shares) else 0.0
    limit = subject.limit("fairness")
    subject.expect(index >= limit, f"a Jain index of at least {limit}", f"{index:.3f} ({shares[0]} and {shares[1]} B)")
    return f"Jain index {index:.3f}"


def _span(subject: Subject) -> tuple[int, int]:
    """When to begin and end measuring."""
    start_ps = int(subject.limit("settle_rtts") * SLOW_LINK.base_rtt_ps)
    return start_ps, start_ps + int(subject.limit("measure_rtts") * SLOW_LINK.base_rtt_ps)


def _wire_bytes(engine: object) -> int:
    return next(link.tx_bytes for link in engine.link_records() if link.node == 0)  # type: ignore[attr-defined]
