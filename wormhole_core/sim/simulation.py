"""One run of the packet model, from a graph and a workload to finished flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..contracts.observer import Observer
from ..contracts.result import LinkRecord
from ..contracts.routing import Routing
from ..contracts.topology import Graph
from ..contracts.workload import Transfer, Workload
from ..errors import ConfigError, PluginError, StalledError, WormholeError
from ..rng import stream
from ..units import PS_PER_S, format_size, format_time, serialisation_ps
from .config import NetworkConfig
from .driver import Driver
from .event.build import EventMotion
from .kernel import Halt
from .network import MakeCca, Network

NO_PROGRESS_PS = PS_PER_S
SLOW_FRAMES = 100
"""On slow or long links no byte may move for that many times what the slowest link needs for a frame."""


def patience_ps(graph: Graph, frame_bytes: int) -> int:
    """How long nothing may move before a run counts as stalled, in picoseconds, unless it is given:
    a second, or more where links are so slow or long that frames themselves take as much."""
    slowest = max(
        (serialisation_ps(frame_bytes, d["rate_bps"]) + d["delay_ps"] for _, _, d in graph.edges(data=True)), default=0
    )
    return max(NO_PROGRESS_PS, SLOW_FRAMES * slowest)


def bad_answer(cca: Any) -> str | None:
    """What a congestion control asks for that no sender can do; None if all is well.

    Looked at when something went wrong: checking every answer would cost time in every run."""
    if cca.window_bytes is not None and not isinstance(cca.window_bytes, int):
        return f"a window_bytes of {cca.window_bytes!r}, expected a whole number or None"
    if cca.rate_bps is not None and (not isinstance(cca.rate_bps, int) or cca.rate_bps <= 0):
        return f"a rate_bps of {cca.rate_bps!r}, expected a whole number above 0 or None"
    return None


class Totals:
    """Counters of a run, read by whoever shows progress."""

    def __init__(self, simulation: Simulation) -> None:
        driver, motion = simulation.driver, simulation.motion
        self.flows_started = driver.counters.flows_started
        self.flows_finished = driver.counters.flows_finished
        self.collectives_finished = driver.counters.collectives_finished
        self.bytes_finished = driver.counters.bytes_finished
        running = list(motion.flows.values())
        self.bytes_acked = self.bytes_finished + sum(f.snd_una + f.skipped_bytes for f in running)
        self.retransmitted_bytes = driver.counters.retransmitted_bytes + sum(f.retransmitted_bytes for f in running)
        self.events = motion.env.executed
        self.frame_hops = motion.frame_hops
        ports = simulation.network.port_list
        self.drops = sum(p.drops for p in ports)
        self.pauses = sum(p.pauses for p in ports)
        self.marks = sum(p.marks for p in ports)


class Simulation:
    """A run; `advance` moves it on in slices.

    make_cca(flow, rng) builds the sender's congestion control; per_flow_routing says that the routing
    looks at the flow alone; start_jitter_ps moves what the workload emits first by up to that much.
    Raises ConfigError for hosts that do not exist or cannot be reached.
    """

    def __init__(
        self,
        graph: Graph,
        network: NetworkConfig,
        *,
        make_cca: MakeCca,
        workload: Workload,
        routing: Routing,
        per_flow_routing: bool = True,
        seed: int = 1,
        model: str = "event",
        observers: Sequence[Observer] = (),
        start_jitter_ps: int = 0,
        no_progress_ps: int | None = None,
    ) -> None:
        self.network = Network(graph, network, make_cca, routing, per_flow_routing, seed)
        jitter = stream(seed, "jitter") if start_jitter_ps else None
        self.driver = Driver(
            workload, self._start_flow, self._wake, observers, network.dependency == "receiver", start_jitter_ps, jitter
        )
        self.motion = self._make_motion(model, observers)
        self.network.finish()
        if no_progress_ps is None:
            no_progress_ps = patience_ps(graph, network.payload_bytes + network.header_bytes)
        self.no_progress_ps = no_progress_ps
        self._progress = (-1, 0)
        self.driver.begin()

    def _make_motion(self, model: str, observers: Sequence[Observer]) -> Any:
        if model == "event":
            kind: Any = EventMotion
        elif model == "process":
            from .process.build import ProcessMotion

            kind = ProcessMotion
        else:
            raise ConfigError(f"run.model must be 'event' or 'process', got {model!r}")
        return kind(self.network, observers, self._received, self._completed)

    def _received(self, flow: Any, now_ps: int) -> None:
        self.driver.received(flow, now_ps)

    def _completed(self, flow: Any, now_ps: int) -> None:
        self.driver.completed(flow, now_ps)

    def _wake(self, time_ps: int) -> None:
        self.motion.wake(time_ps, self._late)

    def _late(self, now_ps: int) -> None:
        self.driver.late(now_ps)
        if self.driver.finished:
            # Stop in this very instant, so that counters do not depend on how slices were cut.
            raise Halt

    def _start_flow(self, transfer: Transfer, index: int, now_ps: int) -> None:
        self.motion.start_flow(self.network.make_flow(index, transfer, now_ps))

    # --- running ---

    @property
    def now_ps(self) -> int:
        """Simulated time."""
        return int(self.motion.env.now)

    @property
    def finished(self) -> bool:
        """Whether everything the workload wanted is done."""
        return self.driver.finished

    @property
    def counters(self) -> Totals:
        """Totals as of now."""
        return Totals(self)

    def advance(self, max_events: int = 50_000, until_ps: int | None = None) -> bool:
        """Run a slice; True when everything is done or until_ps is reached.

        Raises StalledError if work is left but nothing will move, or nothing moved for too long.
        """
        # Without flows under way nothing has to move before the next event, however far it is.
        env = self.motion.env
        next_ps = env.peek()
        since_ps = self._progress[1] if self.motion.flows or next_ps == float("inf") else int(next_ps)
        deadline_ps = since_ps + self.no_progress_ps
        watched = until_ps is None or deadline_ps < until_ps
        drained = env.advance(max_events, deadline_ps if watched else until_ps)
        if self.driver.finished:
            if left := list(self.driver.workload.waiting()):
                raise StalledError(
                    "\n".join(
                        [
                            f"the run stalled at {format_time(self.now_ps)}: nothing is under way, but work is left",
                            *(f"  {line}" for line in left[:20]),
                        ]
                    )
                )
            return True
        next_ps = env.peek()
        if drained and next_ps == float("inf"):
            raise StalledError(self._stall_text("no event is left"))
        moved = (
            self.driver.counters.flows_started
            + sum(f.snd_una + f.skipped_bytes + f.rcv.next_seq for f in self.motion.flows.values())
            + self.driver.counters.bytes_finished
        )
        if moved != self._progress[0] or not self.motion.flows:
            self._progress = moved, self.now_ps
        elif drained and watched:
            limit = f"{format_time(self.no_progress_ps)} (run.no_progress_ps)"
            raise StalledError(self._stall_text(f"no byte moved for {limit}"))
        return drained and until_ps is not None and next_ps > until_ps

    def _stall_text(self, why: str) -> str:
        return "\n".join([f"the run stalled at {format_time(self.now_ps)}: {why}, but work is left", *self.pending()])

    def pending(self, limit: int = 20) -> list[str]:
        """What is not done and what it waits for: flows, then paused ports, then unstarted work."""
        lines = []
        flows = list(self.motion.flows.values())
        for flow in flows[:limit]:
            done = flow.snd_una + flow.skipped_bytes
            nic = flow.nic
            down = next((p for p in (*(flow.data_path or ()), *(flow.ack_path or ())) if p.down), None)
            if (bad := bad_answer(flow.cca)) is not None:
                why = f"its congestion control, which asks for {bad}"
            elif down is not None:
                why = f"the failed link {down.node} -> {down.peer} (link {down.link_index}), and there is no other way"
            elif nic is not None and nic.data_paused:
                why = "its NIC is paused by PFC"
            elif flow.snd_nxt >= flow.end_seq:
                why = f"acknowledgement of {flow.snd_nxt - flow.snd_una} B sent"
            elif not flow.may_send():
                why = f"its window of {flow.cca.window_bytes} B (acknowledgements are missing)"
            else:
                why = "its turn to send"
            lines.append(
                f"  flow {flow.transfer.id} ({flow.src} -> {flow.dst}): {format_size(done)} of "
                f"{format_size(flow.transfer.size_bytes)} acknowledged, waits for {why}; "
                f"{flow.timeouts} timeouts in a row"
            )
        if len(flows) > limit:
            lines.append(f"  ... and {len(flows) - limit} more flows")
        for port in self.motion.paused_ports()[:limit]:
            lines.append(
                f"  port {port.node} -> {port.peer} (link {port.link_index}) "
                f"is paused since {format_time(port.paused_since_ps)}"
            )
        lines.extend(f"  {line}" for line in self.driver.waiting()[:limit])
        return lines

    # --- results ---

    def blame(self, error: BaseException) -> BaseException:
        """The error itself, or what is at its root: a congestion control that asked for the impossible."""
        if isinstance(error, Exception) and not isinstance(error, WormholeError):
            for flow in self.motion.flows.values():
                if (bad := bad_answer(flow.cca)) is not None:
                    return PluginError(f"asked for {bad}, for flow {flow.transfer.id}", "cca")
        return error

    def link_records(self) -> list[LinkRecord]:
        """One record per direction of a link, by port index."""
        now = self.now_ps
        paused = set(self.motion.paused_ports())
        return [
            LinkRecord(
                link_index=p.link_index,
                node=p.node,
                peer=p.peer,
                rate_bps=p.rate_bps,
                tx_bytes=p.tx_bytes,
                tx_frames=p.tx_frames,
                busy_ps=p.tx_bytes * 8 * PS_PER_S // p.rate_bps,
                max_queue_bytes=p.max_queue,
                drops=p.drops,
                dropped_bytes=p.dropped_bytes,
                marks=p.marks,
                pauses=p.pauses,
                paused_ps=p.paused_ps + (now - p.paused_since_ps if p in paused else 0),
            )
            for p in self.network.port_list
        ]

    def derived(self) -> dict[str, str]:
        """What was derived from rates and delays rather than given, for people."""
        derived = self.network.derived()
        order = self.network.config.order
        if order not in self.motion.orders:
            derived["order in an instant"] = (
                f"index: the readable model cannot follow network.order = {order!r} of the fast one"
            )
        return derived
