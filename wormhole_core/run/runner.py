"""The main path: an experiment becomes a result. Read `run_experiment` from top to bottom."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..contracts.observer import Observer, RunInfo
from ..contracts.result import Result
from ..errors import ConfigError, PluginError, StalledError
from ..units import format_time, serialisation_ps
from .build import Parts, build
from .collector import rare_collections
from .experiment import MODES, Experiment
from .manifest import make_manifest
from .outputs import FolderLock, ResultFolder, check_writable, prepare_folder
from .progress import Progress, Watcher
from .recorder import Recorder, Stopwatch

SLICE_EVENTS = 20_000
"""Events between two looks at progress and interruption: some tens of milliseconds."""
SLICE_EVENTS_PER_LINK = 5
SLICE_EVENTS_WORMHOLE = 2_000
"""In wormhole mode one event may stand for a whole flow."""


def run_experiment(
    experiment: Experiment,
    plugins: Any,
    *,
    out: str | Path | None = None,
    force: bool = False,
    fct: str | Path | None = None,
    watcher: Watcher | None = None,
    keep_records: bool = True,
) -> Result:
    """Run an experiment to its end, or to its `stop_ps`.

    out: folder for results, checked before anything is simulated. fct: a file for completion times in
    the HPCC layout. keep_records: also return all flow records (memory grows with the flows).
    Raises WormholeError; StalledError and KeyboardInterrupt carry what was reached as `.result`.
    """
    watcher = watcher or Watcher()
    folder = None if out is None else prepare_folder(out, force)
    if fct is not None:
        check_writable(fct)
    parts = build(experiment, plugins)
    info = describe_run(parts, plugins, folder)

    with ExitStack() as stack:
        recorder = Recorder(parts, info, keep_records)
        if folder is not None:
            stack.enter_context(FolderLock(folder))
            recorder.folder = ResultFolder(folder, parts.run.outputs)
            stack.callback(recorder.folder.close)
        if fct is not None:
            recorder.open_fct(fct, stack)
        observers = parts.make_observers(info)
        closing = stack.enter_context(ExitStack())
        for observer in observers:
            closing.callback(observer.close)
        engine = make_engine(parts, [recorder, *observers], stack)
        check_timeout(parts, engine.network)

        plugins.hook.run_started(info)
        watcher.started(parts.notes)
        clock = Stopwatch()
        try:
            with rare_collections():
                status, reason = drive(engine, parts, recorder, watcher, clock)
            closing.close()  # a recorder that fails here must not leave a run that looks complete
        except BaseException as raised:
            error = raised
            if plugins.attribute(raised) is None and hasattr(engine, "blame"):
                error = engine.blame(raised)
            add_owner(error, parts, plugins)
            result = recorder.finish(engine, clock, *outcome_of(error))
            plugins.attribute(error)
            error.result = result  # type: ignore[attr-defined]
            add_place(error, engine, info)
            plugins.hook.run_finished(info, None, error)
            if error is raised:
                raise
            raise error from raised
        finally:
            watcher.ended()
        result = recorder.finish(engine, clock, status, reason)
        plugins.hook.run_finished(info, result, None)
    return result


def make_engine(parts: Parts, observers: Sequence[Observer], stack: ExitStack) -> Any:
    """What advances the run: the one place that looks at its mode. stack: closes what it opens."""
    # SimPy and networkx load only when something is simulated.
    kind: Any
    options: dict[str, Any] = {}
    if parts.run.mode == "packet":
        from ..sim.simulation import Simulation as kind
    elif parts.run.mode == "wormhole":
        from ..accel.simulation import WormholeSimulation as kind

        options = accelerated(parts, stack)
    elif parts.run.mode == "fluid":
        from ..accel.fluid import FluidSimulation as kind
    else:
        raise ConfigError(f"run.mode is {parts.run.mode!r}, expected {', '.join(MODES)}")

    return kind(
        parts.graph,
        parts.network,
        make_cca=parts.make_cca,
        workload=parts.workload,
        routing=parts.routing,
        per_flow_routing=parts.per_flow_routing,
        seed=parts.run.seed,
        model=parts.run.model,
        observers=observers,
        start_jitter_ps=parts.run.start_jitter_ps,
        no_progress_ps=parts.run.no_progress_ps,
        **options,
    )


def check_timeout(parts: Parts, network: Any) -> None:
    """Refuse a retransmission timeout that expires before an answer can be there on the longest path."""
    rto_ps = parts.network.rto_ps
    if rto_ps is None:
        return
    links = [(data["rate_bps"], data["delay_ps"]) for _, _, data in parts.graph.edges(data=True)]
    slowest_ps = serialisation_ps(parts.network.payload_bytes, min(rate for rate, _ in links))
    hops = parts.graph.number_of_nodes() - len(parts.hosts) + 1
    # No path passes a switch twice: where this suffices, not every path needs to be looked at.
    if rto_ps >= hops * (2 * max(delay for _, delay in links) + slowest_ps):
        return
    rtt_ps = network.longest_rtt_ps()
    if rto_ps < rtt_ps:
        raise parts.experiment.origin("network", "rto_ps").error(
            f"network.rto_ps is {format_time(rto_ps)}, less than the longest base RTT of this network, "
            f"{format_time(rtt_ps)}: every packet would be sent again; raise it, or leave it out to have it derived"
        )


def accelerated(parts: Parts, stack: ExitStack) -> dict[str, Any]:
    """What wormhole mode takes besides: memo, policy, partitioner."""
    acceleration = parts.acceleration
    memo = acceleration.open_memo()
    if memo is not None:
        stack.callback(memo.close)
    return {
        "memo": memo,
        "make_policy": acceleration.make_policy(parts.run.seed),
        "coarsen": acceleration.coarsen(),
        "tails": acceleration.switches.tails,
        "quantum_ps": acceleration.switches.quantum_ps,
        "audit": acceleration.switches.audit,
        "dynamics": acceleration.dynamics(parts.dynamics),
    }


def drive(engine: Any, parts: Parts, recorder: Recorder, watcher: Watcher, clock: Stopwatch) -> tuple[str, str | None]:
    """Advance slice by slice; returns status and reason."""
    flows_total, bytes_total = parts.workload.total_items(), parts.workload.total_bytes()
    # Counting up a large network takes time too. The clock has no say in this: it would show in results.
    few = SLICE_EVENTS_WORMHOLE if parts.run.mode == "wormhole" else SLICE_EVENTS
    slice_events = max(few, SLICE_EVENTS_PER_LINK * parts.graph.number_of_edges())
    over, bytes_done = False, 0
    while not over:
        over = engine.advance(slice_events, parts.run.stop_ps)
        recorder.flush()
        counters = engine.counters
        # In wormhole mode this is in part an estimate: it never goes back.
        bytes_done = max(bytes_done, counters.bytes_acked)
        watcher.advanced(
            Progress(
                now_ps=engine.now_ps,
                flows_done=counters.flows_finished,
                flows_started=counters.flows_started,
                flows_total=flows_total,
                bytes_done=bytes_done,
                bytes_total=bytes_total,
                events=counters.events,
                elapsed_s=clock.wall_s(),
            )
        )
    if engine.finished:
        return "complete", None
    return "partial", f"stopped at {format_time(parts.run.stop_ps or 0)} (run.stop_ps)"


def describe_run(parts: Parts, plugins: Any, folder: Path | None) -> RunInfo:
    """What observers and life-cycle hooks may know of the run."""
    return RunInfo(
        mode=parts.run.mode,
        model=parts.run.model,
        seed=parts.run.seed,
        out_dir=None if folder is None else str(folder),
        hosts=parts.hosts,
        experiment=parts.experiment.as_dict(),
        manifest=make_manifest(parts, plugins),
    )


def outcome_of(error: BaseException) -> tuple[str, str]:
    """Status and reason of a run that ended with an error."""
    if isinstance(error, StalledError):
        return "stalled", str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "interrupted by the user"
    return "partial", f"{type(error).__name__}: {error}"


def add_owner(error: BaseException, parts: Parts, plugins: Any) -> None:
    """Name the plugin in an error of which only the kind of component is known."""
    name = dict(parts.used).get(getattr(error, "kind", None) or "")
    if isinstance(error, PluginError) and name is not None:
        entry = plugins.registry.get(error.kind, name)
        error.args = (f"{entry.owner}: {error} (plugin {entry.plugin!r})",)


def add_place(error: BaseException, engine: Any, info: RunInfo) -> None:
    """Note on an error where in the run it happened."""
    if not isinstance(error, (KeyboardInterrupt, StalledError)):
        error.add_note(f"at simulated time {engine.now_ps} ps, seed {info.seed}, mode {info.mode}, model {info.model}")
