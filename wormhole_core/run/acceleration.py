"""The `[acceleration]` section: which partitioner, memo and fast-forward policy a run uses.

    [acceleration]
    partitioner = "ports"
    memo = "memory"             # or "none", or a table: {plugin = "sqlite", path = "memo.sqlite"}
    fast_forward = "settled"    # or "off", "none"
    tails = true
    audit = "50%"               # afterwards, simulate a sample again and estimate the error
    quantum_ps = 0

The section may stand in an experiment that is run in packet mode: it is checked, and has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs

from .. import __version__
from ..component import convert_field, near_match, non_negative
from ..contracts.memo import MemoBackend
from ..contracts.partition import Partitioner
from ..rng import stream

if TYPE_CHECKING:
    from .build import Choice
    from .experiment import Experiment

KINDS = {"partitioner": "partitioner", "memo": "memo-backend", "fast_forward": "fast-forward"}
"""Option of `[acceleration]` -> kind of component it names."""
DEFAULTS = {"partitioner": "ports", "memo": "memory", "fast_forward": "settled"}
NONE = "none"
"""What to write for no component at all; a partitioner there must be."""


@attrs.frozen(kw_only=True)
class Switches:
    """The options of the section that name no component."""

    tails: bool = True
    """Flows that end within a few round trips of each other are finished along their course. Without it
    a run gives the same completion times to the bit whatever is in the memo."""
    quantum_ps: int = non_negative(default=0)
    """Approximate matching: flows ready within so much of each other count as starting together, sizes
    that differ by less than a packet as equal. 0: matches are exact."""
    audit: float = non_negative(default=0.0)
    """Events to spend after the run on estimating how far its makespan is from packet mode's, as a share
    of the run's own: 10%, or 4 for four times as many. 0: no estimate."""


@attrs.frozen(kw_only=True)
class AccelerationConfig(Switches):
    """The whole section as `describe` shows it. Components may also be tables with `plugin` and options."""

    partitioner: str = DEFAULTS["partitioner"]
    """Which flows are simulated together."""
    memo: str = DEFAULTS["memo"]
    """Where episodes are remembered; none: nowhere."""
    fast_forward: str = DEFAULTS["fast_forward"]
    """When a steady partition is skipped; off or none: never."""


@attrs.frozen(kw_only=True)
class Acceleration:
    """What the section says, looked up and checked. None: not wanted, or not in this mode."""

    partitioner: Choice | None = None
    memo: Choice | None = None
    fast_forward: Choice | None = None
    switches: Switches = attrs.field(factory=Switches)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The components named."""
        return tuple(c for c in (self.partitioner, self.memo, self.fast_forward) if c is not None)

    def as_dict(self) -> dict[str, Any]:
        """For result.json: what was asked for."""
        return {
            **{name: NONE if (c := getattr(self, name)) is None else c.name for name in KINDS},
            **attrs.asdict(self.switches),
            "matches": "approximate" if self.switches.quantum_ps else "exact",
        }

    def open_memo(self) -> MemoBackend | None:
        """The store, to be closed by the caller; raises InputError for a file that is none."""
        return None if self.memo is None else self.memo.build()

    def make_policy(self, seed: int) -> Callable[[Any, int], Any] | None:
        """make_policy(info, number) of the engine; None if nothing is ever skipped."""
        choice = self.fast_forward
        if choice is None or choice.entry.component.traits.get("never_skips"):
            return None
        return lambda info, number: choice.build(info, stream(seed, "policy", number))

    def coarsen(self) -> Callable[[Any], Iterable[Any]] | None:
        """Extra resources of a flow by its ports; None if ports are all there is."""
        if self.partitioner is None:
            return None
        partitioner: Partitioner = self.partitioner.build()
        if type(partitioner).resources is Partitioner.resources:
            return None
        return lambda ports: partitioner.resources(tuple((p.node, p.link_index) for p in ports))

    def dynamics(self, others: Iterable[Choice]) -> bytes:
        """Digest of all code and options that shape how flows evolve; others: the components besides
        these that do. The memo is not among them, nor the seed."""
        from ..accel.identity import CORE_SOURCES, code_of, dynamics_digest

        parts: list[Any] = [__version__]
        sources: list[Any] = [*CORE_SOURCES]
        for choice in (*others, self.partitioner, self.fast_forward):
            if choice is None:
                parts.append(None)
                continue
            info = choice.entry.info
            parts += [choice.kind, choice.name, info.distribution, info.version, choice.config]
            sources += code_of(choice.entry.component.build, info.roots)
        return dynamics_digest(parts, sources)


def read_acceleration(
    experiment: Experiment, plugins: Any, wanted: bool, choose: Callable[..., Choice]
) -> Acceleration:
    """Look up and check the section. wanted: fill in what it does not say (mode wormhole); else only
    what is written there is checked. Raises ConfigError or InputError with the place."""
    section = experiment.sections["acceleration"]
    switches = {a.name: a for a in attrs.fields(Switches)}
    known = [*KINDS, *switches]
    values: dict[str, Any] = {}
    for key, value in section.items():
        where = experiment.origin("acceleration", key)
        if key not in known:
            raise where.error(
                f"[acceleration] has no option {key!r}{near_match(key, known) or ';'} options: {', '.join(known)}"
            )
        if key in switches:
            try:
                values[key] = convert_field(switches[key], value)
                attrs.evolve(Switches(), **{key: values[key]})
            except ValueError as error:
                raise where.error(f"acceleration.{key}: {error}") from None
    choices = {}
    for name, kind in KINDS.items():
        if name not in section and not wanted:
            continue
        value = section.get(name)
        if name != "partitioner" and NONE in (value, value.get("plugin") if isinstance(value, dict) else None):
            continue
        default = None if name in section else DEFAULTS[name]
        choices[name] = choose(experiment, plugins, "acceleration", name, kind, default)
    return Acceleration(**choices, switches=Switches(**values))
