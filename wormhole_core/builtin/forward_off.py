"""`off`: never skips. Every packet is simulated unless a remembered episode is reused."""

from __future__ import annotations

from wormhole_core import Component, FastForwardPolicy, NoConfig, PartitionInfo, Sample, SkipPlan, Stream

NEVER_PS = 1 << 62


class Off(FastForwardPolicy):
    """Asks to be sampled at a time no run reaches (53 days) and answers None."""

    __slots__ = ()

    def interval_ps(self) -> int:
        return NEVER_PS

    def observe(self, sample: Sample) -> SkipPlan | None:
        return None


def _build(_config: NoConfig, _partition: PartitionInfo, _rng: Stream) -> Off:
    return Off()


OFF = Component(name="off", build=_build, summary="never skips", traits={"never_skips": True})
