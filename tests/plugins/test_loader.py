"""Loading: real distributions on the path (metadata and modules written per test), nothing mocked."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

import wormhole_core.builtin
from wormhole_core import PLUGIN_API, __version__
from wormhole_core.errors import ConfigError, InputError, PluginError
from wormhole_core.plugins import load_plugins

OWN = ("cca", "topologies", "workloads")
HEAD = "from wormhole_core import Component, hookimpl\n"
ONE = (
    HEAD
    + """
@hookimpl
def wormhole_ccas():
    return [Component(name='{0}', build=lambda *a: a, summary='a test')]
"""
)


class Site:
    """A folder on `sys.path` that distributions can be put into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def add(self, distribution: str, version: str, entry: str, module: str, code: str, suffix="dist-info") -> None:
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.{suffix}"
        info.mkdir()
        metadata = "PKG-INFO" if suffix == "egg-info" else "METADATA"
        (info / metadata).write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[wormhole_sim]\n{entry} = {module}\n")
        (self.folder / f"{module}.py").write_text(code)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """An empty site; the project's own plugins are switched off, modules are forgotten afterwards."""
    monkeypatch.setenv("WORMHOLE_DISABLE_PLUGINS", ",".join(OWN))
    before = set(sys.modules)
    place = Site(tmp_path / "site")
    monkeypatch.syspath_prepend(place.folder)
    yield place
    for name in set(sys.modules) - before:
        if name.startswith(("wt_", "wormhole_plugin_file")):
            del sys.modules[name]


