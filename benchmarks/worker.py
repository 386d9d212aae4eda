"""Measures one benchmark in a process of its own: ``python -m benchmarks.worker NAME FILE [--quick]``.

``FILE`` gets one line of JSON per line of the table, as soon as it is known.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from benchmarks import machine


def main(name: str, file: str, *flags: str) -> None:
    """Measure benchmark ``name`` into ``file``; a quick measurement is too small to judge a goal by."""
    quick = "--quick" in flags
    for measurement in import_module(f"benchmarks.{name}").measure(quick):
        line = replace(measurement, goal=None) if quick else measurement
        record = {"benchmark": name, **line.record(), "load": machine.load()}
        with Path(file).open("a") as out:
            out.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
