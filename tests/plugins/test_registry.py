"""Look-up by kind and name, and what a user is told when it fails."""

from __future__ import annotations

import pytest

from wormhole_core import Component
from wormhole_core.errors import ConfigError
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
    assert registry.get("cca", "a").build(1, 2) == (1, 2)
