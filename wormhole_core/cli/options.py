"""Options shared by every subcommand that runs an experiment, and how they become one.

Order, later wins: experiment file, `--hpcc-config`, `--preset`, the quick options, `--set`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..plugins import Plugins
from ..run.build import apply_preset, unknown_file
from ..run.experiment import CHOOSERS, DEFAULT_MODE, MODELS, MODES, Experiment, Origin, parse_setting, read_experiment

QUICK_RUN = ("topology", "flows", "simai", "workload")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Everything that says what is run, and how."""
    parser.add_argument("experiment", nargs="?", metavar="EXPERIMENT", help="experiment file (TOML)")
    what = parser.add_argument_group("what is run (instead of an experiment file, or over it)")
    what.add_argument("--topology", metavar="FILE|NAME", help="a topology file, or the name of a topology plugin")
    what.add_argument("--topology-format", metavar="NAME", help="read the topology file as this dialect")
    what.add_argument("--flows", metavar="FILE", help="a file of flows (ours, HPCC, ...)")
    what.add_argument("--paths", metavar="FILE", help="a paths.csv that pins the routes of these flows")
    what.add_argument("--simai", metavar="FILE", help="a SimAI workload file")
    what.add_argument("--workload", metavar="NAME", help="the name of a workload plugin")
    what.add_argument("--cca", metavar="NAME", help="congestion control of all flows")
    what.add_argument("--routing", metavar="NAME", help="how equal-cost links are chosen")
    what.add_argument("--preset", metavar="NAME:LABEL", help="congestion control and network fields of a known set-up")
    what.add_argument("--hpcc-config", metavar="FILE", help="an HPCC config.txt: network, cca, and files it names")
    what.add_argument(
        "--set", action="append", default=[], metavar="SECTION.OPTION=VALUE", help="change one value; repeatable"
    )
    how = parser.add_argument_group("how it is run")
    how.add_argument("--mode", choices=MODES, help=f"default: what the experiment says, else {DEFAULT_MODE}")
    how.add_argument("--model", choices=MODELS, help="fast (event) or readable (process) packet model")
    how.add_argument("--memo", metavar="FILE", help="keep remembered episodes in this file (SQLite) for later runs")
    how.add_argument("--no-memo", action="store_true", help="remember nothing")
    how.add_argument("--fast-forward", metavar="NAME", help="rule for skipping steady states; off: skip nothing")
    how.add_argument(
        "--audit", metavar="SHARE", help="afterwards, estimate the error by simulating a sample again: 10%%, 400%%"
    )
    how.add_argument("--seed", type=int, metavar="N", help="seed of all random streams")
    how.add_argument(
        "--lenient", action="store_true", help="run what is there if a file has fewer rows than it declares"
    )


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Where results go and what is shown."""
    out = parser.add_argument_group("results")
    out.add_argument("--out", metavar="DIR", help="write result.json, flows.csv, links.csv, collectives.csv there")
    out.add_argument("--force", action="store_true", help="write into DIR although it holds other files")
    out.add_argument("--fct", metavar="FILE", help="also write completion times in the HPCC layout")
    out.add_argument("--json", action="store_true", help="print result.json on standard output, and nothing else there")
    out.add_argument("--quiet", action="store_true", help="no progress, no tables")


def no_other_output(json: bool) -> contextlib.AbstractContextManager[object]:
    """With `--json`: what a plugin prints goes to standard error, so that standard output holds JSON alone."""
    return contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext()


def experiment_from_args(args: argparse.Namespace, plugins: Plugins) -> Experiment:
    """The experiment a command line describes."""
    if args.experiment is None and not args.hpcc_config and not any(getattr(args, name) for name in QUICK_RUN):
        raise ConfigError(
            "nothing to run: name an experiment file (examples/demo.toml), "
            "or --topology with --flows, --simai or --workload"
        )
    experiment = Experiment() if args.experiment is None else read_experiment(args.experiment)
    if args.hpcc_config:
        _apply_hpcc_config(experiment, args.hpcc_config)
    if args.preset:
        apply_preset(experiment, plugins, args.preset, Origin(text=f"--preset {args.preset}"), args.cca)
    _apply_quick_options(experiment, args, plugins)
    settings = [(text, *parse_setting(text)) for text in args.set]
    settings.sort(key=lambda setting: setting[1].partition(".")[2] not in CHOOSERS)  # components before their options
    for text, key, value in settings:
        origin = Origin(text=f"--set {text}")
        if key == "cca.preset":
            apply_preset(experiment, plugins, str(value), origin)
        else:
            experiment.set(key, value, origin)
    return experiment


def _apply_quick_options(experiment: Experiment, args: argparse.Namespace, plugins: Plugins) -> None:
    if args.topology:
        values = _file_or_plugin(args.topology, "topology", plugins)
        experiment.replace("topology", values, Origin(text=f"--topology {args.topology}"))
    if args.topology_format:
        experiment.set(
            "topology.format", args.topology_format, Origin(text=f"--topology-format {args.topology_format}")
        )
    chosen = [name for name in ("flows", "simai", "workload") if getattr(args, name)]
    if len(chosen) > 1:
        raise ConfigError(f"--{chosen[0]} and --{chosen[1]} both name a workload; keep one of them")
    for name in chosen:
        value = getattr(args, name)
        key = "plugin" if name == "workload" else name
        experiment.replace("workload", {key: value}, Origin(text=f"--{name} {value}"))
    if args.paths:
        experiment.set("workload.paths", args.paths, Origin(text=f"--paths {args.paths}"))
    for section in ("cca", "routing"):
        name = getattr(args, section)
        if name and experiment.sections[section].get("plugin") != name:
            experiment.replace(section, {"plugin": name}, Origin(text=f"--{section} {name}"))
    for name in ("mode", "model", "seed"):
        if getattr(args, name) is not None:
            experiment.set(f"run.{name}", getattr(args, name), Origin(text=f"--{name} {getattr(args, name)}"))
    _apply_acceleration(experiment, args)
    if args.lenient:
        experiment.set("run.lenient", True, Origin(text="--lenient"))


def _apply_acceleration(experiment: Experiment, args: argparse.Namespace) -> None:
    if args.memo and args.no_memo:
        raise ConfigError("--memo and --no-memo contradict each other; keep one of them")
    if args.memo:
        origin = Origin(text=f"--memo {args.memo}")
        experiment.set("acceleration.memo", {"plugin": "sqlite", "path": args.memo}, origin)
    if args.no_memo:
        experiment.set("acceleration.memo", "none", Origin(text="--no-memo"))
    if args.fast_forward:
        origin = Origin(text=f"--fast-forward {args.fast_forward}")
        experiment.set("acceleration.fast_forward", args.fast_forward, origin)
    if args.audit is not None:
        experiment.set("acceleration.audit", args.audit, Origin(text=f"--audit {args.audit}"))


def _file_or_plugin(value: str, kind: str, plugins: Plugins) -> Mapping[str, Any]:
    """A plugin's name wins over a file's; write ./NAME for the file."""
    names = plugins.registry.names(kind)
    if value in names and value != "file":
        return {"plugin": value}
    if not Path(value).exists() and not set(value) & set("/\\."):
        raise unknown_file(value, kind, list(names))
    return {"file": value}


def _apply_hpcc_config(experiment: Experiment, path: str) -> None:
    from ..run.hpcc import apply_hpcc_config

    apply_hpcc_config(experiment, path, Origin(text=f"--hpcc-config {path}"))
