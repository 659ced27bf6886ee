"""Trains of busy periods: what the audit simulates as one scenario, and what its trials gave."""

from __future__ import annotations

from typing import Any, NamedTuple

from .busy import Causes, Link
from .resimulation import Stretch, Trial

FEWEST = 3
"""Samples it takes to speak of a spread."""


class Train(NamedTuple):
    """Successive busy periods of a chain that overlap. following: the next of the chain, None at its end."""

    links: tuple[Link, ...]
    following: Link | None

    @property
    def begin_ps(self) -> int:
        """When it began in the run."""
        return self.links[0].unit.start_ps

    @property
    def span_ps(self) -> int:
        """From its beginning to that of what follows, or to its end."""
        end = self.links[-1].unit.end_ps if self.following is None else self.following.unit.start_ps
        return end - self.begin_ps


class Kind:
    """Trains that are the same at packet level, and what their trials gave."""

    def __init__(self, train: Train, classes: list[Any]) -> None:
        self.train, self.classes = train, classes
        self.count = 0
        self.length = self._shortest()
        self.trials: list[Trial] = []
        self.exact = all(link.unit.exact for link in train.links)
        self.drew = any(link.unit.drew for link in train.links)

    def _shortest(self) -> int:
        """Busy periods from the first on, such that there are samples of every class."""
        need = {c: min(FEWEST, self.classes.count(c)) for c in self.classes}
        for length, c in enumerate(self.classes, 1):
            need[c] -= 1
            if all(left <= 0 for left in need.values()):
                return length
        return len(self.classes)

    def stretch(self, causes: Causes) -> Stretch:
        """What is simulated of it."""
        links, n = self.train.links, self.length
        return Stretch(links[:n], links[n] if n < len(links) else self.train.following, causes)

    def value_ps(self, trial: Trial) -> float:
        """Time the simulated part took in a trial."""
        if trial.next_ps is None:
            return trial.ends_ps[-1] - trial.begins_ps[0]
        return trial.next_ps - trial.begins_ps[0]

    @property
    def settled(self) -> bool:
        """Whether more trials would give the same."""
        values = [self.value_ps(t) for t in self.trials]
        return bool(values) and (not self.trials[0].random or (len(values) > 1 and len(set(values)) == 1))

    @property
    def known(self) -> bool:
        """Whether there are enough trials."""
        return self.exact or self.settled or len(self.trials) >= FEWEST
