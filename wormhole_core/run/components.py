"""Components that read users' files: topology `file`, workloads `flows` and `simai`.

Registered through the same hooks as any plugin; the file formats themselves are in `formats`.
"""

from __future__ import annotations

from typing import Any

import attrs

from .. import Component, Graph, Stream, Workload, hookimpl
from ..component import between, optional
from .simai_program import SimaiOptions


@attrs.frozen(kw_only=True)
class FileTopologyConfig:
    """A topology file in any format `wormhole-sim validate` understands."""

    path: str
    format: str = "auto"
    """How to read it, where the content does not say: neutral, hpcc, powertcp, simai, reverie."""
    loss: float = between(0.0, 1.0, default=0.0)
    """Loss per frame of links whose own is 0."""
    lenient: bool = False
    """Take what is there if the file has fewer rows than it declares."""


@attrs.frozen(kw_only=True)
class FlowsConfig:
    """A file of flows: our flows.csv or HPCC's flow.txt."""

    path: str
    paths: str | None = None
    """A paths.csv that pins routes."""
    lenient: bool = False


@attrs.frozen(kw_only=True)
class SimaiConfig(SimaiOptions):
    """A SimAI workload file and how it is laid on the hosts of the topology."""

    path: str
    tp: int | None = optional()
    """Tensor-parallel group size, instead of the file's."""
    ep: int | None = optional()
    """Expert-parallel group size, instead of the file's."""
    pp: int | None = optional()
    """Pipeline-parallel group size, instead of the file's."""
    lenient: bool = False
    """Run what is there if the file has another number of rows than it declares."""


def build_file_topology(config: FileTopologyConfig, rng: Stream) -> Graph:
    """The graph of a topology file; raises InputError."""
    from .formats import read_topology

    read = read_topology(config.path, format=config.format, lenient=config.lenient)
    if config.loss:
        for _, _, data in read.graph.edges(data=True):
            data["loss"] = data.get("loss") or config.loss
    read.graph.graph["notes"] = tuple(f"{config.path}: {note}" for note in read.notes)
    return read.graph


def build_flows(config: FlowsConfig, hosts: tuple[int, ...], rng: Stream, graph: Graph) -> Workload:
    """The flows of a file, each when its dependencies allow; raises InputError."""
    from .formats import read_flows
    from .workload_flows import FlowsWorkload

    read = read_flows(config.path, graph, paths=config.paths, lenient=config.lenient)
    records: list[Any] = list(read.flows)
    return FlowsWorkload(records, notes=[f"{config.path}: {note}" for note in read.notes])


def build_simai(config: SimaiConfig, hosts: tuple[int, ...], rng: Stream) -> Workload:
    """The collectives of a SimAI workload; raises InputError."""
    from .formats import read_simai_workload
    from .workload_simai import SimaiWorkload

    parsed = read_simai_workload(config.path, lenient=config.lenient)
    for name in ("tp", "ep", "pp"):
        if getattr(config, name) is not None:
            setattr(parsed, name, getattr(config, name))
    return SimaiWorkload(parsed, hosts, config)


@hookimpl
def wormhole_topologies() -> list[Component[Any]]:
    """The topology of a file."""
    return [
        Component(
            name="file",
            build=build_file_topology,
            summary="a topology file (ours, HPCC family, SimAI)",
            config=FileTopologyConfig,
        )
    ]


@hookimpl
def wormhole_workloads() -> list[Component[Any]]:
    """The workloads of files."""
    return [
        Component(
            name="flows",
            build=build_flows,
            summary="a file of flows (flows.csv, HPCC flow.txt), with dependencies",
            config=FlowsConfig,
            traits={"needs_graph": True},
        ),
        Component(
            name="simai",
            build=build_simai,
            summary="a SimAI workload file: layers, collectives and computing of a training step",
            config=SimaiConfig,
            reference="SimAI / ASTRA-sim text workloads",
        ),
    ]
