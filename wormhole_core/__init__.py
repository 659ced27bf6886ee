"""Wormhole: packet-level simulation of large-model training traffic that never simulates twice.

The map: `contracts` (what plugins promise), `hooks` (how they are offered), `sim` (the packet
model), `accel` (partition, skip, remember), `plugins` (loading), `builtin` (plugins shipped inside),
`run` (an experiment from file to result), `cli` (the command line), `testing` (kit for authors).
This module is the public face for plugin authors; `wormhole_core.api` is the way in for scripts.
"""

from .component import Component, NoConfig, between, non_negative, one_of, optional, positive
from .contracts.cca import Cca, CcaReceiver, Feedback, FlowInfo, HopRecord, LossKind
from .contracts.collectives import collective_bytes, collective_transfers, collective_volume
from .contracts.forward import FastForwardPolicy, PartitionInfo, Sample, SkipPlan
from .contracts.memo import MemoBackend
from .contracts.observer import Observer, RunInfo
from .contracts.partition import Partitioner
from .contracts.result import CollectiveRecord, FlowRecord, LinkRecord, Result
from .contracts.routing import FlowKey, Routing
from .contracts.topology import Graph, add_link, add_switch, check_graph, new_graph
from .contracts.workload import Collective, Compute, Transfer, Workload
from .hooks import hookimpl
from .rng import Stream, stream

__version__ = "0.1.0"
PLUGIN_API = 1

__all__ = [
    "PLUGIN_API",
    "Cca",
    "CcaReceiver",
    "Collective",
    "CollectiveRecord",
    "Component",
    "Compute",
    "FastForwardPolicy",
    "Feedback",
    "FlowInfo",
    "FlowKey",
    "FlowRecord",
    "Graph",
    "HopRecord",
    "LinkRecord",
    "LossKind",
    "MemoBackend",
    "NoConfig",
    "Observer",
    "PartitionInfo",
    "Partitioner",
    "Result",
    "Routing",
    "RunInfo",
    "Sample",
    "SkipPlan",
    "Stream",
    "Transfer",
    "Workload",
    "__version__",
    "add_link",
    "add_switch",
    "between",
    "check_graph",
    "collective_bytes",
    "collective_transfers",
    "collective_volume",
    "hookimpl",
    "new_graph",
    "non_negative",
    "one_of",
    "optional",
    "positive",
    "stream",
]
