"""``python -m benchmarks``: runs benchmarks, prints their table and writes it as JSON."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks import BENCHMARKS, GPU_BENCHMARKS, machine
from benchmarks.table import markdown, print_table
from bfc_bench.errors import suggest

EVERY = (*BENCHMARKS, *GPU_BENCHMARKS)
SECONDS = {"rows": 7200, "whole_runs": 3600, "training": 2700}
"""Time limits of benchmarks in seconds; ``OTHERS`` for those not listed."""
OTHERS = 900


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if a benchmark could not be measured, otherwise 0."""
    options = _parser().parse_args(arguments)
    console = Console()
    report = json.loads(options.read.read_text()) if options.read else _measured(options.names, options.quick, console)
    if options.markdown:
        print(markdown(report))
    else:
        print_table(report, console)
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if report["failures"] else 0


def _measured(names: Sequence[str], quick: bool, console: Console) -> dict[str, Any]:
    """The report of the named benchmarks, or of all that can run on this machine."""
    gpu = machine.has_gpu()
    names = names or [*BENCHMARKS, *(GPU_BENCHMARKS if gpu else ())]
    report: dict[str, Any] = {
        "machine": machine.describe(),
        "load_before": machine.load(),
        "quick": quick,
        "started_at": time.time(),
        "results": [],
        "failures": {},
        "notes": [] if gpu else ["no GPU: GPU lines not measured"],
    }
    for name in names:
        with console.status(f"measuring {name}"):
            results, failure = measure(name, quick)
        report["results"] += results
        if failure:
            report["failures"][name] = failure
    report["load_after"] = machine.load()
    report["seconds"] = time.time() - report["started_at"]
    return report


def measure(name: str, quick: bool) -> tuple[list[dict[str, Any]], str]:
    """Lines of one benchmark, measured in a new process with one thread, and why some are missing, or an empty text."""
    limit = SECONDS.get(name, OTHERS)
    with TemporaryDirectory() as folder:
        file = Path(folder, "lines.json")
        file.touch()
        command = [sys.executable, "-m", "benchmarks.worker", name, str(file), *(["--quick"] if quick else [])]
        try:
            process = subprocess.run(
                command, env=machine.one_thread(), timeout=limit, capture_output=True, text=True, check=False
            )
            failure = "" if process.returncode == 0 else process.stderr.strip()[-2000:] or "it ended without a message"
        except subprocess.TimeoutExpired:
            failure = f"it did not end within {limit} s"
        return [json.loads(line) for line in file.read_text().splitlines()], failure


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed against named opponents.")
    parser.add_argument("names", metavar="NAME", nargs="*", type=_known, help=f"{', '.join(EVERY)}; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller and fewer measurements, as a check")
    parser.add_argument("--output", metavar="FILE.json", type=Path, help="also write the report to this file")
    parser.add_argument("--read", metavar="FILE.json", type=Path, help="print this report instead of measuring")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    return parser


def _known(name: str) -> str:
    if name not in EVERY:
        raise argparse.ArgumentTypeError(f"unknown benchmark {name!r}.{suggest(name, EVERY)}")
    return name


if __name__ == "__main__":
    raise SystemExit(main())