def refusal(**arguments) -> str:
    with pytest.raises(PluginError) as caught:
        load_plugins(**arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_plugin_offers_components_with_their_origin(site):
    site.add("fancy-cca", "3.1", "fancy", "wt_fancy", ONE.format("bbr"))
    entry = load_plugins().registry.get("cca", "bbr")
    assert (entry.plugin, entry.distribution, entry.version) == ("fancy", "fancy-cca", "3.1")
    assert entry.owner == "cca 'bbr' (fancy-cca 3.1)"


def test_order_is_by_name_not_by_installation(site, tmp_path, monkeypatch):
    site.add("zzz", "1", "alpha", "wt_alpha", ONE.format("a"))
    site.add("aaa", "1", "omega", "wt_omega", ONE.format("o"))
    first = [info.name for info in load_plugins().infos]
    other = Site(tmp_path / "other")
    other.add("mmm", "1", "middle", "wt_middle", ONE.format("m"))
    monkeypatch.syspath_prepend(other.folder)
    assert first == ["alpha", "omega"]
    assert [info.name for info in load_plugins().infos] == ["alpha", "middle", "omega"]


def test_a_distribution_seen_twice_counts_once(site, tmp_path, monkeypatch):
    site.add("fancy-cca", "3.1", "fancy", "wt_fancy", ONE.format("bbr"))
    checkout = Site(tmp_path / "checkout")
    checkout.add("fancy-cca", "3.1", "fancy", "wt_fancy", ONE.format("bbr"), suffix="egg-info")
    monkeypatch.syspath_prepend(checkout.folder)
    assert [info.name for info in load_plugins().infos] == ["fancy"]


def test_one_plugin_name_in_two_distributions_is_refused(site):
    site.add("wormhole-x", "0.1", "same", "wt_one", ONE.format("a"))
    site.add("other-x", "2.0", "same", "wt_two", ONE.format("b"))
    assert refusal() == (
        "plugin 'same' of other-x 2.0 and plugin 'same' of wormhole-x 0.1 use the same plugin name; "
        "uninstall one, or set WORMHOLE_DISABLE_PLUGINS=same to run without both"
    )
    assert load_plugins(disabled=["same"]).infos == ()
    tolerant = load_plugins(tolerant=True)
    assert [b.distribution for b in tolerant.broken] == ["other-x", "wormhole-x"] and tolerant.infos == ()


def test_one_component_name_in_two_plugins_is_refused(site):
    site.add("a-cca", "1", "a", "wt_a", ONE.format("bbr"))
    site.add("b-cca", "2", "b", "wt_b", ONE.format("bbr"))
    assert refusal() == (
        "plugin 'a' of a-cca 1 and plugin 'b' of b-cca 2 both offer the cca 'bbr'; "
        "disable one of them (--disable-plugin b)"
    )
    assert load_plugins(disabled=["b"]).registry.get("cca", "bbr").plugin == "a"


def test_tolerant_loading_drops_all_a_refused_plugin_offers(site):
    lone = "@hookimpl\ndef wormhole_routings():\n    return [Component(name='lone', build=print, summary='s')]\n"
    site.add("a-cca", "1", "a", "wt_a", ONE.format("bbr"))
    site.add("b-cca", "2", "b", "wt_b", ONE.format("bbr") + lone)
    plugins = load_plugins(tolerant=True)
    assert [(b.name, "both offer the cca 'bbr'" in b.error) for b in plugins.broken] == [("b", True)]
    assert [e.owner for e in plugins.registry.entries()] == ["cca 'bbr' (a-cca 1)"]
    assert [i.name for i in plugins.infos] == ["a"] and not plugins.manager.has_plugin("b")


def test_one_component_name_twice_in_one_plugin_is_refused(site):
    code = ONE.format("bbr").replace("return [", "return 2 * [")
    site.add("a-cca", "1", "a", "wt_a", code)
    assert "plugin 'a' of a-cca 1 offers the cca 'bbr' twice" in refusal()


def test_a_broken_import_names_distribution_cause_place_and_switch(site):
    site.add("fancy-cca", "3.1", "bad", "wt_bad", "import os\nimport wt_not_there\n")
    with pytest.raises(PluginError) as caught:
        load_plugins()
    message = str(caught.value)
    start = "plugin 'bad' of fancy-cca 3.1 failed to load: ModuleNotFoundError: No module named 'wt_not_there'"
    assert message.startswith(start)
    assert "wt_bad.py:2" in message
    assert message.endswith("(set WORMHOLE_DISABLE_PLUGINS=bad to run without it)")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert load_plugins(disabled=["bad"]).broken == ()


@pytest.mark.parametrize(
    "code", ["raise SystemExit(3)", "def f(:\n", "raise ValueError('two\\nlines')", "raise KeyError"]
)
def test_whatever_a_plugin_raises_is_one_line(site, code):
    site.add("fancy-cca", "3.1", "bad", "wt_bad", code)
    assert "plugin 'bad' of fancy-cca 3.1 failed to load" in refusal()


def test_tolerant_loading_lists_the_broken_and_keeps_the_rest(site):
    site.add("bad-cca", "1", "bad", "wt_bad", "import wt_not_there\n")
    site.add("good-cca", "1", "good", "wt_good", ONE.format("fine"))
    plugins = load_plugins(tolerant=True, files=["missing.py"])
    broken = [(b.name, b.distribution, b.version) for b in plugins.broken]
    assert broken == [("bad", "bad-cca", "1"), ("missing", "missing.py", "")]
    assert "wt_not_there" in plugins.broken[0].error
    assert plugins.registry.names("cca") == ("fine",)
    assert [info.name for info in plugins.infos] == ["good"]


def test_an_unknown_hook_is_an_error_with_a_near_match(site):
    site.add("a-cca", "1", "a", "wt_a", ONE.format("x").replace("wormhole_ccas", "wormhole_cca"))
    told = "plugin 'a' of a-cca 1 implements the unknown hook 'wormhole_cca'; did you mean 'wormhole_ccas'?"
    assert told in refusal()


def test_an_unknown_hook_marked_optional_is_for_another_version(site):
    code = ONE.format("x") + "@hookimpl(optionalhook=True)\ndef wormhole_from_the_future():\n    return []\n"
    site.add("a-cca", "1", "a", "wt_a", code)
    assert load_plugins().registry.names("cca") == ("x",)


def test_a_wrong_argument_is_named(site):
    site.add("a-cca", "1", "a", "wt_a", HEAD + "@hookimpl\ndef wormhole_ccas(registry):\n    return []\n")
    message = refusal()
    assert "plugin 'a' of a-cca 1" in message and "registry" in message


@pytest.mark.parametrize("hook", ["wormhole_ccas()", "wormhole_commands(subparsers)"])
def test_registration_hooks_may_not_be_wrapped(site, hook):
    site.add("a-cca", "1", "a", "wt_a", HEAD + f"@hookimpl(wrapper=True)\ndef {hook}:\n    return (yield)\n")
    told = "is a wrapper; registration hooks are called one by one, so only life-cycle hooks may be wrapped"
    assert told in refusal()


def test_a_life_cycle_hook_may_be_wrapped(site):
    code = HEAD + "SEEN = []\n@hookimpl(wrapper=True)\ndef wormhole_run_started(run):\n"
    code += "    SEEN.append(run)\n    return (yield)\n"
    site.add("a-cca", "1", "a", "wt_a", code)
    load_plugins().hook.run_started("the run")
    assert sys.modules["wt_a"].SEEN == ["the run"]


def test_a_forgotten_mark_and_an_empty_plugin_are_told(site):
    site.add("a-cca", "1", "a", "wt_a", "def wormhole_ccas():\n    return []\n")
    assert "wormhole_ccas is not marked; put @hookimpl above it" in refusal()
    site.add("b-cca", "1", "b", "wt_b", "x = 1\n")
    assert "plugin 'b' of b-cca 1 implements no hook" in refusal(disabled=["a"])


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("None", "returned None; return a list of Component"),
        ("3", "returned 3 (int)"),
        ("Component(name='x', build=print, summary='s')", "return a list of Component"),
        ("[print]", "offers <built-in function print>"),
        ("[Component]", "offers the class Component"),
        ("[Component(name='x', build=3, summary='s')]", "build is 3 (int)"),
        ("[Component(name='x', build=print, summary='s', config=dict)]", "config is the class dict"),
        ("[Component(name='x', build=print, summary=' ')]", "summary is ' '"),
        ("[Component(name='Bad Name', build=print, summary='s')]", "ValueError"),
        ("1 / 0", "wormhole_ccas failed: ZeroDivisionError"),
    ],
)
def test_what_a_registration_hook_returns_is_checked(site, returned, told):
    site.add("a-cca", "1", "a", "wt_a", HEAD + f"@hookimpl\ndef wormhole_ccas():\n    return {returned}\n")
    message = refusal()
    assert message.startswith("plugin 'a' of a-cca 1: wormhole_ccas") and told in message
    plugins = load_plugins(tolerant=True)
    assert [b.name for b in plugins.broken] == ["a"] and plugins.infos == ()


