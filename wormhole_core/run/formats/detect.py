"""Tell what kind of file one has by its text and, where that leaves a doubt, its name.

Text formats of this field carry no version; the number of tokens in the header tells the dialect.
Formats that are known but not read are named in the refusal.
"""

from __future__ import annotations

import json
import re
import struct
import tomllib
from pathlib import Path

from ...errors import InputError
from .flows_neutral import FLOW_COLUMNS, PATH_COLUMNS
from .hpcc_config import KEYS
from .simai_workload import POLICIES
from .text import cells, decode, read_bytes

KINDS = (
    "neutral-topology", "neutral-flows", "neutral-paths", "hpcc-topology", "hpcc-flow", "hpcc-config",
    "hpcc-trace", "simai-topology", "simai-workload", "htsim-cm", "htsim-topo", "experiment",
)  # fmt: skip
"""What `detect` answers."""
_HEAD_BYTES = 256 * 1024
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_GOAL_COOKIE = 4223
_TRIED = "neutral JSON and CSV, HPCC, SimAI and htsim text files, TOML experiment"


def detect(path: object) -> str:
    """The kind of a file, one of `KINDS`.

    Raises InputError for a missing, empty, binary or unknown file (saying what was tried), and for
    known formats that are not read yet (naming them).
    """
    data = read_bytes(path, _HEAD_BYTES)
    _refuse_known_binaries(data, path)
    # The block may end inside a character.
    if len(data) == _HEAD_BYTES:
        data = data[: data.rfind(b"\n") + 1] or data.decode("utf-8", "ignore").encode()
    text = decode(data, path)
    if not text.strip():
        raise InputError("the file is empty; expected text, so check that it was written or copied completely", path)
    kind = _detect_text(text, Path(str(path)))
    if kind is None:
        first = text.strip().split("\n", 1)[0].strip()[:40]
        raise InputError(
            f"unknown kind of file (begins {first!r}); tried {_TRIED}; see docs/files.md for the layouts", path, 1
        )
    return kind


def _refuse(name: str, path: object) -> InputError:
    return InputError(f"{name}: not supported yet; files that are read: {_TRIED}", path)


def _refuse_known_binaries(data: bytes, path: object) -> None:
    name = Path(str(path)).name
    if data[:2] == b"\x1f\x8b":
        raise InputError("gzip-compressed file; unpack it first (gunzip)", path)
    if data[:15] == b"SQLite format 3":
        raise InputError("SQLite database (a memo store?); see 'memo stats' instead", path)
    if len(data) >= 8 and struct.unpack("<Q", data[:8])[0] == _GOAL_COOKIE:
        raise _refuse("GOAL schedule (binary)", path)
    # A Chakra trace is length-delimited protobuf messages; the first holds the version at field 1.
    if name.endswith(".et") or re.match(rb"[\x04-\x40]\x0a[\x03-\x20][0-9]+\.[0-9]+\.[0-9]+", data):
        raise _refuse("Chakra execution trace", path)


def _detect_text(text: str, path: Path) -> str | None:
    head = text.lstrip()
    words = head.split(None, 4000)[:4000]
    first = head.split("\n", 1)[0].strip()
    if head[0] in "{[" and path.suffix != ".toml" and not re.match(r"\[\[?[A-Za-z_.]+\]", head):
        return _detect_json(text, path)
    if head[0] == "<":
        raise _refuse("MSCCL algorithm" if "<algo" in head else "XML file (SimGrid platform?)", path)
    columns = cells(first)
    if "flow_id" in columns and "," in first:
        if {"data_path", "ack_path"} & set(columns):
            return "neutral-paths"
        if {"fct_ns", "fct_ps"} & set(columns):
            raise InputError("this is a table of results (flow completion times), not an input", path, 1)
        return "neutral-flows"
    if columns[0] in FLOW_COLUMNS and len(columns) > 2:
        return "neutral-paths" if set(columns) & set(PATH_COLUMNS[3:]) else "neutral-flows"
    if re.search(r"^\s*num_ranks\s+\d", text, re.M):
        raise _refuse("GOAL schedule", path)
    if re.search(r"^\s*npus_count\s*:", text, re.M):
        raise _refuse("ASTRA-sim network description", path)
    htsim = _detect_htsim(text)
    if htsim:
        return htsim
    if path.suffix == ".toml" or re.search(r"^\s*\[(topology|workload|cca|network|acceleration|run)\]", text, re.M):
        return _check_toml(text, path)
    if _numeric(words[0]):
        return _detect_numbers(head, words, path)
    if words[0] in POLICIES or _looks_like_workload(head):
        return "simai-workload"
    meaningful = (line.split() for line in text.split("\n"))
    if any(line and line[0] in KEYS for line in meaningful):
        return "hpcc-config"
    return None


