"""``python -m benchmarks.compare A.json B.json``: prints two reports side by side."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.table import WIDTH, amount, ratio


def main(first: str, second: str) -> None:
    """Print our times and ratios in both reports, and the differences of machine and versions."""
    a, b = (json.loads(Path(path).read_text()) for path in (first, second))
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    lines_a, lines_b = _by_name(a), _by_name(b)
    table = Table(
        *("benchmark", "what", "opponent", "ours A", "ours B", "A / B", "ratio A", "ratio B"),
        box=None,
        header_style="bold",
    )
    for name in [*lines_a, *(name for name in lines_b if name not in lines_a)]:
        both = lines_a.get(name), lines_b.get(name)
        change = f"{both[0]['ours']['median'] / both[1]['ours']['median']:.2f}" if both[0] and both[1] else ""
        table.add_row(*name, *(_ours(line) for line in both), change, *(_ratio(line) for line in both))
    console.print(f"A = {first}\nB = {second}", markup=False, highlight=False)
    console.print(table)
    for fact in differences(a, b):
        console.print(fact, markup=False, highlight=False, soft_wrap=True)


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Differences of machine, versions, size of the measurement and load."""
    facts_a, facts_b = _facts(a), _facts(b)
    return [
        f"{key}: {facts_a.get(key)} | {facts_b.get(key)}"
        for key in {**facts_a, **facts_b}
        if facts_a.get(key) != facts_b.get(key)
    ]


def _facts(report: Mapping[str, Any]) -> dict[str, Any]:
    machine = dict(report["machine"])
    return {**machine.pop("packages"), **machine, "quick": report["quick"], "load per core": report["load_before"]}


def _by_name(report: Mapping[str, Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(line["benchmark"], line["what"], line["opponent"]): line for line in report["results"]}


def _ours(line: Mapping[str, Any] | None) -> str:
    return "" if line is None else amount(line["ours"], line["unit"])


def _ratio(line: Mapping[str, Any] | None) -> str:
    return "" if line is None or line["ratio"] is None else ratio(line["ratio"])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m benchmarks.compare A.json B.json")
    main(*sys.argv[1:])
