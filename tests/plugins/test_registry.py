"""Look-up by kind and name, and what a user is told when it fails."""

from __future__ import annotations

import pytest

from wormhole_core import Component, Partitioner
from wormhole_core.errors import ConfigError, PluginError
from wormhole_core.hooks import KINDS
from wormhole_core.plugins import Entry, PluginInfo, Registry

INFO = PluginInfo(name="p", source="entry-point", distribution="dist", version="1.2")


def filled(*names: str) -> Registry:
    registry = Registry()
    for name in names:
        component = Component(name=name, build=lambda *a: a, summary="s")
        registry.add(Entry(kind="cca", component=component, info=INFO))
    return registry


def test_unknown_names_get_a_near_match_and_the_list():
    with pytest.raises(ConfigError) as caught:
        filled("hpcc", "dctcp").get("cca", "dcttcp")
    assert str(caught.value) == "unknown cca 'dcttcp'; did you mean 'dctcp'? Known: dctcp, hpcc"
    with pytest.raises(ConfigError) as caught:
        filled("hpcc", "dctcp").get("cca", "zzz")
    assert str(caught.value) == "unknown cca 'zzz'. Known: dctcp, hpcc"
    with pytest.raises(ConfigError, match=r"unknown observer 'x'\. Known: none"):
        filled().get("observer", "x")


def test_unknown_kinds():
    with pytest.raises(ConfigError, match="unknown kind 'ccas'; did you mean 'cca'"):
        filled().names("ccas")


def test_names_are_sorted_and_entries_cover_every_kind():
    registry = filled("b", "a")
    assert registry.names("cca") == ("a", "b")
    assert [e.name for e in registry.entries()] == ["a", "b"]
    assert all(registry.names(kind) == () for kind in KINDS if kind != "cca")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_built_must_be_of_its_kind(kind):
    component = Component(name="odd", build=lambda *arguments: arguments, summary="s")
    entry = Entry(kind=kind, component=component, info=INFO)
    with pytest.raises(PluginError) as caught:
        entry.build(1, 2)
    told = str(caught.value)
    assert told.startswith(f"{kind} 'odd' (dist 1.2): build gave (1, 2) (tuple), expected a ")
    assert told.endswith(" (plugin 'p'; --disable-plugin p to run without it)")


def test_a_good_object_passes_through():
    class Mine(Partitioner):
        __slots__ = ()

    mine = Mine()
    component = Component(name="good", build=lambda: mine, summary="s")
    assert Entry(kind="partitioner", component=component, info=INFO).build() is mine
