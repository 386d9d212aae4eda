"""CPU seconds of each part of a whole run: the runs of ``whole_runs`` in one process, with timers around the parts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measurement import Measurement, Spread

PARTS = ("start and imports", "drawing", "compiling", "steps", "fits besides", "measuring", "store and report")
REPEATS = 3


def measure(quick: bool) -> Iterator[Measurement]:
    """CPU seconds of each part of a run at M and S, without cached compiled programs."""
    from benchmarks.networks import MEDIUM, SMALL  # here, since the process that is measured needs no torch
    from benchmarks.whole_runs import networks_suite

    for size, full in ((MEDIUM, 500), (SMALL, 3000)):
        seeds, steps = (2, 100) if quick else (32, full)
        runs = [_parts(networks_suite(size, steps, seeds)) for _ in range(1 if quick else REPEATS)]
        for part in PARTS:
            what = f"{size.name}, {seeds} seeds x {steps} steps: {part}"
            yield Measurement(what, "s", Spread.of([run[part] for run in runs]), len(runs))


def _parts(suite: str) -> dict[str, float]:
    """The parts of one run in a fresh process."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "whole.toml")
        path.write_text(suite)
        environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": folder}
        command = [sys.executable, "-m", "benchmarks.run_parts", str(path), str(Path(folder, "store"))]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(ran.stdout.strip().rpartition("\n")[2]))


class Clock:
    """CPU seconds of this process by part, each without the parts inside it."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._parts = ["start and imports"]
        self._since = 0.0

    def enter(self, part: str) -> None:
        """Count the time from now on to ``part``."""
        self._add()
        self._parts.append(part)

    def leave(self) -> None:
        """Count the time from now on to the enclosing part again."""
        self._add()
        self._parts.pop()

    def _add(self) -> None:
        now = time.process_time()
        self.seconds[self._parts[-1]] += now - self._since
        self._since = now

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """Count the time of a block to ``part``."""
        self.enter(part)
        try:
            yield
        finally:
            self.leave()

    def around(self, part: str, owner: Any, name: str) -> None:
        """Count the time of a function to ``part``."""
        function: Callable[..., Any] = getattr(owner, name)

        def timed(*arguments: Any, **options: Any) -> Any:
            with self.of(part):
                return function(*arguments, **options)

        setattr(owner, name, timed)


def main(suite: str, store: str) -> None:
    """Run a suite in this process and print the seconds of its parts as JSON."""
    clock = Clock()
    with clock.of("start and imports"):
        import bfc_plugins.quadratic.quad_densenet  # noqa: F401  a run imports it when it begins
        from jax._src import compiler

        from bfc_bench.cli import app
        from bfc_bench.run import cell
        from bfc_bench.toolkit import ensemble

    clock.around("compiling", compiler, "backend_compile_and_load")
    clock.around("steps", ensemble, "train")
    clock.around("fits besides", cell, "fit")
    for name in ("predict", "_finish"):
        clock.around("measuring", cell, name)
    clock.around("drawing", cell.CellFit, "prepare")
    clock.around("start and imports", cell, "load_libraries")
    with clock.of("store and report"):
        app.run(["run", suite, "--store", store, "--executor", "serial", "--no-mlflow", "--device", "cpu"])
    clock.enter("end")
    print(json.dumps(clock.seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
