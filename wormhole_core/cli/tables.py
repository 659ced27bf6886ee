"""The end of a run as tables on standard output: all of it is in result.json too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..run.experiment import CHOOSERS
from ..run.trust import sentence
from ..run.wording import counted
from ..units import format_rate, format_size, format_time

STATUS_STYLE = {"complete": "bold green", "partial": "bold yellow"}
MAX_COLLECTIVES = 12


def print_result(summary: Mapping[str, Any], out: str | None = None, console: Console | None = None) -> None:
    """Print the tables of one result; `out` is where the files are."""
    console = console or Console(highlight=False)
    console.print(headline(summary))
    for table in (collectives_table(summary), flows_table(summary), links_table(summary)):
        if table is not None:
            console.print()
            console.print(table)
    console.print()
    console.print(facts(summary))
    if "acceleration" in summary["cost"]:
        console.print()
        console.print(acceleration_facts(summary))
    if out is not None:
        console.print(Text(f"Results are in {out}", style="dim"), soft_wrap=True)


def headline(summary: Mapping[str, Any]) -> Text:
    """Status, work done, simulated time."""
    status = summary["status"]
    text = Text(status.capitalize(), style=STATUS_STYLE.get(status, "bold red"))
    done, pending = summary["flows_done"], summary["flows_pending"]
    text.append(f": {counted(done, 'flow')}", style="default not bold")
    if pending:
        text.append(f" done, {pending:,} pending", style="default not bold")
    text.append(
        f", {format_size(summary['bytes_done'])} in {format_time(summary['simulated_ps'])} simulated",
        style="default not bold",
    )
    if status == "partial":
        text.append(f"\n{summary['reason']}", style="default not bold")
    text.append(f"\n{components_line(summary)}", style="dim")
    text.append(
        f"\n{counted(summary['hosts'], 'host')}, {summary['mode']} mode, "
        f"{summary['model']} model, seed {summary['seed']}",
        style="dim",
    )
    return text


def components_line(summary: Mapping[str, Any]) -> str:
    """Topology, workload, congestion control and routing: by the file or the component's name."""
    used = {entry["kind"]: entry["name"] for entry in summary["manifest"]["plugins"]["components"]}
    parts = []
    for kind in ("topology", "workload", "cca", "routing"):
        section = summary["experiment"].get(kind, {})
        name = used[kind]
        by_default = "" if any(key in section for key in CHOOSERS) else " (the default)"
        parts.append(f"{kind} {section.get(name) or section.get('path') or name}{by_default}")
    return ", ".join(parts)


def collectives_table(summary: Mapping[str, Any]) -> Table | None:
    """Time and bus bandwidth per kind of collective."""
    rows = summary["collectives"]
    if not rows:
        return None
    table = _table("Collectives", "what", "algorithm", ">size", ">count", ">mean", ">max", ">bus rate")
    for row in rows[:MAX_COLLECTIVES]:
        table.add_row(
            _named(row),
            row["algorithm"],
            f"{row['ranks']} x {format_size(row['bytes'])}",
            f"{row['count']:,}",
            format_time(row["mean_ps"]),
            format_time(row["max_ps"]),
            format_rate(row["bus_bps"]),
        )
    if len(rows) > MAX_COLLECTIVES:
        table.caption = f"and {len(rows) - MAX_COLLECTIVES} more kinds"
    return table


def flows_table(summary: Mapping[str, Any]) -> Table | None:
    """Flow completion times and slowdowns (FCT over ideal FCT)."""
    rows = summary["flows"]
    if not rows:
        return None
    percents = (*(key for key in ("p50", "p90", "p99") if f"{key}_ps" in rows[0]), "max")
    table = _table("Flow completion time and slowdown", "flows", ">count", *(f">{p}" for p in percents))
    for row in rows:
        cells = (f"{format_time(row[f'{p}_ps'])}\n{row[f'{p}_slowdown']:.2f} x" for p in percents)
        table.add_row(_named(row), f"{row['count']:,}", *cells)
    return table


