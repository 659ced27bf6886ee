"""Every hook specification: what it fills, who is called, and that none depends on order."""

from __future__ import annotations

import argparse

import pluggy
import pytest

from wormhole_core import Component, hookimpl, hooks
from wormhole_core.plugins import load_plugins

SPECS = sorted(name for name in vars(hooks) if name.startswith("wormhole_"))
LIFE_CYCLE = {"wormhole_run_started", "wormhole_run_finished"}


def load(monkeypatch, tmp_path, text: str):
    monkeypatch.setenv("WORMHOLE_DISABLE_PLUGINS", "cca,topologies,workloads")
    path = tmp_path / "mine.py"
    path.write_text("from wormhole_core import Component, hookimpl\nSEEN = []\n" + text)
    return load_plugins(files=[path])


def test_the_specifications_are_registration_commands_and_life_cycle():
    assert set(SPECS) == {*hooks.KINDS.values(), "wormhole_commands", *LIFE_CYCLE}
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    for name in SPECS:
        options = getattr(manager.hook, name).spec.opts
        assert not options["firstresult"] and not options["historic"], name
        assert (getattr(hooks, name).__doc__ or "").strip(), name


@pytest.mark.parametrize(("kind", "hook"), hooks.KINDS.items())
def test_a_registration_hook_fills_its_kind(monkeypatch, tmp_path, kind, hook):
    text = f"@hookimpl\ndef {hook}():\n    yield Component(name='thing', build=lambda *a: a, summary='s')\n"
    registry = load(monkeypatch, tmp_path, text).registry
    assert [(e.kind, e.name) for e in registry.entries()] == [(kind, "thing")]


def test_hook_commands(monkeypatch, tmp_path):
    text = "@hookimpl\ndef wormhole_commands(subparsers):\n    subparsers.add_parser('x')\n"
    plugins = load(monkeypatch, tmp_path, text)
    subparsers = argparse.ArgumentParser().add_subparsers()
    plugins.hook.add_commands(subparsers)
    assert list(subparsers.choices) == ["x"]


def test_hooks_run_started_and_run_finished(monkeypatch, tmp_path):
    text = (
        "@hookimpl\ndef wormhole_run_started(run):\n    SEEN.append(('started', run))\n"
        "@hookimpl\ndef wormhole_run_finished(result, error):\n    SEEN.append(('finished', result, error))\n"
    )
    plugins = load(monkeypatch, tmp_path, text)
    plugins.hook.run_started("run")
    plugins.hook.run_finished("run", "result", None)
    seen = plugins.manager.get_plugin("mine").SEEN
    assert seen == [("started", "run"), ("finished", "result", None)]


def test_the_marker_is_the_public_one():
    @hookimpl
    def wormhole_ccas():
        return [Component(name="x", build=print, summary="s")]

    assert hookimpl is hooks.hookimpl and wormhole_ccas.wormhole_impl["specname"] is None
