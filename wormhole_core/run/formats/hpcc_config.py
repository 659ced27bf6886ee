"""HPCC's `config.txt` (and SimAI.conf): `KEY value...` pairs, translated into our own options.

Keys come in any order; tokens from one beginning with `#` or `//` to the end of the line are
comments. Only what the file says is translated: an absent key leaves our default alone (but an absent
CC_MODE means 1, DCQCN, as in the original). Every key
that has no counterpart is listed with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from ...errors import InputError
from ...units import PS_PER_S, PS_PER_US
from .text import Tokens, number, read_text, shown, time_ps

LINK_DOWN_ORIGIN_PS = 2 * PS_PER_S
"""LINK_DOWN counts from here: traffic starts at 2 s by convention."""
INT_TX_UNIT_BYTES = 128
INT_QUEUE_UNIT_BYTES = 80
_FILES = ("TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE")
_MAPS = ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP")
_SWITCHES = (
    "ENABLE_QCN", "CLAMP_TARGET_RATE", "L2_BACK_TO_ZERO", "HAS_WIN", "GLOBAL_T", "VAR_WIN", "FAST_REACT",
    "RATE_BOUND", "MULTI_RATE", "SAMPLE_FEEDBACK", "ACK_HIGH_PRIO",
)  # fmt: skip
_COUNTS = (
    "CC_MODE", "PACKET_PAYLOAD_SIZE", "L2_ACK_INTERVAL", "MI_THRESH", "INT_MULTI", "FAST_RECOVERY_TIMES",
    "BUFFER_SIZE",
)  # fmt: skip
_RATES = ("RATE_AI", "RATE_HAI", "MIN_RATE", "DCTCP_RATE_AI")
_MICROSECONDS = ("ALPHA_RESUME_INTERVAL", "RATE_DECREASE_INTERVAL", "RP_TIMER")
_RATIOS = ("U_TARGET", "EWMA_GAIN")
_IGNORED = {
    "TRACE_OUTPUT_FILE": "output names are chosen with --out",
    "FCT_OUTPUT_FILE": "output names are chosen with --out",
    "PFC_OUTPUT_FILE": "output names are chosen with --out",
    "QLEN_MON_FILE": "output names are chosen with --out",
    "BW_MON_FILE": "output names are chosen with --out",
    "RATE_MON_FILE": "output names are chosen with --out",
    "CNP_MON_FILE": "output names are chosen with --out",
    "QLEN_MON_START": "queues are recorded by observers",
    "QLEN_MON_END": "queues are recorded by observers",
    "MON_START": "monitors are observers here",
    "MON_END": "monitors are observers here",
    "QP_MON_INTERVAL": "monitors are observers here",
    "QLEN_MON_INTERVAL": "monitors are observers here",
    "BW_MON_INTERVAL": "monitors are observers here",
    "ENABLE_TRACE": "packet traces are an observer here",
    "USE_DYNAMIC_PFC_THRESHOLD": "the threshold is always dynamic",
    "PAUSE_TIME": "a pause holds until it is resumed",
    "NIC_TOTAL_PAUSE_TIME": "not modelled",
    "L2_CHUNK_SIZE": "only used with L2_BACK_TO_ZERO 1, which is not modelled",
    "PINT_LOG_BASE": "PINT is not modelled",
    "PINT_PROB": "PINT is not modelled",
    "DATA_RATE": "rates come from the topology",
    "LINK_DELAY": "delays come from the topology",
}
_VALUES = {
    *_FILES,
    *_SWITCHES,
    *_COUNTS,
    *_RATES,
    *_MICROSECONDS,
    *_RATIOS,
    "SIMULATOR_STOP_TIME",
    "ERROR_RATE_PER_LINK",
}
KEYS = frozenset({*_VALUES, *_MAPS, "LINK_DOWN", *_IGNORED})
"""Every key this reader knows."""
_CCA = {1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp"}


@attrs.define(kw_only=True)
class HpccConfig:
    """The configuration in our own terms.

    cca, cca_options: a congestion-control component and its options. network: fields of
    `NetworkConfig`. stop_ps: simulated end, None if not said. error_rate: loss per frame of links
    whose own rate is 0. topology, flows: files named in it and found, None if not named or not found.
    ignored: (key, reason). unknown: keys nobody knows. values: key -> value as read.
    """

    path: Path
    cca: str = "none"
    cca_options: dict[str, Any] = attrs.field(factory=dict)
    network: dict[str, Any] = attrs.field(factory=dict)
    stop_ps: int | None = None
    error_rate: float = 0.0
    topology: Path | None = None
    flows: Path | None = None
    ignored: list[tuple[str, str]] = attrs.field(factory=list)
    unknown: list[str] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)
    values: dict[str, Any] = attrs.field(factory=dict)


def read_hpcc_config(path: object) -> HpccConfig:
    """Read a configuration. Raises InputError for a value that cannot be read or contradicts another."""
    tokens = Tokens(path, read_text(path), comments=True)
    config = HpccConfig(path=Path(str(path)))
    lines: dict[str, int] = {}
    while len(tokens):
        key = tokens.next("a key")
        line = tokens.line
        if key not in KEYS:
            if key not in config.unknown:
                config.unknown.append(key)
            # The rest of an unknown key's line is its value, up to a key we know.
            while len(tokens) and tokens.lines[tokens.position] == line and tokens.tokens[tokens.position] not in KEYS:
                tokens.next("")
            continue
        config.values[key] = _value(tokens, key)
        lines[key] = line
        if key in _IGNORED and (key, _IGNORED[key]) not in config.ignored:
            config.ignored.append((key, _IGNORED[key]))
    if not config.values:
        raise InputError("no known key found, expected lines such as 'CC_MODE 3'", path)
    _translate_network(config, lines)
    _translate_cca(config, lines)
    for key, field in (("TOPOLOGY_FILE", "topology"), ("FLOW_FILE", "flows")):
        if key in config.values:
            setattr(config, field, _locate(config, key))
    if "TRACE_FILE" in config.values:
        config.ignored.append(("TRACE_FILE", "packet traces are an observer here"))
    return config


def _value(tokens: Tokens, key: str) -> Any:
    what = f"the value of {key}"
    if key in _MAPS:
        return _map(tokens, key)
    if key == "LINK_DOWN":
        time = number(tokens.next(what), f"the time of {key} (us)", tokens.path, tokens.line)
        ends = [tokens.whole(f"a node of {key}") for _ in range(2)]
        if time < 0:
            raise tokens.fail(f"the time of {key} is negative; expected microseconds after 2 s")
        return (time, *ends)
    word = tokens.next(what)
    at = (tokens.path, tokens.line)
    # A key in the place of a value means that the value is missing; going on would shift everything.
    if word in KEYS:
        raise tokens.fail(f"{key} has no value: {word} follows it; write '{key} VALUE'")
    if key in _IGNORED or key in _FILES:
        return word
    tokens.position -= 1
    if key in _SWITCHES:
        return bool(tokens.whole(what, 0, 1))
    if key in _COUNTS:
        return tokens.whole(what, 0, 2**31)
    if key in _RATES:
        return tokens.rate_bps(what)
    if key == "ERROR_RATE_PER_LINK":
        return tokens.probability(what)
    tokens.position += 1
    exact = number(word, what, *at)
    if key in _MICROSECONDS:
        value = round(exact * PS_PER_US)
        if value < 1:
            raise tokens.fail(f"{what} is {shown(word)} us, expected more than 0")
        return value
    if key == "SIMULATOR_STOP_TIME":
        return time_ps(word, what, *at)
    if not 0 < exact <= 1:
        raise tokens.fail(f"{what} is {shown(word)}, expected a ratio above 0 and at most 1")
    return float(exact)


def _map(tokens: Tokens, key: str) -> dict[int, Any]:
    count = tokens.whole(f"the number of entries of {key}")
    if 2 * count > len(tokens):
        raise tokens.fail(f"{key} announces {count} entries but the file ends before them; correct the count")
    found: dict[int, Any] = {}
    for _ in range(count):
        rate = tokens.rate_bps(f"a port rate of {key}")
        word = tokens.next(f"a value of {key}")
        exact = number(word, f"the value of {key} at {rate} bps", tokens.path, tokens.line)
        if key == "PMAX_MAP":
            if not 0 <= exact <= 1:
                raise tokens.fail(f"{key} at {rate} bps is {shown(word)}, expected a probability of 0 to 1")
            found[rate] = float(exact)
        else:
            if exact < 0:
                raise tokens.fail(f"{key} at {rate} bps is {shown(word)}, expected kilobytes of at least 0")
            found[rate] = round(exact * 1000)
    return found


def _translate_network(config: HpccConfig, lines: dict[str, int]) -> None:
    values, network = config.values, config.network
    payload = values.get("PACKET_PAYLOAD_SIZE")
    if payload is not None:
        network["payload_bytes"] = _above_zero(config, "PACKET_PAYLOAD_SIZE", lines)
    if "BUFFER_SIZE" in values:
        network["buffer_bytes"] = _above_zero(config, "BUFFER_SIZE", lines) * 2**20
    if "ENABLE_QCN" in values:
        network["ecn"] = values["ENABLE_QCN"]
    if "GLOBAL_T" in values:
        network["base_rtt"] = "global" if values["GLOBAL_T"] else "flow"
    if "ACK_HIGH_PRIO" in values:
        network["ack_obeys_pause"] = not values["ACK_HIGH_PRIO"]
    if "INT_MULTI" in values:
        multiple = _above_zero(config, "INT_MULTI", lines)
        network["int_tx_unit_bytes"] = INT_TX_UNIT_BYTES * multiple
        network["int_queue_unit_bytes"] = INT_QUEUE_UNIT_BYTES * multiple
    if "L2_ACK_INTERVAL" in values:
        interval = values["L2_ACK_INTERVAL"]
        if interval == 0:
            config.notes.append("L2_ACK_INTERVAL 0 (an ACK per chunk) is not modelled: every packet is acknowledged")
        network["ack_every_packets"] = max(1, -(-interval // (network.get("payload_bytes") or 1000)))
    if values.get("L2_BACK_TO_ZERO"):
        config.notes.append("L2_BACK_TO_ZERO 1 (go back to the chunk's start) is not modelled: go-back-N is used")
    if "SIMULATOR_STOP_TIME" in values:
        config.stop_ps = values["SIMULATOR_STOP_TIME"]
    config.error_rate = values.get("ERROR_RATE_PER_LINK", 0.0)
    time, a, b = values.get("LINK_DOWN", (0, 0, 0))
    # The original takes time 0 for "off"; the same pair twice can be no link.
    if time > 0:
        if a == b:
            raise InputError(f"LINK_DOWN names node {a} twice, expected two nodes", config.path, lines["LINK_DOWN"])
        network["link_failures"] = ((LINK_DOWN_ORIGIN_PS + round(time * PS_PER_US), a, b),)
    _translate_ecn(config, lines)


def _above_zero(config: HpccConfig, key: str, lines: dict[str, int]) -> int:
    value = config.values[key]
    if value < 1:
        raise InputError(f"{key} is {value}, expected at least 1", config.path, lines[key])
    return value


def _translate_ecn(config: HpccConfig, lines: dict[str, int]) -> None:
    given = [key for key in _MAPS if key in config.values]
    if not given:
        return
    if len(given) < len(_MAPS):
        missing = next(key for key in _MAPS if key not in given)
        raise InputError(
            f"{given[0]} is there but {missing} is not; give all of {', '.join(_MAPS)}", config.path, lines[given[0]]
        )
    kmin, kmax, pmax = (config.values[key] for key in _MAPS)
    for rate in sorted({*kmin, *kmax, *pmax}):
        for key, entries in zip(_MAPS, (kmin, kmax, pmax), strict=True):
            if rate not in entries:
                raise InputError(
                    f"{key} has no entry for {rate} bps though another map has; add it or remove the others",
                    config.path,
                    lines[key],
                )
        if kmin[rate] > kmax[rate]:
            raise InputError(
                f"KMIN_MAP at {rate} bps is {kmin[rate]} B, above KMAX_MAP's {kmax[rate]} B; expected kmin <= kmax",
                config.path,
                lines["KMIN_MAP"],
            )
    config.network["ecn_map"] = {rate: (kmin[rate], kmax[rate], pmax[rate]) for rate in sorted(kmin)}


def _translate_cca(config: HpccConfig, lines: dict[str, int]) -> None:
    values = config.values
    mode = values.get("CC_MODE", 1)
    if mode == 10:
        raise InputError(
            "CC_MODE is 10 (HPCC-PINT), which is not modelled; use 3 (HPCC)", config.path, lines["CC_MODE"]
        )
    config.cca = _CCA.get(mode, "none")
    options = {
        "dcqcn": {
            "gain": "EWMA_GAIN", "alpha_timer_ps": "ALPHA_RESUME_INTERVAL",
            "decrease_timer_ps": "RATE_DECREASE_INTERVAL", "increase_timer_ps": "RP_TIMER",
            "fast_recovery_steps": "FAST_RECOVERY_TIMES", "ai_rate_bps": "RATE_AI", "hai_rate_bps": "RATE_HAI",
            "min_rate_bps": "MIN_RATE", "clamp_target": "CLAMP_TARGET_RATE",
        },
        "hpcc": {
            "eta": "U_TARGET", "ai_rate_bps": "RATE_AI", "max_stage": "MI_THRESH", "fast_react": "FAST_REACT",
            "min_rate_bps": "MIN_RATE", "variable_window": "VAR_WIN",
        },
        "timely": {"ai_rate_bps": "RATE_AI", "hai_rate_bps": "RATE_HAI", "min_rate_bps": "MIN_RATE"},
        "dctcp": {"gain": "EWMA_GAIN", "ai_rate_bps": "DCTCP_RATE_AI", "min_rate_bps": "MIN_RATE"},
        "none": {},
    }[config.cca]  # fmt: skip
    config.cca_options = {option: values[key] for option, key in options.items() if key in values}
    has_window: bool = values.get("HAS_WIN", True)
    if {"HAS_WIN", "VAR_WIN"} & values.keys():
        if config.cca in ("dcqcn", "timely", "dctcp"):
            kind = "variable" if values.get("VAR_WIN", False) else "fixed"
            config.cca_options["window"] = kind if has_window else "none"
        elif config.cca == "none":
            config.cca_options["window"] = "bdp" if has_window else "none"
        elif not has_window:
            config.notes.append(f"HAS_WIN 0 has no counterpart: {config.cca} keeps its window")
    _note_unmodelled(config)


def _note_unmodelled(config: HpccConfig) -> None:
    checks: dict[str, Callable[[Any], bool]] = {
        "MULTI_RATE": lambda value: value,
        "SAMPLE_FEEDBACK": lambda value: value,
        "RATE_BOUND": lambda value: not value,
    }
    for key, differs in checks.items():
        if key in config.values:
            config.ignored.append((key, "not modelled"))
            if config.cca == "hpcc" and differs(config.values[key]):
                config.notes.append(f"{key} {int(config.values[key])} is not modelled; results may differ")


def _locate(config: HpccConfig, key: str) -> Path | None:
    """The file a key names: from the configuration's folder, its parents, or beside it by base name."""
    name = Path(config.values[key])
    folder = config.path.absolute().parent
    tried = [name] if name.is_absolute() else [base / name for base in (folder, *folder.parents)]
    tried.append(folder / name.name)
    for candidate in tried:
        try:
            if candidate.is_file():
                return candidate
        except (OSError, ValueError):
            continue
    config.notes.append(f"{key} names {shown(str(name))}, which is neither there nor beside {config.path.name}")
    return None