def test_a_file_is_a_plugin(site, tmp_path):
    path = tmp_path / "my_cca.py"
    path.write_text(ONE.format("mine"))
    plugins = load_plugins(files=[path])
    entry = plugins.registry.get("cca", "mine")
    assert entry.owner == f"cca 'mine' ({path})"
    assert (entry.plugin, entry.version[:7]) == ("my_cca", "sha256:")
    path.write_text(ONE.format("mine") + "# changed\n")
    assert load_plugins(files=[str(path)]).registry.get("cca", "mine").version != entry.version


def test_a_module_is_a_plugin(site):
    (site.folder / "wt_loose.py").write_text(ONE.format("loose"))
    assert load_plugins(files=["wt_loose"]).registry.get("cca", "loose").plugin == "wt_loose"


def test_a_missing_or_broken_file(site, tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.py: no such plugin file"):
        load_plugins(files=["nowhere.py"])
    path = tmp_path / "broken.py"
    path.write_text("\n1 / 0\n")
    message = refusal(files=[str(path)])
    assert f"ZeroDivisionError: division by zero at {path}:2 (leave out --plugin {path} to run without it)" in message


def test_one_module_twice_is_refused(site):
    site.add("a-cca", "1", "a", "wt_a", ONE.format("x"))
    assert "is already loaded as plugin 'a'" in refusal(files=["wt_a"])


def test_disabling_a_name_nobody_has(site):
    site.add("a-cca", "1", "fancy", "wt_a", ONE.format("x"))
    with pytest.raises(ConfigError, match="no plugin 'fancyy' to disable; did you mean 'fancy'"):
        load_plugins(disabled=["fancyy"])


def test_the_variable_disables(site, monkeypatch):
    site.add("a-cca", "1", "fancy", "wt_a", "1 / 0")
    monkeypatch.setenv("WORMHOLE_DISABLE_PLUGINS", "fancy, not-here,".join(["", *OWN]) + ",cca, fancy")
    plugins = load_plugins(disabled=OWN)
    assert plugins.infos == () and "fancy" in plugins.disabled


def test_tracing_tells_loads_and_calls(site, monkeypatch, capsys):
    monkeypatch.setenv("WORMHOLE_TRACE_PLUGINS", "1")
    code = ONE.format("x") + "@hookimpl\ndef wormhole_run_started(run):\n    pass\n"
    site.add("a-cca", "1", "a", "wt_a", code)
    load_plugins().hook.run_started("r")
    text = capsys.readouterr().err
    assert "plugin 'a' of a-cca 1 loaded in" in text
    assert "wormhole_ccas -> x" in text and "wormhole_run_started(run) -> a" in text
    monkeypatch.setenv("WORMHOLE_TRACE_PLUGINS", "0")
    load_plugins()
    assert capsys.readouterr().err == ""


def test_commands(site):
    code = HEAD + "@hookimpl\ndef wormhole_commands(subparsers):\n"
    code += "    subparsers.add_parser('hello').set_defaults(run=len)\n"
    site.add("a-cca", "1", "a", "wt_a", code)
    site.add("b-cca", "1", "b", "wt_b", HEAD + "@hookimpl\ndef wormhole_commands(subparsers):\n    1 / 0\n")
    parser = argparse.ArgumentParser()
    plugins = load_plugins(tolerant=True)
    plugins.hook.add_commands(parser.add_subparsers())
    assert parser.parse_args(["hello"]).run is len
    assert [(b.name, "ZeroDivisionError" in b.error) for b in plugins.broken] == [("b", True)]
    with pytest.raises(PluginError, match="plugin 'b' of b-cca 1: wormhole_commands failed: ZeroDivisionError"):
        load_plugins().hook.add_commands(argparse.ArgumentParser().add_subparsers())


def test_life_cycle_errors_are_attributed_and_keep_their_type(site):
    code = HEAD + "@hookimpl\ndef wormhole_run_finished(run, result, error):\n    raise OSError('full')\n"
    site.add("rec", "4", "recorder", "wt_rec", code)
    hook = load_plugins().hook
    with pytest.raises(OSError, match="full") as caught:
        hook.run_finished("run", None, ValueError("x"))
    assert caught.value.__notes__[0].startswith("raised inside plugin 'recorder' of rec 4, at ")
    with pytest.raises(ValueError, match="exactly one"):
        hook.run_finished("run", None, None)


def test_manifest_names_the_code_behind_a_result(site):
    site.add("a-cca", "1", "a", "wt_a", ONE.format("x"))
    plugins = load_plugins(builtin=["wormhole_core.builtin.plugin"])
    manifest = plugins.manifest([("routing", "ecmp"), ("cca", "x"), ("cca", "x")])
    assert manifest["core_version"] == __version__ and manifest["plugin_api"] == PLUGIN_API
    assert manifest["plugins"] == [
        {"name": "a", "distribution": "a-cca", "version": "1"},
        {"name": "builtin", "distribution": "wormhole-sim", "version": __version__},
    ]
    assert [(c["kind"], c["name"], c["plugin"]) for c in manifest["components"]] == [
        ("cca", "x", "a"),
        ("routing", "ecmp", "builtin"),
    ]


def test_run_time_errors_are_attributed_to_the_innermost_plugin(site):
    site.add("outer-cca", "1", "outer", "wt_outer", ONE.format("o") + "def call(f):\n    f()\n")
    site.add("inner-cca", "2", "inner", "wt_inner", ONE.format("i") + "def fail():\n    [].index(3)\n")
    plugins = load_plugins()
    outer, inner = sys.modules["wt_outer"], sys.modules["wt_inner"]
    with pytest.raises(ValueError, match="not in list") as caught:
        outer.call(inner.fail)
    assert plugins.attribute(caught.value).name == "inner"
    plugins.attribute(caught.value)
    assert len(caught.value.__notes__) == 1 and "plugin 'inner' of inner-cca 2" in caught.value.__notes__[0]
    built_in = load_plugins(builtin=["wormhole_core.builtin.plugin", "wormhole_core.hooks"], tolerant=True)
    folder = Path(wormhole_core.builtin.__file__).parent
    assert [info.roots for info in built_in.infos if info.source == "built-in"] == [(str(folder),)]
    own = ValueError()
    assert plugins.attribute(own) is None and not hasattr(own, "__notes__")


def test_build_errors_name_the_component(site):
    code = ONE.format("x").replace("lambda *a: a", "lambda *a: 1 / 0")
    site.add("a-cca", "1", "a", "wt_a", code)
    with pytest.raises(PluginError, match=r"while building cca 'x' \(a-cca 1\): ZeroDivisionError") as caught:
        load_plugins().registry.get("cca", "x").build(None)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_the_projects_own_plugins_load():
    plugins = load_plugins(builtin=["wormhole_core.builtin.plugin"])
    assert [info.name for info in plugins.infos] == ["builtin", *OWN]
