"""What a learner costs by default: CPU seconds of a suite entry with its name alone, over those of one training."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measurement import Measurement, Pairs
from bfc_bench import RunOptions, open_store, run_suite
from bfc_bench.suite.model import Suite

FILE = Path(__file__).with_suffix(".toml")


def measure(quick: bool) -> Iterator[Measurement]:
    """Each learner of ``defaults.toml`` that chooses something, against itself with nothing to choose."""
    given = tomllib.loads(FILE.read_text())
    for entry in given["learner"]:
        name, options = entry["name"], entry.get("one", {})
        for task in entry["tasks"]:
            once, whole = ([], [])
            for counts in [False] * (not quick) + [True] * (1 if quick else 3):
                one = _seconds(given["task"][task], {"name": name, "options": options, "tune": {}})
                default = _seconds(given["task"][task], {"name": name})
                if counts:
                    once.append(one)
                    whole.append(default)
            yield Pairs(once, whole, (None, None)).measurement(f"{name}, {task}", "by default", "s")


def _seconds(task: Mapping[str, Any], learner: Mapping[str, Any]) -> float:
    """CPU seconds of one fit in this process, tuning included."""
    suite = Suite.parse(
        {"name": "defaults", "replicates": 1, "test_size": 200, "task": [task], "learner": [learner]}, str(FILE)
    )
    with TemporaryDirectory() as folder:
        run_suite(suite, RunOptions(store=folder, executor="serial", device="cpu"))
        with open_store(folder) as store:
            [row] = store["defaults"].rows()
    assert row.fit_cpu_seconds is not None, row.reason
    return row.fit_cpu_seconds
