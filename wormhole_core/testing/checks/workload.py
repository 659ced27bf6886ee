"""What a workload must do: end, send what it says, whatever the order of completions and the names of hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from ...contracts.workload import Collective, Compute, Transfer, Workload
from ...errors import ConfigError
from ..doubles import build_star
from ..ideal import Ideal, TooMany, at_random, in_order, shuffled
from ..subject import Skip, Subject
from ._register import check

COUNTS = (2, 3, 4, 8)
"""Numbers of hosts: two, an odd one, powers of two."""
LARGE_HOSTS = 64
GROWTH = 1000


def build(subject: Subject, count: int, *, hosts: tuple[int, ...] | None = None, **more: Any) -> Workload:
    """A workload among `count` hosts, always with the same random stream."""
    extra = (build_star(count),) if subject.component.traits.get("needs_graph") else ()
    return subject.build(tuple(range(count)) if hosts is None else hosts, subject.rng("workload"), *extra, **more)


def _sizes(subject: Subject) -> Iterator[tuple[int, Workload]]:
    """Each number of hosts it can be built for, with a workload."""
    built = 0
    for count in COUNTS:
        try:
            workload = build(subject, count)
        except ConfigError:
            continue
        built += 1
        yield count, workload
    subject.expect(built, f"to be built for one of {', '.join(map(str, COUNTS))} hosts", "ConfigError for each")


def _played(subject: Subject, workload: Workload, order: Any = in_order) -> Ideal:
    most = int(subject.limit("transfers"))
    try:
        return Ideal(workload, order, most)
    except TooMany:
        subject.fail("an end of the workload", f"more than {most} items; no end")


@check("workload")
def numbers_of_hosts(subject: Subject) -> str:
    """Works for 2 hosts, an odd number and powers of two, or ConfigError says which are allowed."""
    works = []
    for count in COUNTS:
        try:
            build(subject, count)
        except ConfigError as error:
            told = "host" in str(error) or "rank" in str(error)
            subject.expect(told, f"ConfigError for {count} hosts to say which numbers are allowed", str(error))
        else:
            works.append(count)
    subject.expect(works, f"to work for one of {COUNTS} hosts", "none")
    return f"hosts: {', '.join(map(str, works))}"


@check("workload")
def transfers_are_valid(subject: Subject) -> None:
    """Ids are unique, hosts are among those given, nobody sends to itself, sizes are positive."""
    for count, workload in _sizes(subject):
        items = _played(subject, workload).items
        ids = Counter(item.id for item in items)
        again = [identity for identity, times in ids.items() if times > 1]
        subject.expect(not again, "each id once", f"{again[0]!r} more often" if again else "")
        for item in items:
            _valid(subject, item, frozenset(range(count)))


def _valid(subject: Subject, item: Any, hosts: frozenset[int]) -> None:
    whole = {"delay_ps": 0}
    used: tuple[int, ...]
    if isinstance(item, Transfer):
        used, whole["size_bytes"] = (item.src, item.dst), 1
        subject.expect(item.src != item.dst, "src != dst", f"{item.src} twice in {item.id!r}")
    elif isinstance(item, Compute):
        used, whole["duration_ps"] = (), 0
    else:
        used, whole["size_bytes"] = item.ranks, 1
    strange = [host for host in used if host not in hosts]
    subject.expect(not strange, "only hosts that were given", f"{strange[:1]} in {item.id!r}")
    for name, least in whole.items():
        value = getattr(item, name)
        good = isinstance(value, int) and not isinstance(value, bool) and value >= least
        subject.expect(good, f"{name} to be a whole number of at least {least}", f"{value!r} in {item.id!r}")


@check("workload")
def terminates(subject: Subject) -> str:
    """In a network that takes no time everything completes, nothing new appears, and totals are as stated."""
    seen = []
    for count, workload in _sizes(subject):
        totals = workload.total_items(), workload.total_bytes()
        transfers = _played(subject, workload).transfers
        after = list(workload.advance(1 << 50, ()))
        subject.expect(not after, "nothing new once all is done", f"{after[:1]}")
        left = list(workload.waiting())
        subject.expect(not left, "nobody to wait once all is done", f"{left[:1]}")
        found = len(transfers), sum(transfer.size_bytes for transfer in transfers)
        for name, stated, real in zip(("total_items", "total_bytes"), totals, found, strict=True):
            subject.expect(stated is None or stated == real, f"{name}() = {real} for {count} hosts", stated)
        seen.append(f"{found[0]}")
    return f"transfers: {', '.join(seen)}"


@check("workload")
def any_order_of_completion(subject: Subject) -> None:
    """The transfers are the same whatever the order in which completions are delivered."""
    for count, workload in _sizes(subject):
        plain = _bag(_played(subject, workload))
        for number in range(3):
            rng = subject.rng("order", number)
            for order in (shuffled(rng), at_random(rng)):
                other = _bag(_played(subject, build(subject, count), order))
                extra = list((other - plain) + (plain - other))
                subject.expect(not extra, f"the same transfers among {count} hosts in any order", f"{extra[:1]}")


def _bag(ideal: Ideal) -> Counter[Any]:
    return Counter((t.id, t.src, t.dst, t.size_bytes) for t in ideal.transfers)


@check("workload")
def bytes_per_host(subject: Subject) -> str:
    """Each host sends and receives what expected_bytes says."""
    stated = 0
    for count, workload in _sizes(subject):
        expected = {host: workload.expected_bytes(host) for host in range(count)}
        sent, received = Counter[int](), Counter[int]()
        for transfer in _played(subject, workload).transfers:
            sent[transfer.src] += transfer.size_bytes
            received[transfer.dst] += transfer.size_bytes
        for host, volume in expected.items():
            if volume is not None:
                stated += 1
                real = (sent[host], received[host])
                subject.expect(tuple(volume) == real, f"expected_bytes({host}) = {real} of {count} hosts", volume)
    if not stated:
        raise Skip("expected_bytes says nothing for any host")
    return f"{stated} hosts as stated"


@check("workload")
def is_lazy(subject: Subject) -> str:
    """The first item of a large job comes without building all of them."""
    try:
        hosts = LARGE_HOSTS
        grown = _grown(subject, hosts)
        workload = build(subject, hosts, **grown)
    except ConfigError as error:
        raise Skip(f"no large job: {error}") from None
    total = workload.total_items()
    limit = int(subject.limit("items_per_host")) * hosts
    if total is not None and total < 4 * limit:
        raise Skip(f"{total} transfers among {hosts} hosts are no large job")
    with _counting() as built:
        next(iter(workload.advance(0, ())), None)
    subject.expect(built[0] <= limit, f"at most {limit} items built for the first of {total or 'many'}", built[0])
    return f"{built[0]} built of {total or 'many'}, {', '.join(f'{k}={v}' for k, v in grown.items()) or 'as it is'}"


def _grown(subject: Subject, hosts: int) -> dict[str, Any]:
    """Counts (rounds, iterations) enlarged where that makes more transfers."""
    grown: dict[str, Any] = {}
    config = subject.config()
    total = build(subject, hosts).total_items()
    for name in subject.fields():
        value = getattr(config, name)
        if type(value) is not int or name.endswith(("_ps", "_bps", "_bytes", "_bits")) or total is None:
            continue
        try:
            trial = build(subject, hosts, **{**grown, name: value * GROWTH}).total_items()
        except ConfigError:
            continue
        if trial is not None and trial > total:
            grown[name], total = value * GROWTH, trial
    return grown


@contextmanager
def _counting() -> Iterator[list[int]]:
    """Counts items made while it lasts."""
    count = [0]
    originals = {kind: kind.__init__ for kind in (Transfer, Compute, Collective)}

    def counted(original: Any) -> Any:
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            count[0] += 1
            original(self, *args, **kwargs)

        return init

    try:
        for kind, original in originals.items():
            setattr(kind, "__init__", counted(original))  # noqa: B010 (types of methods cannot be assigned to)
        yield count
    finally:
        for kind, original in originals.items():
            setattr(kind, "__init__", original)  # noqa: B010


@check("workload")
def relabelling(subject: Subject) -> None:
    """Other host numbers relabel the items and change nothing else."""
    for count, workload in _sizes(subject):
        if subject.component.traits.get("needs_graph"):
            raise Skip("it names nodes of a given topology")
        names = tuple(1000 + 7 * ((rank * 5 + 3) % count if count % 5 else rank) for rank in range(count))
        plain = _played(subject, workload).items
        other = _played(subject, build(subject, count, hosts=names)).items
        place = dict(enumerate(names))
        subject.expect(len(plain) == len(other), f"{len(plain)} items under other host numbers", len(other))
        for one, two in zip(plain, other, strict=True):
            wanted, seen = _relabelled(one, place), _relabelled(two, {})
            subject.expect(seen == wanted, f"{wanted} under other host numbers", seen)


def _relabelled(item: Any, names: dict[int, int]) -> dict[str, Any]:
    """An item as a dict without what it calls itself, hosts renamed."""
    values = {a.name: getattr(item, a.name) for a in attrs.fields(type(item))}
    for hidden in ("id", "label", "group"):
        values.pop(hidden, None)
    for key in ("src", "dst", "rank"):
        if key in values:
            values[key] = names.get(values[key], values[key])
    if "ranks" in values:
        values["ranks"] = tuple(names.get(host, host) for host in values["ranks"])
    return values
