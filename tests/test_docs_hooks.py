"""Every hook, contract, method and signature is documented as it is, and what is documented exists."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import wormhole_core
from wormhole_core import hooks

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
HOOKS = sorted(name for name in vars(hooks) if name.startswith("wormhole_"))
BASES = ("Cca", "CcaReceiver", "FastForwardPolicy", "MemoBackend", "Observer", "Partitioner", "Routing", "Workload")


def sections(text: str, level: str) -> dict[str, str]:
    """Heading -> text below it, up to the next heading of that level."""
    found = re.findall(rf"^{level} (\S.*?)\n(.*?)(?=^{level} |\Z)", text, re.MULTILINE | re.DOTALL)
    return {heading.strip(): body for heading, body in found}


def hook_faults(text: str) -> list[str]:
    """What is wrong with a page about hooks."""
    told = sections(text, "##")
    faults = [f"{name}: no such hook" for name in told if name not in HOOKS]
    for name in HOOKS:
        spec = getattr(hooks, name)
        signature = f"def {name}{inspect.signature(spec)}".replace("'", "")
        blocks = re.findall(r"^```python\n(.*?)^```$", told.get(name, ""), re.MULTILINE | re.DOTALL)
        if name not in told:
            faults.append(f"{name}: no section")
        elif not blocks or blocks[0].strip() != signature:
            faults.append(f"{name}: the first block must be {signature}")
        elif len(blocks) < 2 or f"def {name}(" not in blocks[-1]:
            faults.append(f"{name}: the last block must be an example")
        elif "Called " not in told[name]:
            faults.append(f"{name}: does not say when it is called")
    return faults


def test_every_hook_is_documented_with_its_exact_signature():
    assert hook_faults((DOCS / "hooks.md").read_text()) == []


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("## wormhole_ccas", "## wormhole_cca", "wormhole_ccas: no section"),
        ("## wormhole_ccas", "## wormhole_cca", "wormhole_cca: no such hook"),
        ("(run: RunInfo) -> None", "(run) -> None", "wormhole_run_started: the first block must be def"),
        ("error: BaseException | None", "error: Exception | None", "wormhole_run_finished: the first block must be"),
        ("Called once each time", "Comes each time", "wormhole_commands: does not say when it is called"),
    ],
)
def test_this_test_can_fail(before, after, told):
    text = (DOCS / "hooks.md").read_text()
    assert before in text
    assert any(fault.startswith(told) for fault in hook_faults(text.replace(before, after, 1)))


def test_hooks_may_take_what_they_are_documented_to_take():
    for name in HOOKS:
        spec = getattr(hooks, name)
        assert inspect.getdoc(spec), name
        for parameter in inspect.signature(spec).parameters.values():
            assert parameter.default is inspect.Parameter.empty, f"{name}: pluggy passes no defaults"


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("generate_contracts", DOCS / "generate_contracts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_contracts_is_what_the_code_says(generator):
    current, written = generator.page(), (DOCS / "contracts.md").read_text()
    assert current == written, "docs/contracts.md is out of date: run python docs/generate_contracts.py"


@pytest.mark.parametrize("name", BASES)
def test_every_method_of_a_base_class_has_a_section_with_its_exact_signature(name):
    base = getattr(wormhole_core, name)
    told = sections((DOCS / "contracts.md").read_text(), "####")
    methods = [method for method in vars(base) if inspect.isfunction(vars(base)[method]) and method[0] != "_"]
    assert methods
    for method in methods:
        signature = f"def {method}{inspect.signature(getattr(base, method))}".replace("'", "")
        assert signature in told[f"{name}.{method}"]


@pytest.mark.parametrize("name", BASES)
def test_every_method_of_a_base_class_is_called_or_written_in_a_test(name):
    base = getattr(wormhole_core, name)
    folders = (ROOT / "tests", ROOT / "wormhole_core" / "testing", *ROOT.glob("plugins/*/tests"))
    text = "\n".join(path.read_text() for folder in folders for path in sorted(folder.rglob("*.py")))
    for method in vars(base):
        if inspect.isfunction(vars(base)[method]) and not method.startswith("_"):
            assert re.search(rf"(\.|\bdef ){method}\(", text), f"no test calls {name}.{method}"


def test_base_classes_are_all_there_are():
    abstract = {
        name
        for name in wormhole_core.__all__
        if inspect.isclass(thing := getattr(wormhole_core, name))
        and thing.__module__.startswith("wormhole_core.contracts")
        and not hasattr(thing, "__attrs_attrs__")
        and any(inspect.isfunction(value) and not key.startswith("_") for key, value in vars(thing).items())
    }
    assert abstract == set(BASES)


def test_a_public_name_without_a_chapter_is_noticed(generator, monkeypatch):
    monkeypatch.setattr(wormhole_core, "__all__", [*wormhole_core.__all__, "secret"])
    with pytest.raises(LookupError, match=r"no chapter of docs/contracts\.md tells of secret"):
        generator.page()


def test_the_picture_names_what_the_page_lists():
    picture = (DOCS / "order-of-calls.svg").read_text()
    (block,) = re.findall(r"^```text\n(.*?)^```$", (DOCS / "order-of-calls.md").read_text(), re.MULTILINE | re.DOTALL)
    listed = [line.split("  ")[0].strip() for line in block.splitlines() if not line.startswith("#")]
    shown = re.findall(r">([^<>]+)</text>", picture)
    assert [name for name in shown if name in listed] == listed


def test_decisions_are_numbered_dated_and_answer_three_questions():
    notes = sorted((DOCS / "decisions").glob("*.md"))
    assert [note.name[:4] for note in notes] == [f"{number:04d}" for number in range(1, len(notes) + 1)]
    for note in notes:
        text = note.read_text()
        assert re.search(r"^Date: 20\d\d-\d\d-\d\d\.$", text, re.MULTILINE), note.name
        for heading in ("## Question", "## Choice", "## Reasons"):
            assert heading in text, f"{note.name} lacks {heading}"
        assert len(text.splitlines()) <= 60, f"{note.name} is not short"


def test_the_index_names_every_page():
    index = (DOCS / "README.md").read_text()
    for page in [*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md")]:
        assert page.name == "README.md" or f"({page.relative_to(DOCS)})" in index, page


def test_the_promise_names_the_number():
    assert f"`PLUGIN_API = {wormhole_core.PLUGIN_API}`" in (DOCS / "compatibility.md").read_text()
