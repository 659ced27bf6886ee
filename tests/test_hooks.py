"""One test per hook, `test_hook_NAME`: what it is for, seen from the outside; and the order of all calls in a run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from wormhole_core import hooks
from wormhole_core.api import load, simulate
from wormhole_core.cli import main
from wormhole_core.run.experiment import MODES

DOCS = Path(__file__).resolve().parents[1] / "docs"
SMALL = {
    "topology": {"plugin": "star", "hosts": 3},
    "workload": {"plugin": "incast", "size_bytes": 3000},
    "cca": {"plugin": "none"},
}


def example(hook: str) -> str:
    """The plugin that docs/hooks.md shows for a hook: the last block of its section."""
    (section,) = re.findall(rf"^## {hook}$(.*?)(?=^## |\Z)", (DOCS / "hooks.md").read_text(), re.MULTILINE | re.DOTALL)
    return re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[-1]


@pytest.fixture
def documented(tmp_path):
    """Loads the documented example of a hook; returns all that is loaded."""

    def load_example(hook: str):
        path = tmp_path / "documented.py"
        path.write_text(example(hook))
        plugins = load([str(path)])
        (info,) = (info for info in plugins.infos if info.name == "documented")
        assert info.hooks == (hook,)
        return plugins

    return load_example


def test_every_hook_has_a_test_here():
    tested = {name.removeprefix("test_hook_") for name in globals() if name.startswith("test_hook_")}
    assert tested == {name.removeprefix("wormhole_") for name in vars(hooks) if name.startswith("wormhole_")}


def test_hook_ccas(documented):
    plugins = documented("wormhole_ccas")
    result = simulate(SMALL, {"cca.plugin": "two-packets", "workload.size_bytes": 100_000}, plugins=plugins)
    # With two packets in flight a flow needs at least a round trip (4 us) for every two of its hundred packets.
    assert all(flow.fct_ps > 50 * 4_000_000 for flow in result.flows)
    assert ("cca", "two-packets") in used(result)


def test_hook_topologies(documented):
    result = simulate(SMALL, {"topology.plugin": "wire"}, plugins=documented("wormhole_topologies"))
    assert result.summary["hosts"] == 2 and len(result.links) == 2


def test_hook_routings(documented):
    leaves = {"topology.plugin": "leaf-spine", "routing.plugin": "last-link", "workload.plugin": "permutation"}
    result = simulate(SMALL, leaves, plugins=documented("wormhole_routings"))
    assert result.summary["status"] == "complete"
    switches = {link.node for link in result.links} - set(range(result.summary["hosts"]))
    uplinks = {link.peer for link in result.links if link.node in switches and link.peer in switches and link.tx_bytes}
    spines = {link.peer for link in result.links if link.node == min(switches) and link.peer in switches}
    assert len(spines & uplinks) == 1 and len(spines) > 1  # one spine carries everything


def test_hook_workloads(documented):
    result = simulate(SMALL, {"workload.plugin": "one-transfer"}, plugins=documented("wormhole_workloads"))
    assert [(flow.src, flow.dst, flow.size_bytes) for flow in result.flows] == [(0, 2, 100_000)]


@pytest.mark.parametrize(
    ("hook", "kind", "name"),
    [
        ("wormhole_partitioners", "partitioner", "even-odd"),
        ("wormhole_memo_backends", "memo", "forgetful"),
        ("wormhole_fast_forward_policies", "fast_forward", "never"),
    ],
)
def test_accelerator_kinds_are_used_by_name(documented, hook, kind, name):
    plugins = documented(hook)
    result = simulate(SMALL, {f"acceleration.{kind}": name}, plugins=plugins, **ACCELERATED)
    assert result.summary["status"] == "complete"
    assert name in {component for _, component in used(result)}


def test_hook_partitioners(documented):
    built = documented("wormhole_partitioners").registry.get("partitioner", "even-odd").component.build(None)
    assert set(built.resources([(2, 0), (4, 1)])) == {0} and set(built.resources([(2, 0), (3, 1)])) == {0, 1}


def test_hook_memo_backends(documented):
    backend = documented("wormhole_memo_backends").registry.get("memo-backend", "forgetful").component.build(None)
    backend.put(b"k" * 32, b"value", 1)
    assert backend.get(b"k" * 32) is None and backend.size_bytes() == 0


def test_hook_fast_forward_policies(documented):
    names = documented("wormhole_fast_forward_policies").registry.names("fast-forward")
    assert "never" in names and "off" in names


def test_hook_observers(documented, monkeypatch):
    plugins = documented("wormhole_observers")
    made = []
    component = plugins.registry.get("observer", "counter").component
    counter = component.build
    monkeypatch.setattr(counter, "close", lambda self: made.append(self.flows), raising=False)
    simulate(SMALL, {"observers.counter": "counter"}, plugins=plugins)
    assert made == [2]


def test_hook_commands(tmp_path, capsys):
    path = tmp_path / "documented.py"
    path.write_text(example("wormhole_commands"))
    assert main(["hello", "--plugin", str(path)]) == 0
    assert re.fullmatch(r"\d+ plugins\n", capsys.readouterr().out)


def test_hook_run_started(documented):
    simulate(SMALL, plugins=documented("wormhole_run_started"))


def test_hook_run_finished(documented):
    simulate(SMALL, plugins=documented("wormhole_run_finished"), seed=4)


def used(result) -> set[tuple[str, str]]:
    components = result.summary["manifest"]["plugins"]["components"]
    return {(component["kind"], component["name"]) for component in components}


# --- the order of calls ---

RECORDER = Path(__file__).resolve().parent / "data" / "calls.py"
ACCELERATED = {"mode": "wormhole"} if "wormhole" in MODES else {}


def calls(tmp_path, monkeypatch, arguments: str = "") -> list[str]:
    """What a plugin that writes down its calls (`data/calls.py`) saw in a run of one flow, repeats left out."""
    monkeypatch.setenv("WORMHOLE_TEST_CALLS", str(tmp_path / "calls.json"))
    command = (
        f"run --plugin {RECORDER} --topology seen --workload seen --cca seen --routing seen "
        f"--set observers.seen=seen --quiet {arguments}"
    )
    main(command.split())
    seen = json.loads((tmp_path / "calls.json").read_text())
    return list(dict.fromkeys(seen))


def documented_order() -> list[str]:
    text = (DOCS / "order-of-calls.md").read_text()
    (block,) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line.split("  ")[0].strip() for line in block.splitlines() if not line.startswith(("#", " ")) and line]


def test_the_order_of_calls_is_the_documented_one(tmp_path, monkeypatch, capsys):
    assert calls(tmp_path, monkeypatch) == documented_order()


def test_life_cycle_hooks_enclose_the_run(tmp_path, monkeypatch, capsys):
    seen = calls(tmp_path, monkeypatch)
    started, finished = seen.index("wormhole_run_started"), seen.index("wormhole_run_finished")
    builds = [place for place, name in enumerate(seen) if name.endswith(".build") and not name.startswith("Cca")]
    moving = [seen.index(name) for name in ("Cca.on_ack", "Observer.flow_started", "Observer.flow_finished")]
    assert max(builds) < started < min(moving) and max(moving) < finished
    assert seen.count("wormhole_run_started") == seen.count("wormhole_run_finished") == 1


def test_a_failed_run_is_finished_with_its_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WORMHOLE_TEST_FAIL", "1")
    seen = calls(tmp_path, monkeypatch)
    assert seen[-3:] == ["Cca.on_ack", "wormhole_run_finished (error)", "Observer.close"]
    assert "wormhole_run_finished" not in seen
