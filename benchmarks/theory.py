"""Compares kernels with their theory: ``python -m benchmarks.theory`` prints a table and draws a figure of the docs.

Four kernels at two dimensions, 8 replicates, up to 800 points; 20 s on one core.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure

from benchmarks import machine
from bfc_bench.analysis.curves import Curve
from bfc_bench.learner import Context, Data, Job, Learner, Theory
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.report.plots import name_axes
from bfc_bench.report.style import INK, add_title_and_legend, assign, grid, log_axis
from bfc_bench.report.theory_plots import DASHES
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
FILE = Path(__file__).parents[1] / "docs" / "images" / "kernel-theory.png"


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


def draw(pairs: list[Pair]) -> Figure:
    """Draw measured errors as markers with intervals and the theory as dashed lines, one panel per dimension."""
    labels = list(KERNELS)
    styles = {label: replace(style, line=DASHES) for label, style in assign(labels).items()}
    figure, axes = grid(len(DIMS), len(DIMS), width=4.8, height=4.0)
    log_axis(axes[0].xaxis, SIZES, at=SIZES, pad=0.04)
    log_axis(axes[0].yaxis, [v for pair in pairs for v in pair.curve.mean])
    for panel, d in zip(axes, DIMS, strict=True):
        panel.set_title(f"d = {d}", loc="left", fontsize=10.5, color=INK)
        for curve, theory in ((pair.curve, pair.theory) for pair in pairs if pair.curve.d == d):
            style, n = styles[curve.label], np.geomspace(SIZES[0], SIZES[-1], 80)
            panel.plot(n, [theory.nmse(size) for size in n], color=style.colour, linewidth=1.4, linestyle=DASHES)
            bars = np.abs([curve.lo, curve.hi] - curve.mean)
            panel.errorbar(
                SIZES,
                curve.mean,
                bars,
                color=style.colour,
                marker=style.marker,
                markersize=5.5,
                linestyle="",
                capsize=2,
            )
    name_axes(axes, "training points n", "NMSE: E(F - G*)² / Var G*")
    notes = [
        "Dashed: theory, no free parameter. "
        f"Marker: geometric mean of {REPLICATES} replicates. Bar: its 95 % t-interval.",
        f"Harmonics of degree 2, of degree 3 for rbf; ridge {RIDGE:g}.",
    ]
    add_title_and_legend(figure, "Ridge regression with four kernels on the sphere", labels, styles, notes)
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
    FILE.parent.mkdir(parents=True, exist_ok=True)
    draw(pairs).savefig(FILE, dpi=110)
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
