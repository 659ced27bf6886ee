"""Each check fails on the plugin of the gallery that breaks it, on no other check, and passes on a good one."""

from __future__ import annotations

from pathlib import Path

import pytest

from wormhole_core.api import load
from wormhole_core.testing import CHECKS, Subject, checks_for, run_checks
from wormhole_core.testing.runs import mode_exists

GALLERY = Path(__file__).parent / "gallery"
SHELVES = {
    "cca": "ccas", "topology": "nets", "workload": "jobs", "routing": "small", "partitioner": "small",
    "observer": "small", "memo-backend": "stores", "fast-forward": "policies",
}  # fmt: skip
ALONE = {
    "memory_bound", "uses_a_link_alone", "shares_fairly", "cost_of_on_ack", "loads_alone", "shared_by_processes",
    "equals_packet_mode",
}  # fmt: skip
"""Slow, or a consequence of most faults: run on good plugins and on those that break them only."""
IMPLIED = {
    "time-shift": {"snapshot_round_trip"},
    "same-choices-again": {"snapshot_says_all"},
    "listens-to-events-arguments": {"repeats_itself", "in_manifest", "changes_nothing"},
    "terminates-never": {"transfers_are_valid", "any_order_of_completion", "bytes_per_host", "relabelling"},
}
"""What cannot hold either once that check is broken."""
NEVER_FAILS = {"cost_of_on_ack"}
LOADED: dict[str, object] = {}


def plugins(shelf: str):
    if shelf not in LOADED:
        LOADED[shelf] = load(plugins=[str(GALLERY / f"{shelf}.py")])
    return LOADED[shelf]


def gallery() -> list[tuple[str, str, str]]:
    """(kind, shelf, name of a component) of everything on show."""
    shown = [
        (kind, shelf, entry.name)
        for kind, shelf in SHELVES.items()
        for entry in plugins(shelf).registry.entries(kind)
        if entry.info.source == "file"
    ]
    return [
        *shown,
        *(("routing", name, name.replace("_", "-")) for name in ("loads_alone", "public_face_only", "hook_results")),
    ]


def broken_by(kind: str, name: str) -> str | None:
    """The check a component of the gallery is named after."""
    found = [check.name for check in checks_for(kind) if name.startswith(check.name.replace("_", "-"))]
    return max(found, key=len, default=None)


def subject(tmp_path, kind: str, shelf: str, name: str) -> Subject:
    loaded = plugins(shelf)
    file = str(GALLERY / f"{shelf}.py")
    options = {"max_rate_bps": "10Gbps"} if name == "bounds-ceiling" else {}
    return Subject(
        entry=loaded.registry.get(kind, name), plugins=loaded, folder=tmp_path, files=(file,), options=options
    )


SHOWN = gallery()
BROKEN = [item for item in SHOWN if broken_by(item[0], item[2]) and not item[2].endswith("-openly")]
GOOD = [item for item in SHOWN if item not in BROKEN]


@pytest.mark.parametrize(("kind", "shelf", "name"), GOOD, ids=lambda value: value)
def test_a_good_plugin_passes(tmp_path, kind, shelf, name):
    outcomes = run_checks(subject(tmp_path, kind, shelf, name), checks_for(kind))
    assert [f"{o.check.name}: {o.text}" for o in outcomes if o.status == "FAIL"] == []


@pytest.mark.parametrize(("kind", "shelf", "name"), BROKEN, ids=lambda value: value)
def test_a_broken_plugin_fails_its_check_and_no_other(tmp_path, kind, shelf, name):
    target = broken_by(kind, name)
    if target == "equals_packet_mode" and not mode_exists("wormhole"):
        pytest.skip("no accelerated mode yet")
    checks = [check for check in checks_for(kind) if check.name == target or check.name not in ALONE]
    outcomes = run_checks(subject(tmp_path, kind, shelf, name), checks)
    failed = {outcome.check.name: outcome.text for outcome in outcomes if outcome.status == "FAIL"}
    assert failed.keys() == {target, *IMPLIED.get(name, ())}, failed
    message = failed[target]
    assert f"{kind} {name!r} ({GALLERY / shelf}.py)" in message and "expected" in message and "; saw " in message


def test_every_check_has_a_plugin_that_breaks_it():
    shown = {broken_by(kind, name) for kind, _, name in BROKEN}
    assert {check.name for checks in CHECKS.values() for check in checks} - NEVER_FAILS == shown
