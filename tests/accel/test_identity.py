"""The digest of the dynamics: what differs in one thing only must differ, what is the same must not."""

from __future__ import annotations

import itertools
import time
from functools import partial

import attrs
import pytest

from wormhole_core.accel import identity
from wormhole_core.accel.identity import canonical, code_of, dynamics_digest, network_parts, places_of
from wormhole_core.api import load
from wormhole_core.run.build import build
from wormhole_core.run.experiment import experiment_from
from wormhole_core.sim.config import NetworkConfig
from wormhole_core.sim.simulation import Simulation

BASE = {
    "topology": {"plugin": "star", "hosts": 3},
    "workload": {"plugin": "incast"},
    "cca": {"plugin": "hpcc"},
}


@pytest.fixture(scope="module")
def plugins():
    return load()


def built(plugins, changes: dict[str, object]):
    source = {name: dict(values) for name, values in BASE.items()}
    for key, value in changes.items():
        section, option = key.split(".")
        source.setdefault(section, {})[option] = value
    return build(experiment_from(source), plugins)


def digest(plugins, changes: dict[str, object] | None = None) -> bytes:
    parts = built(plugins, changes or {})
    return parts.acceleration.dynamics(parts.dynamics)


ONE_THING = [
    {"cca.plugin": "dcqcn"},
    {"cca.eta": 0.9},
    {"cca.max_stage": 4},
    {"cca.ai_rate_bps": "50Mbps"},
    {"routing.plugin": "flowlet"},
    {"acceleration.fast_forward": "rate-window"},
    {"acceleration.fast_forward": "none"},
    {"acceleration.fast_forward": {"plugin": "rate-window", "theta": 0.04}},
    {"acceleration.partitioner": "switches"},
]


def test_each_of_these_misses_the_others(plugins):
    seen = [digest(plugins), *(digest(plugins, change) for change in ONE_THING)]
    for (i, a), (j, b) in itertools.combinations(enumerate(seen), 2):
        assert a != b, (i, j)


