"""Prints reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH = 200
"""Columns where the output is no terminal."""


def print_table(report: Mapping[str, Any], console: Console) -> None:
    """One row per measurement, and below it machine, versions, load and what is missing."""
    if not console.is_terminal:
        console.width = WIDTH
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("benchmark", "what"):
        table.add_column(name, overflow="fold")
    table.add_column("ours", justify="right")
    table.add_column("opponent")
    for name in ("its time", "ratio [least, most]", "count", "goal", "met"):
        table.add_column(name, justify="right")
    previous = None
    for line in report["results"]:
        table.add_row(
            "" if line["benchmark"] == previous else line["benchmark"],
            line["what"],
            amount(line["ours"], line["unit"]),
            line["opponent"],
            "" if line["theirs"] is None else amount(line["theirs"], line["unit"]),
            "" if line["ratio"] is None else ratio(line["ratio"]),
            str(line["count"]),
            goal(line),
            "" if line["met"] is None else "yes" if line["met"] else "no",
        )
        previous = line["benchmark"]
    console.print(table)
    for text in footer(report):
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def amount(spread: Mapping[str, float], unit: str) -> str:
    """The median with its unit."""
    return f"{spread['median']:.3g} {unit}"


def ratio(spread: Mapping[str, float]) -> str:
    """Median, least and greatest."""
    return f"{spread['median']:.2f} [{spread['low']:.2f}, {spread['high']:.2f}]"


def goal(line: Mapping[str, Any]) -> str:
    """What the line is judged by."""
    if line["goal"] is None:
        return ""
    return f"<= {line['goal']:g} {line['unit']}" if line["ratio"] is None else f">= {line['goal']:g}x"


def footer(report: Mapping[str, Any]) -> list[str]:
    """Notes of the lines, failures, and where and how all this was measured."""
    facts = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["packages"].items() if version)
    lines = [f"{line['benchmark']}, {line['what']}: {line['note']}" for line in report["results"] if line["note"]]
    lines += [f"{name} was not measured: {why}" for name, why in report["failures"].items()]
    lines += report["notes"]
    if report["quick"]:
        lines.append("Quick: too small and too few to judge goals by.")
    lines.append("CPU time unless wall time is named, one thread, medians of calls in turn; ratio = its time / ours.")
    lines.append(f"{facts['processor']}, {facts['cores']} cores; {facts['platform']}; Python {facts['python']}")
    lines.append(versions)
    busy = " to ".join(f"{report[key]:.1f}" for key in ("load_before", "load_after") if report[key] is not None)
    lines.append(f"Load per core {busy}; commit {facts['git']}; {report['seconds']:.0f} s in all.")
    return lines
