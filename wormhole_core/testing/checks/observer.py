"""What an observer must do: listen to events that exist, with the right arguments, and change nothing."""

from __future__ import annotations

import inspect
from typing import Any

import attrs

from ...component import near_match
from ...contracts.observer import Observer, RunInfo
from ..doubles import with_doubles
from ..runs import STOP_PS, KitExperiment, kit_experiment
from ..subject import Subject
from ._register import check

EVENTS = tuple(name for name, value in vars(Observer).items() if callable(value) and not name.startswith("_"))


def run_info(subject: Subject) -> RunInfo:
    """A run that is about to start."""
    return RunInfo(mode="packet", model="event", seed=1, out_dir=None, hosts=(0, 1), experiment={}, manifest={})


@check("observer")
def listens_to_events(subject: Subject) -> str:
    """Each method it overrides takes the arguments the core passes; none is a misspelt event."""
    observer = subject.build(run_info(subject))
    subject.expect(isinstance(observer, Observer), "an Observer", type(observer).__name__)
    heard = []
    for name, method in inspect.getmembers(observer, callable):
        if name.startswith("_"):
            continue
        if name not in EVENTS:
            close = near_match(name, EVENTS)
            subject.expect(not close, "methods that are events, or no look-alikes", f"{name!r}{close}")
            continue
        if getattr(type(observer), name) is getattr(Observer, name):
            continue
        heard.append(name)
        passed = list(inspect.signature(getattr(Observer, name)).parameters)[1:]
        try:
            inspect.signature(method).bind(*passed)
        except TypeError as error:
            raise AssertionError(
                f"{subject.owner}: expected {name}({', '.join(passed)}); saw {inspect.signature(method)}: {error}"
            ) from None
    observer.close()
    return f"listens to {', '.join(heard) or 'nothing'}"


@check("observer")
def changes_nothing(subject: Subject) -> str:
    """A run with it has the same result as a run without, and it does not change what it is shown."""
    watched = kit_experiment(subject)
    bare = KitExperiment(
        sections={key: value for key, value in watched.sections.items() if key != "observers"},
        plugins=with_doubles(subject.plugins),
    )
    seen, wanted = _left(watched), _left(bare)
    for name, one in wanted.items():
        subject.expect(seen[name] == one, f"the same {name} with it as without", "other ones")
    return f"{len(wanted['flows'])} flows, {len(wanted['links'])} links"


def _left(experiment: KitExperiment) -> dict[str, list[Any]]:
    result = experiment.run(stop_ps=STOP_PS)
    return {
        "flows": [attrs.astuple(flow) for flow in result.flows],
        "links": [attrs.astuple(link) for link in result.links],
        "status": [result.summary["status"], result.summary["flows_done"], result.summary["bytes_done"]],
    }


@check("observer")
def closes_quietly(subject: Subject) -> None:
    """It can be closed without having seen anything, and twice."""
    observer = subject.build(run_info(subject))
    observer.close()
    observer.close()
