"""Fixtures of the conformance kit: `pytest_plugins = ["wormhole_core.testing.pytest_plugin"]`.

Opt-in, not an entry point: that would be imported into every pytest run of every project that has
Wormhole installed, and before coverage starts. Heavy imports are inside the fixtures for the same
reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..contracts.cca import Cca, FlowInfo
    from ..contracts.result import Result
    from ..contracts.topology import Graph
    from ..plugins import Plugins
    from ..plugins.registry import Registry
    from ..rng import Stream
    from .forbid import ForbiddenUse

pytest.register_assert_rewrite("wormhole_core.testing.contracts")

_loaded: dict[str | None, Any] = {}


def _load(plugin: str | None) -> Plugins:
    """Built-in and installed plugins, and one more; once per process."""
    if plugin not in _loaded:
        from ..api import load

        _loaded[plugin] = load(plugins=[plugin] if plugin else [])
    return _loaded[plugin]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each set of options of a contract class is a test of its own."""
    if "kit_options" in metafunc.fixturenames:
        sets = getattr(metafunc.cls, "options", [{}])
        ids = [",".join(f"{key}={value}" for key, value in options.items()) or "default" for options in sets]
        metafunc.parametrize("kit_options", sets, ids=ids)


@pytest.fixture
def kit_plugins(request: pytest.FixtureRequest) -> Plugins:
    """What is loaded, with the plugin a contract class names."""
    return _load(getattr(request.cls, "plugin", None))


@pytest.fixture
def registry() -> Registry:
    """All components, built-in and installed."""
    return _load(None).registry


@pytest.fixture
def rng() -> Stream:
    """A random stream, the same in every test."""
    from ..rng import stream

    return stream(1, "kit")


@pytest.fixture
def make_cca() -> Callable[..., Cca]:
    """`make_cca(name, flow=SLOW_LINK, **options)`: a fresh congestion control."""
    from ..rng import stream
    from .doubles import SLOW_LINK

    def make(name: str, flow: FlowInfo = SLOW_LINK, **options: Any) -> Cca:
        plugins = _load(None)
        entry = plugins.registry.get("cca", name)
        return entry.build(plugins.make_config("cca", name, options), flow, stream(1, "kit", name))

    return make


@pytest.fixture
def two_hosts() -> Graph:
    """Two hosts on one switch, 25 Gbps."""
    from .doubles import build_star

    return build_star(2)


@pytest.fixture
def incast() -> Callable[..., dict[str, Any]]:
    """`incast(senders=4, size_bytes=100_000, **sections)`: an experiment in which all send to the last host."""

    def make(senders: int = 4, size_bytes: int = 100_000, **sections: Any) -> dict[str, Any]:
        return {
            "topology": {"plugin": "star", "hosts": senders + 1},
            "workload": {"plugin": "incast", "size_bytes": size_bytes},
            **sections,
        }

    return make


@pytest.fixture
def run_experiment() -> Callable[..., Result]:
    """`run_experiment(experiment, settings=None, **run)`: as `wormhole_core.api.simulate`, the kit's stand-ins
    (`kit-bundle`, `kit-shift`, `kit-window`) included."""
    from ..api import simulate
    from .doubles import with_doubles

    def run(experiment: Any, settings: dict[str, Any] | None = None, **options: Any) -> Result:
        return simulate(experiment, settings, plugins=with_doubles(_load(None)), **options)

    return run


@pytest.fixture
def forbid_wall_clock() -> Iterator[list[ForbiddenUse]]:
    """The clock raises when anything but the program itself looks at it."""
    from .forbid import CLOCK, forbidden

    with forbidden([CLOCK]) as seen:
        yield seen


@pytest.fixture
def forbid_global_random() -> Iterator[list[ForbiddenUse]]:
    """Global and system randomness raise."""
    from .forbid import RANDOM, forbidden

    with forbidden([RANDOM]) as seen:
        yield seen


@pytest.fixture
def forbid_environment() -> Iterator[list[ForbiddenUse]]:
    """Reading os.environ raises."""
    from .forbid import ENVIRONMENT, forbidden

    with forbidden([ENVIRONMENT]) as seen:
        yield seen
