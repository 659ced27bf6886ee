"""An HPCC `config.txt` as sections of an experiment (`--hpcc-config`)."""

from __future__ import annotations

from typing import Any


def hpcc_sections(path: str) -> dict[str, dict[str, Any]]:
    """What the file says about network, congestion control, end and inputs; raises InputError."""
    from .formats.hpcc_config import read_hpcc_config

    config = read_hpcc_config(path)
    sections: dict[str, dict[str, Any]] = {
        "cca": {"plugin": config.cca, **config.cca_options},
        "network": dict(config.network),
    }
    if config.stop_ps is not None:
        sections["run"] = {"stop_ps": config.stop_ps}
    if config.topology is not None:
        sections["topology"] = {"file": str(config.topology)}
        if config.error_rate:
            sections["topology"]["loss"] = config.error_rate
    if config.flows is not None:
        sections["workload"] = {"flows": str(config.flows)}
    return sections
