"""Prints reports as a terminal table or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH = 200
"""Width of the table in characters if the output is not a terminal."""


COLUMNS = ("benchmark", "what", "ours", "opponent", "its time", "ratio [least, most]", "count", "goal", "met")
TEXTS = ("benchmark", "what", "opponent")


def print_table(report: Mapping[str, Any], console: Console) -> None:
    """Print one row per measurement, followed by machine, versions, load and missing measurements."""
    if not console.is_terminal:
        console.width = WIDTH
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in COLUMNS:
        table.add_column(
            name, justify="left" if name in TEXTS else "right", overflow="fold" if name in TEXTS[:2] else "ellipsis"
        )
    for row in rows(report):
        table.add_row(*row)
    console.print(table)
    for text in footer(report):
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def markdown(report: Mapping[str, Any]) -> str:
    """The report as a Markdown table with a list below it."""
    rule = ["---" if name in TEXTS else "---:" for name in COLUMNS]
    lines = [f"| {' | '.join(row)} |" for row in (COLUMNS, rule, *rows(report))]
    return "\n".join([*lines, "", *(f"- {text}" for text in footer(report))])


def rows(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """Texts of ``COLUMNS`` per measurement; only the first line of a benchmark has its name."""
    previous = None
    for line in report["results"]:
        yield [
            "" if line["benchmark"] == previous else line["benchmark"],
            line["what"],
            amount(line["ours"], line["unit"]),
            line["opponent"],
            "" if line["theirs"] is None else amount(line["theirs"], line["unit"]),
            "" if line["ratio"] is None else ratio(line["ratio"]),
            str(line["count"]),
            goal(line),
            "" if line["met"] is None else "yes" if line["met"] else "no",
        ]
        previous = line["benchmark"]


def amount(spread: Mapping[str, float], unit: str) -> str:
    """The median with its unit."""
    return f"{spread['median']:.3g} {unit}"


def ratio(spread: Mapping[str, float]) -> str:
    """Median, minimum and maximum."""
    return f"{spread['median']:.2f} [{spread['low']:.2f}, {spread['high']:.2f}]"


def goal(line: Mapping[str, Any]) -> str:
    """The goal of a line."""
    if line["goal"] is None:
        return ""
    return f"<= {line['goal']:g} {line['unit']}" if line["ratio"] is None else f">= {line['goal']:g}x"


def footer(report: Mapping[str, Any]) -> list[str]:
    """Notes of the lines, failures, and the conditions of the measurement."""
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
