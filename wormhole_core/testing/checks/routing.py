"""What a routing must do: choose a link that exists, the same one again, and keep what it promises."""

from __future__ import annotations

from typing import Any

from ...contracts.routing import FlowKey, Routing
from ..subject import Skip, Subject
from ..walks import is_plain
from ._register import check

Question = tuple[FlowKey, int, int, int, int]
"""(key, switch, links, now_ps, seq): the arguments of `choose`."""


def build(subject: Subject) -> Routing:
    """A fresh routing, always with the same random stream."""
    return subject.build(subject.rng("routing"))


def questions(subject: Subject, count: int, seed: int = 1) -> list[Question]:
    """What a run might ask: packets of a few flows at a few switches, in order of time."""
    rng = subject.rng("questions", seed)
    asked = []
    now_ps = 0
    for _ in range(count):
        now_ps += rng.below(200_000) + 100_000_000 * (rng.below(40) == 0)
        flow, switch, is_ack = rng.below(12), 100 + rng.below(5), rng.below(3) == 0
        src, dst = (flow + 1, flow) if is_ack else (flow, flow + 1)
        key = FlowKey(flow_index=flow, src=src, dst=dst, sport=10_000 + flow, dport=100, is_ack=is_ack)
        asked.append((key, switch, 2 + switch % 4, now_ps, 1000 * rng.below(1000)))
    return asked


@check("routing")
def valid_choice(subject: Subject) -> None:
    """Every choice is the index of one of the links offered."""
    routing = build(subject)
    for key, switch, links, now_ps, seq in questions(subject, 2000):
        seen = routing.choose(key, switch, links, now_ps, seq)
        good = isinstance(seen, int) and not isinstance(seen, bool) and 0 <= seen < links
        subject.expect(good, f"an index from 0 to {links - 1} at switch {switch}", repr(seen))


@check("routing")
def same_choices_again(subject: Subject) -> None:
    """The same seed and the same questions give the same choices."""
    asked = questions(subject, 1500)
    first, second = ([routing.choose(*q) for q in asked] for routing in (build(subject), build(subject)))
    subject.expect(first == second, "the same choices from a second object with the same seed", "other ones")


@check("routing")
def per_flow_kept(subject: Subject) -> str:
    """With per_flow = True a choice depends on flow and switch alone."""
    if not subject.component.traits.get("per_flow", False):
        raise Skip("it does not promise per_flow")
    routing = build(subject)
    known: dict[Any, int] = {}
    for key, switch, links, now_ps, seq in questions(subject, 2000):
        seen = routing.choose(key, switch, links, now_ps, seq)
        wanted = known.setdefault((key, switch), seen)
        subject.expect(seen == wanted, f"link {wanted} for every packet of flow {key.flow_index} at {switch}", seen)
    return f"{len(known)} flows and switches"


@check("routing")
def snapshot_says_all(subject: Subject) -> None:
    """snapshot() is nested tuples, changes nothing, and equal snapshots mean equal choices from then on."""
    asked = questions(subject, 1187)  # a prime: no cycle of choices ends here
    watched, left = build(subject), build(subject)
    seen = []
    for number, question in enumerate(asked):
        seen.append(watched.choose(*question))
        if number % 20 == 0:
            state = watched.snapshot()
            subject.expect(is_plain(state), "nested tuples of primitives", repr(state)[:200])
    subject.expect(seen == [left.choose(*q) for q in asked], "snapshot() to change nothing", "other choices")
    subject.expect(watched.snapshot() == left.snapshot(), "equal snapshots after equal questions", "other ones")
    fresh = build(subject)
    if watched.snapshot() == fresh.snapshot():
        later = questions(subject, 600, seed=2)
        same = [watched.choose(*q) for q in later] == [fresh.choose(*q) for q in later]
        subject.expect(same, "the state behind its choices in snapshot()", "one equal to that of a fresh object")
