"""Files that users own, read into plain records: one entry point per kind, nothing is printed.

`detect` names a file's kind; `read_topology`, `read_flows`, `read_hpcc_config` and
`read_simai_workload` read it; `facts` and `describe` say what was understood; `FctWriter` and
`write_fct` write the one output table that existing scripts parse. Whatever a file holds, the only
exception that leaves this package for it is InputError.
"""

from .describe import describe, describe_facts, facts, flow_facts, topology_facts, workload_facts
from .detect import KINDS, detect
from .fct import FctWriter, fct_line, write_fct
from .flows import Flow, FlowsFile, number_ports, read_flows
from .hpcc_config import HpccConfig, read_hpcc_config
from .hpcc_trace import read_hpcc_trace
from .htsim import Connection, ConnectionMatrix, read_cm
from .simai_workload import SimaiOp, SimaiRow, SimaiWorkload, read_simai_workload
from .topology import FORMATS, TopologyFile, distances_from, read_topology

__all__ = [
    "FORMATS",
    "KINDS",
    "Connection",
    "ConnectionMatrix",
    "FctWriter",
    "Flow",
    "FlowsFile",
    "HpccConfig",
    "SimaiOp",
    "SimaiRow",
    "SimaiWorkload",
    "TopologyFile",
    "describe",
    "describe_facts",
    "detect",
    "distances_from",
    "facts",
    "fct_line",
    "flow_facts",
    "number_ports",
    "read_cm",
    "read_flows",
    "read_hpcc_config",
    "read_hpcc_trace",
    "read_simai_workload",
    "read_topology",
    "topology_facts",
    "workload_facts",
    "write_fct",
]
