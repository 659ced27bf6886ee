"""Live progress on standard error: one line that redraws, or plain lines where there is no terminal."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..run.progress import Progress, Watcher
from ..units import format_size, format_time

REDRAW_S = 0.1
PLAIN_EVERY_S = 3.0
BAR_CELLS = 16
MIN_BAR_WIDTH = 40


def make_watcher(quiet: bool, console: Console | None = None) -> Watcher:
    """What fits where standard error goes."""
    if quiet:
        return InterruptibleWatcher()
    console = console or Console(stderr=True, highlight=False)
    return LiveWatcher(console) if console.is_terminal else PlainWatcher(console)


class InterruptibleWatcher(Watcher):
    """Lets the first Ctrl-C, or request to terminate where that means the same, end the run between two
    slices, so that all counts agree; the second acts at once."""

    def __init__(self) -> None:
        self._asked_to_stop = False
        self._before: dict[int, object] = {}
        self._what = ""
        self._told: frozenset[str] = frozenset()

    def run_begins(self, what: str) -> None:
        self._what = what

    def new_notes(self, notes: tuple[str, ...]) -> list[str]:
        """Those not told yet: several runs of one experiment have the same."""
        new = [note for note in notes if note not in self._told]
        self._told |= {*new}
        return new

    def started(self, notes: tuple[str, ...]) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is signal.default_int_handler:
                    self._before[number] = signal.signal(number, self._interrupt)

    def advanced(self, progress: Progress) -> None:
        if self._asked_to_stop:
            raise KeyboardInterrupt

    def ended(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._before.clear()

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self._asked_to_stop:
            raise KeyboardInterrupt
        self._asked_to_stop = True


class LiveWatcher(InterruptibleWatcher):
    """One line that redraws in place and is gone at the end."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._drawn_s = float("-inf")

    def started(self, notes: tuple[str, ...]) -> None:
        super().started(notes)
        for note in self.new_notes(notes):
            self._console.print(Text(note, style="dim"))
        self._live.start()

    def advanced(self, progress: Progress) -> None:
        now_s = time.monotonic()
        if now_s - self._drawn_s >= REDRAW_S:
            self._drawn_s = now_s
            self._live.update(progress_line(progress, self._console.width, what=self._what), refresh=True)
        super().advanced(progress)

    def ended(self) -> None:
        self._live.stop()
        super().ended()


class PlainWatcher(InterruptibleWatcher):
    """A line every few seconds."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._told_s = time.monotonic()

    def started(self, notes: tuple[str, ...]) -> None:
        super().started(notes)
        for note in self.new_notes(notes):
            self._console.print(Text(note), soft_wrap=True)

    def advanced(self, progress: Progress) -> None:
        now_s = time.monotonic()
        if now_s - self._told_s >= PLAIN_EVERY_S:
            self._told_s = now_s
            self._console.print(progress_line(progress, 1000, bar=False, what=self._what), soft_wrap=True)
        super().advanced(progress)


def progress_line(progress: Progress, width: int, bar: bool = True, what: str = "") -> Text:
    """As much as fits: which run (`what`), share of the work, simulated time, flows, time left, bytes,
    events per second."""
    share = progress.share
    line = Text(f"{what}: " if what and width >= MIN_BAR_WIDTH else "")
    start = line.copy()
    if bar and share is not None and width >= MIN_BAR_WIDTH + line.cell_len:
        full = round(share * BAR_CELLS)
        line.append("━" * full, style="cyan").append("━" * (BAR_CELLS - full), style="bright_black")
        line.append(" ")
    if share is not None:
        line.append(f"{share:4.0%}", style="bold")
    for piece in _pieces(progress):
        if line.cell_len + len(piece) + 3 > width - 1:
            break
        line.append(" · " if len(line) > len(start) else "", style="bright_black").append(piece)
    return line


def _pieces(progress: Progress) -> list[str]:
    total = progress.flows_total
    flows = f"{progress.flows_done}/{total} flows" if total is not None else f"{progress.flows_done} flows done"
    size = format_size(progress.bytes_done)
    if progress.bytes_total:
        size += f" of {format_size(progress.bytes_total)}"
    pieces = [f"{format_time(progress.now_ps)} simulated", flows]
    if progress.remaining_s is not None:
        pieces.append(f"ETA {_clock(progress.remaining_s)}")
    rate = progress.events / progress.elapsed_s if progress.elapsed_s > 0 else 0.0
    return [*pieces, size, f"{rate / 1000:,.0f} k events/s"]


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