def links_table(summary: Mapping[str, Any]) -> Table | None:
    """The links that sent the longest."""
    rows = summary["busiest_links"]
    if not rows:
        return None
    table = _table("Busiest links", "from", "to", ">rate", ">busy", ">max queue", ">drops", ">pauses", ">marks")
    for row in rows:
        table.add_row(
            row["from"], row["to"], format_rate(row["rate_bps"]), f"{row['utilisation']:.1%}",
            format_size(row["max_queue_bytes"]), f"{row['drops']:,}", f"{row['pauses']:,}", f"{row['marks']:,}",
        )  # fmt: skip
    return table


def facts(summary: Mapping[str, Any]) -> Table:
    """Losses, cost and what was derived."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(
        "network",
        f"{counted(summary['drops'], 'drop')}, {counted(summary['pauses'], 'pause')}, "
        f"{counted(summary['marks'], 'mark')}, "
        f"{format_size(summary['retransmitted_bytes'])} retransmitted",
    )
    cost = summary["cost"]
    rate = cost["frame_hops_per_cpu_s"]
    memory = cost["peak_memory_bytes"]
    grid.add_row(
        "cost",
        f"{counted(cost['events_executed'], 'event')}, {counted(cost['frame_hops'], 'frame-hop')}"
        + (f" ({rate:,} per CPU second)" if rate else "")
        + f"\n{cost['cpu_s']:.2f} s CPU, {cost['wall_s']:.2f} s wall clock"
        + (f", {format_size(memory)} memory" if memory else ""),
    )
    if summary["derived"]:
        grid.add_row("derived", "\n".join(f"{name}: {value}" for name, value in summary["derived"].items()))
    return grid


def acceleration_facts(summary: Mapping[str, Any]) -> Table:
    """What acceleration did, and how far to trust the result."""
    asked, cost = summary["acceleration"], summary["cost"]
    done, trust = cost["acceleration"], cost["trust"]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    episodes = f"{done['episodes']:,}: {done['hits']:,} replayed, {done['followers']:,} followed one alike"
    if asked["memo"] != "none":
        episodes += f", {done['misses']:,} not known"
    others = done["episodes"] - done["hits"] - done["followers"] - done["misses"]
    if others > 0:
        episodes += f", {others:,} formed around flows under way"
    if done["tails"]:
        episodes += f"; {done['tails']:,} shortened ends"
    grid.add_row("episodes", episodes)
    watched = "; ".join(f"{name} ({count:,})" for name, count in trust["policies"].items())
    grid.add_row("skips", f"{done['skips']:,}" + (f"; partitions watched by policy: {watched}" if watched else ""))
    if trust["not_skipped"]:
        told = "; ".join(f"{reason} ({count:,})" for reason, count in list(trust["not_skipped"].items())[:3])
        grid.add_row("not skipped", told)
    if done["resimulated"]:
        grid.add_row("", f"{done['resimulated']:,} interrupted and simulated again")
    if done["refused"]:
        grid.add_row("", f"{done['refused']:,} simulated although known: no room in a switch's buffer for certain")
    share = cost["frame_hops"] / cost["frame_hops_represented"] if cost["frame_hops_represented"] else 1.0
    hops = f"{share:.2%} of {cost['frame_hops_represented']:,} frame-hops simulated"
    grid.add_row("avoided", f"about {done['events_avoided']:,} events; {hops}")
    memo = f"{asked['memo']}, {format_size(done['memo_bytes'])}" if asked["memo"] != "none" else "none"
    grid.add_row("memo", memo + (f"; {done['damaged']:,} damaged entries passed over" if done["damaged"] else ""))
    grid.add_row("trust", sentence(summary))
    return grid


def columns_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A plain table of texts; headers beginning with `>` are right-aligned."""
    table = _table(title, *headers)
    for row in rows:
        table.add_row(*row)
    return table


def _table(title: str, *headers: str) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for header in headers:
        right = header.startswith(">")
        table.add_column(header.lstrip(">"), justify="right" if right else "left", overflow="fold", no_wrap=right)
    return table


def _named(row: Mapping[str, Any]) -> str:
    return " ".join(part for part in (row["job"], row["label"]) if part) or "(no label)"
