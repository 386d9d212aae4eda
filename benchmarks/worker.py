"""Runs one benchmark in its own process: ``python -m benchmarks.worker NAME FILE [--quick]``.

It appends one line of JSON to ``FILE`` per line of the table, as soon as it is measured.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from benchmarks import machine


def main(name: str, file: str, *flags: str) -> None:
    """Run a benchmark."""
    quick = "--quick" in flags
    for measurement in import_module(f"benchmarks.{name}").measure(quick):
        line = replace(measurement, goal=None) if quick else measurement
        record = {"benchmark": name, **line.record(), "load": machine.load()}
        with Path(file).open("a") as out:
            out.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