@pytest.mark.parametrize(
    "change",
    [
        {"run.seed": 2}, {"acceleration.memo": "none"}, {"topology.hosts": 9}, {"workload.size_bytes": 10},
        {"cca.eta": 0.95}, {"acceleration.fast_forward": "settled"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_dynamics_or_the_default_hits(plugins, change):
    assert digest(plugins, change) == digest(plugins)


def network_digest(plugins, network: dict[str, object], hosts: int = 3, delay: str = "1us") -> bytes:
    parts = built(plugins, {"topology.hosts": hosts, "topology.delay_ps": delay})
    simulation = Simulation(
        parts.graph, NetworkConfig(**network), make_cca=parts.make_cca, workload=parts.workload, routing=parts.routing
    )
    return dynamics_digest(network_parts(simulation.network), ())


def other_value(field):
    """A value that is not the default and that NetworkConfig takes, or None if there is none to be had."""
    known = {
        "base_rtt": "global", "acks": "lane", "dependency": "sender", "nic_wake": "earliest", "order": "scheduled",
        "rto_ps": 7_000_000,
        "reliability": "selective-repeat", "pfc_headroom_rule": "three-delays",
        "ecn_map": {100_000_000_000: (1000, 2000, 0.5)},
    }  # fmt: skip
    if field.name in known:
        return known[field.name]
    default = field.default
    if isinstance(default, bool):
        return not default
    return 7_000 if default is None else default / 2 if isinstance(default, float) else default + 1


@pytest.mark.parametrize("field", attrs.fields(NetworkConfig), ids=lambda field: field.name)
def test_every_option_of_the_network_counts(plugins, field):
    if field.name in identity.NOT_DYNAMICS:
        assert network_digest(plugins, {field.name: ((10**12, 0, 3),)}) == network_digest(plugins, {})
    else:
        assert network_digest(plugins, {field.name: other_value(field)}) != network_digest(plugins, {})


def test_a_global_base_rtt_is_a_constant_of_the_network(plugins):
    near, far = ({"base_rtt": "global"} for _ in range(2))
    assert network_digest(plugins, near, delay="1us") != network_digest(plugins, far, delay="2us")
    assert network_digest(plugins, {}, delay="1us") == network_digest(plugins, {}, delay="2us")  # it is in keys
    assert network_digest(plugins, {}, hosts=3) == network_digest(plugins, {}, hosts=8)


CCA = """
import attrs
from wormhole_core import Cca, Component, hookimpl

@attrs.frozen(kw_only=True)
class Config:
    gain: float = 0.5

class Mine(Cca):
    __slots__ = ()
    def __init__(self):
        self.window_bytes, self.rate_bps = 30_000, None
    def on_ack(self, fb):
        pass
    def snapshot(self, now_ps, snd_una):
        return ()
    def restore(self, state, now_ps, snd_una):
        pass

@hookimpl
def wormhole_ccas():
    return [Component(name="mine", build=lambda config, flow, rng: Mine(), summary="a window", config=Config)]
"""


def test_an_edited_cca_file_misses(tmp_path):
    path = tmp_path / "mine.py"
    seen = []
    for text in (CCA, CCA.replace("30_000", "30_001"), CCA + "# a comment\n", CCA):
        path.write_text(text)
        seen.append(digest(load([str(path)]), {"cca.plugin": "mine"}))
    assert len(set(seen[:3])) == 3
    assert seen[0] == seen[3]


def test_an_edited_neighbour_in_the_package_of_a_cca_misses(tmp_path, monkeypatch):
    package = tmp_path / "some_ccas"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text('"""Nothing."""\n')
    (package / "plugin.py").write_text(CCA)
    helper = package / "deep" / "arithmetic.py"
    helper.write_text("HALF = 0.5\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins = load(["some_ccas.plugin"])
    before = digest(plugins, {"cca.plugin": "mine"})
    assert digest(plugins, {"cca.plugin": "mine"}) == before
    helper.write_text("HALF = 0.25\n")
    edited = digest(plugins, {"cca.plugin": "mine"})
    helper.rename(helper.with_name("arithmetics.py"))
    moved = digest(plugins, {"cca.plugin": "mine"})
    assert len({before, edited, moved}) == 3


def test_the_core_itself_counts(plugins, tmp_path, monkeypatch):
    names = {path.name for path in identity.CORE_SOURCES}
    assert names == {"sim", "accel", "contracts", "rng.py", "units.py"}
    assert all(path.exists() for path in identity.CORE_SOURCES)
    before = digest(plugins)
    extra = tmp_path / "more.py"
    extra.write_text("")
    monkeypatch.setattr(identity, "CORE_SOURCES", (*identity.CORE_SOURCES, extra))
    with_file = digest(plugins)
    extra.write_text("x = 1\n")
    assert len({before, with_file, digest(plugins)}) == 3


def test_sources_are_found_by_function_class_module_and_path(plugins, tmp_path):
    import wormhole_cca.hpcc as module

    (folder,) = places_of(module)
    assert folder.name == "wormhole_cca"
    component = plugins.registry.get("cca", "hpcc").component
    assert places_of(module.Hpcc) == places_of(component.build) == places_of(partial(component.build)) == (folder,)
    assert places_of(tmp_path) == (tmp_path.resolve(),)
    assert set(code_of(component.build, [str(folder)])) == {folder}
    ecmp = plugins.registry.get("routing", "ecmp")
    (builtin,) = code_of(ecmp.component.build, ecmp.info.roots)  # not the whole core
    assert builtin.name == "builtin"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0), (1, True), ("1", 1), (None, "None"), ((1, 2), (12,)), (("a", "b"), ("a,b",)), ({1: 2}, {1: 3}),
    ],
    ids=repr,
)  # fmt: skip
def test_values_that_differ_have_texts_that_differ(a, b):
    assert canonical(a) != canonical(b)
    assert dynamics_digest((a,), ()) != dynamics_digest((b,), ())


def test_the_order_of_a_mapping_does_not_count_that_of_parts_does():
    assert canonical({1: 2, 3: 4}) == canonical({3: 4, 1: 2})
    assert dynamics_digest((1, 2), ()) != dynamics_digest((2, 1), ())


def test_it_is_cheap(plugins):
    parts = built(plugins, {})
    parts.acceleration.dynamics(parts.dynamics)
    cheapest = min(_seconds(lambda: parts.acceleration.dynamics(parts.dynamics)) for _ in range(3))
    assert cheapest < 0.02


def _seconds(call) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started
