"""``python -m benchmarks.scaling``: compares declared costs with measured times by n, d, width and number of fits."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from benchmarks import machine

REPETITIONS = 3
BASE = {"n": 1000, "d": 20, "width": 20, "fits": 1}
NETWORK = "quad-densenet"
KERNEL = "kernel-ridge"
AXES: Mapping[str, Mapping[str, Sequence[int]]] = {
    NETWORK: {"n": (250, 1000, 4000), "d": (10, 20, 40, 80), "width": (20, 50, 100), "fits": (1, 8, 32)},
    KERNEL: {"n": (500, 1000, 2000, 4000), "d": (10, 20, 40, 80), "fits": (1, 4, 16)},
}
"""Values to vary, with the others as in ``BASE``; fits are teachers for a network and ridges for a kernel."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure in a process with one thread."""
    argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__).parse_args(arguments)
    if os.environ.get("OMP_NUM_THREADS") != "1":
        command = [sys.executable, "-m", "benchmarks.scaling"]
        return subprocess.run(command, env=machine.one_thread(), check=False).returncode
    print("| learner | along | value | declared GFLOP a fit | CPU seconds a fit | GFLOP/s |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name, axis, value, gigaflops, seconds in measured():
        print(
            f"| {name} | {axis} | {value} | {gigaflops:.3g} | {seconds:.3g} | {gigaflops / seconds:.2g} |", flush=True
        )
    return 0


def measured() -> Iterator[tuple[str, str, int, float, float]]:
    """Learner, axis, value, declared GFLOP of a fit, and CPU seconds of a fit, compile time excluded."""
    from benchmarks.measurement import timed
    from bfc_bench.plugins import load_plugins

    plugins = load_plugins()
    for name, axes in AXES.items():
        for axis, values in axes.items():
            for value in values:
                point = {**BASE, axis: value}
                jobs = _jobs(plugins, name, **point)
                cls: Any = type(jobs[0].learner)
                times = [timed(lambda cls=cls, jobs=jobs: cls.fit_batch(jobs)) for _ in range(REPETITIONS + 1)][1:]
                cost = jobs[0].learner.cost(point["n"], point["d"])
                yield name, axis, value, cost.flops / 1e9, median(times) / point["fits"]


def _jobs(plugins: Any, name: str, n: int, d: int, width: int, fits: int) -> list[Any]:
    from benchmarks.problems import samples, teacher_problems
    from bfc_bench.learner import Job
    from bfc_bench.toolkit.arrays import convert

    cls: Any = plugins.learner(name)
    if name == NETWORK:
        learner = cls.parse({"widths": (width, width), "steps": 500, "batch_size": 128}, "scaling")
        return [Job(learner, *samples(problem, (n,))[0]) for problem in teacher_problems(plugins, d, fits)]
    ((train, ctx),) = samples(teacher_problems(plugins, d, 1)[0], (n,))
    train = replace(train, x=convert(train.x, "torch", "cpu"), y=convert(train.y, "torch", "cpu"))
    return [Job(cls.parse({"ridge": 10.0 ** (k / 2 - 6)}, "scaling"), train, ctx) for k in range(fits)]


if __name__ == "__main__":
    raise SystemExit(main())
