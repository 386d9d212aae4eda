"""Compares kernels with their theory: ``python -m benchmarks.theory`` prints a table and draws a figure of the docs.

Four kernels at two dimensions, 8 replicates, up to 800 points; 20 s on one core.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks import machine
from bfc_bench.analysis.curves import Curve
from bfc_bench.learner import Context, Data, Job, Learner, Theory
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.report.axis import log_axis
from bfc_bench.report.drawing import Drawing, Record
from bfc_bench.report.pictures import save
from bfc_bench.report.plots import BAR, LINE, MARKER
from bfc_bench.report.style import assign
from bfc_bench.tasks.build import build_task
from bfc_bench.tasks.teacher_task import TeacherTask

KERNELS = {
    "ntk-raw": ("ntk-raw", {}, 2),
    "ntk-neural": ("ntk-neural", {}, 2),
    "ntk, depth 2": ("kernel-ridge", {"kernel": "ntk", "depth": 2, "with_squares": False}, 2),
    "rbf": ("kernel-ridge", {"kernel": "rbf", "with_squares": False}, 3),
}
"""Learner, options and degree of the target, by label."""
RIDGE, REPLICATES, TEST = 1e-6, 8, 4096
DIMS = (10, 20)
SIZES = (25, 50, 100, 200, 400, 800)
FILE = Path(__file__).parents[1] / "docs" / "images" / "kernel-theory.svg"


@dataclass(frozen=True)
class Pair:
    """Measured curve and theory of one kernel at one dimension."""

    curve: Curve
    theory: Theory

    @property
    def line(self) -> str:
        """Theory / measured by n, as a line of the table."""
        expected = [self.theory.nmse(n) for n in self.curve.n]
        cells = [f"{a:.3g} / {b:.3g}" for a, b in zip(expected, self.curve.mean, strict=True)]
        return f"| {' | '.join([self.curve.label, str(self.curve.d), *cells])} |"


def measure() -> Iterator[Pair]:
    """Every kernel at every dimension."""
    plugins = load_plugins()
    for d in DIMS:
        for label, (name, options, degree) in KERNELS.items():
            learner = plugins.learner(name).parse({**options, "ridge": RIDGE}, "benchmarks.theory")
            task = _task(plugins, degree)
            theory = learner.theory(task.facts(d))
            if theory is None:
                raise ValueError(f"{label} must have a theory at d = {d}. It offers none.")
            values = np.array([_errors(learner, task, d, replicate) for replicate in range(REPLICATES)])
            replicates = tuple(range(REPLICATES))
            yield Pair(Curve("sphere", d, label, name, "nmse", np.array(SIZES), replicates, values), theory)


def draw(pairs: list[Pair]) -> Drawing:
    """Draw measured errors as markers with intervals and the theory as dashed lines, one panel per dimension."""
    theory: list[Record] = []
    measured: list[Record] = []
    for curve, expected in ((pair.curve, pair.theory) for pair in pairs):
        at = {"panel": f"d = {curve.d}", "label": curve.label}
        theory += [at | {"n": n, "error": expected.nmse(n)} for n in np.geomspace(SIZES[0], SIZES[-1], 80).tolist()]
        points = zip(SIZES, curve.mean.tolist(), curve.lo.tolist(), curve.hi.tolist(), strict=True)
        measured += [at | {"n": n, "error": mean, "lo": lo, "hi": hi} for n, mean, lo, hi in points]
    x = log_axis("n", "training points n", SIZES, at=SIZES, pad=0.04)
    y = log_axis("error", "NMSE: E(F - G*)² / Var G*", [record["error"] for record in measured], most=9)
    title = "Ridge regression with four kernels on the sphere"
    figure = Drawing(x, y, [f"d = {d}" for d in DIMS], assign(KERNELS), title)
    figure.add("theory", LINE | {"strokeWidth": 1.4, "strokeDash": [5, 3]}, theory)
    figure.add("interval", BAR, measured, fields={"y": "lo", "y2": "hi"})
    figure.add("mean", MARKER, measured, shape=True)
    figure.labels = list(KERNELS)
    figure.notes = [
        "Dashed: theory, no free parameter. "
        f"Marker: geometric mean of {REPLICATES} replicates. Bar: its 95 % t-interval.",
        f"Harmonics of degree 2, of degree 3 for rbf; ridge {RIDGE:g}.",
    ]
    return figure


def main() -> None:
    """Measure, print, draw."""
    facts = machine.describe()
    print(f"theory / measured NMSE, ridge {RIDGE:g}, {REPLICATES} replicates; {facts['processor']}")
    print(f"| kernel | d | {' | '.join(f'n = {n}' for n in SIZES)} |\n|---|---|{'---|' * len(SIZES)}")
    pairs = []
    for pair in measure():
        print(pair.line, flush=True)
        pairs.append(pair)
    save(draw(pairs).spec(), FILE.parent, FILE.stem)
    print(f"wrote {FILE}")


def _task(plugins: Plugins, degree: int) -> TeacherTask:
    target = {"kind": "lowrank-poly", "degree": degree}
    made = build_task(
        "sphere",
        inputs={"kind": "sphere"},
        target=target,
        labels={"kind": "clean"},
        kinds=plugins.kinds,
        where="benchmarks.theory",
    )
    assert isinstance(made, TeacherTask)
    return made


def _errors(learner: Learner, task: TeacherTask, d: int, replicate: int) -> list[float]:
    """NMSE by size."""
    problem = task.problem(seed=0, d=d, replicate=replicate, test_size=TEST)
    ctx = Context(square_mean=problem.square_mean)
    samples = [problem.train(n) for n in SIZES]
    jobs = [Job(learner, Data(s.sample, s.n, s.d, x=torch.tensor(s.x), y=torch.tensor(s.y)), ctx) for s in samples]
    fitted = type(learner).fit_batch(jobs)
    x, y = torch.tensor(problem.test_x), problem.test_y
    predictions = type(learner).predict_batch(fitted, [x] * len(fitted))
    return [float(np.mean((p.numpy() - y) ** 2) / np.var(y)) for p in predictions]


if __name__ == "__main__":
    main()
