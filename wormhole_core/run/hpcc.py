"""An HPCC `config.txt` as sections of an experiment (`--hpcc-config`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .experiment import Experiment, Origin

if TYPE_CHECKING:
    from .formats import HpccConfig

FILES = {"topology": "TOPOLOGY_FILE", "workload": "FLOW_FILE"}
"""Section of an experiment -> key that names its file."""


def apply_hpcc_config(experiment: Experiment, path: str, origin: Origin) -> None:
    """Take over what the file says, what of it is not understood (as notes), and which files it names in
    vain; raises InputError."""
    from .formats.hpcc_config import read_hpcc_config

    config = read_hpcc_config(path)
    for section, values in hpcc_sections(config).items():
        if section in ("topology", "workload", "cca"):
            experiment.replace(section, values, origin)
        else:
            for name, value in values.items():
                experiment.set(f"{section}.{name}", value, origin)
    experiment.notes += [f"{path}: {note}" for note in hpcc_notes(config)]
    for section, key in FILES.items():
        if key in config.values and section not in hpcc_sections(config):
            note = next(note for note in config.notes if note.startswith(key))
            experiment.absent[section] = Origin(path=path), note


def hpcc_notes(config: HpccConfig) -> list[str]:
    """What of the file has no effect: unknown keys, ignored ones by reason, and the reader's own notes."""
    notes = [*config.notes]
    if config.unknown:
        notes.append(f"unknown {'keys' if len(config.unknown) > 1 else 'key'} ignored: {', '.join(config.unknown)}")
    reasons: dict[str, list[str]] = {}
    for key, reason in config.ignored:
        reasons.setdefault(reason, []).append(key)
    return [*notes, *(f"{', '.join(keys)} ignored: {reason}" for reason, keys in reasons.items())]


def hpcc_sections(config: HpccConfig) -> dict[str, dict[str, Any]]:
    """What the file says about network, congestion control, end and inputs."""
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