def _check_toml(text: str, path: Path) -> str:
    # Syntax errors are reported by the reader of experiments; here only a truncated block is at hand.
    if len(text) < _HEAD_BYTES // 2:
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"line (\d+)", str(error))
            raise InputError(f"not valid TOML: {error}", path, int(line[1]) if line else None) from error
        except (ValueError, RecursionError) as error:
            raise InputError("not valid TOML (nested too deeply or a number too long)", path) from error
    return "experiment"


def _detect_json(text: str, path: Path) -> str | None:
    # Names suffice, so that a long file need not be parsed twice and a broken one reaches its reader.
    def has(*names: str) -> bool:
        return all(re.search(rf'"{name}"\s*:', text) for name in names)

    if has("scheduling-policy") or has("memory-type") or has("logical-dims"):
        raise _refuse("ASTRA-sim system description", path)
    if (has("schema") and "chakra" in text.lower()) or has("ctrl_deps") or has("data_deps"):
        raise _refuse("Chakra execution trace (JSON)", path)
    if re.search(r'"(nodes|links)"\s*:\s*\[', text):
        return "neutral-topology"
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({error.msg}, column {error.colno})", path, error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise InputError("not valid JSON (nested too deeply or a number too long)", path) from error
    return None


def _detect_htsim(text: str) -> str | None:
    lines = [line.split() for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    keys = {line[0].lower() for line in lines[:200]}
    if "tiers" in keys and ("nodes" in keys or "podsize" in keys):
        return "htsim-topo"
    if "connections" in keys or (lines and lines[0][0].lower() == "nodes"):
        return "htsim-cm"
    return None


def _numeric(word: str) -> bool:
    return bool(_NUMBER.match(word))


def _looks_like_workload(head: str) -> bool:
    lines = [line.split() for line in head.split("\n", 4)[:4] if line.strip()]
    return len(lines) > 2 and len(lines[1]) == 1 and _numeric(lines[1][0]) and len(lines[2]) in (12, 13)


def _detect_numbers(head: str, words: list[str], path: Path) -> str | None:
    """A file that begins with a number: an HPCC-family topology, flow list or trace list."""
    lines = [line.split() for line in head.split("\n", 3)[:3] if line.strip()]
    arity = len(lines[0])
    if arity == 6 and all(map(_numeric, lines[0][:5])):
        return "hpcc-topology" if _numeric(lines[0][5]) else "simai-topology"
    if arity in (3, 4) and all(map(_numeric, lines[0])):
        return "hpcc-topology"
    if arity != 1:
        # Line breaks mean nothing to HPCC: everything may stand on one line.
        if arity == 2 and all(len(line) == 2 and all(map(_numeric, line)) for line in lines):
            raise _refuse("Flow-size distribution (CDF)", path)
        return _by_shape(words, path)
    name = path.name.lower()
    if len(lines) > 1 and len(lines[1]) == 6:
        return "hpcc-flow"
    if "trace" in name:
        return "hpcc-trace"
    if "flow" in name or (len(lines) > 1 and any("." in word for word in words[:13])):
        return "hpcc-flow"
    if len(lines) > 1 and all(word.isascii() and word.isdigit() for word in words[:2]):
        return "hpcc-trace"
    return _by_shape(words, path)


def _by_shape(words: list[str], path: Path) -> str | None:
    if any(word[:1].isdigit() and word.endswith(("bps", "b/s")) for word in words):
        return "hpcc-topology"
    if len(words) >= 7 and all(map(_numeric, words[:7])):
        return "hpcc-flow"
    return "hpcc-trace" if "trace" in path.name.lower() else None
