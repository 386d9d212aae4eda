"""``python -m benchmarks.correction``: a kernel and a network correct features of lower layers; draws a figure.

The share of the features S_2, S_3, ... of the teacher outside the span of the learned ones, at test points: by round of
a sequential kernel with backward correction, and by step of joint training, on the same points. Minutes on one core.

The kernel has 4 to 6 features a layer. The network has more of them than the teacher, k, and those of layer 2 span all
squares: its k leading directions count, the left singular vectors of its features at the test points.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import machine
from bfc_bench.learner import Context, Data, Failure
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.report.axis import log_axis
from bfc_bench.report.drawing import Drawing
from bfc_bench.report.pictures import save
from bfc_bench.report.plots import LINE, MARKER
from bfc_bench.report.style import assign
from bfc_bench.tasks.build import build_task

TEACHERS, TEST = 3, 4096
STEPS = [10, 20, 50, 100, 200, 500, 1000, 2000]
FILE = Path(__file__).parents[1] / "docs" / "images" / "correction.svg"
KERNEL, JOINT = "kernel with correction", "joint training"


@dataclass(frozen=True)
class Case:
    """A target with inputs and samples, and the widths of the network."""

    name: str
    d: int
    n: int
    target: Mapping[str, Any]
    widths: tuple[int, ...]

    @property
    def learners(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Name and options by label."""
        return {
            KERNEL: ("sequential-kernel", {"correct": "tangent", "layers": 2}),
            JOINT: ("quad-densenet", {"widths": self.widths, "checkpoints": STEPS}),
        }


CASES = (
    Case("L = 3", 20, 1000, {"widths": [4, 2], "alphas": [1.0, 0.3]}, (20, 12)),
    Case("L = 4", 10, 1000, {"widths": [4, 2, 2], "alphas": [1.0, 0.5, 0.25]}, (20, 12, 8)),
)


@dataclass(frozen=True)
class FeaturePath:
    """What one learner misses of one layer of one teacher."""

    case: Case
    learner: str
    layer: str
    positions: tuple[int, ...]
    """Rounds, counted from 1 for the forward pass, or steps."""
    errors: tuple[float, ...]

    @property
    def panel(self) -> str:
        """Title of the panel that shows it."""
        return f"{self.case.name}, d = {self.case.d}: {self.layer}"


def measure(case: Case, teacher: int, plugins: Plugins) -> list[FeaturePath]:
    """The paths of both learners on all layers that a learner corrects."""
    task = build_task(
        "correction",
        inputs={"kind": "uniform"},
        target={"kind": "quadratic-densenet", **case.target},
        labels={"kind": "clean"},
        kinds=plugins.kinds,
        where="benchmarks.correction",
    )
    problem = task.problem(seed=0, d=case.d, replicate=teacher, test_size=TEST)
    sample, x = problem.train(case.n), torch.tensor(problem.test_x)
    data = Data(sample.sample, sample.n, sample.d, x=torch.tensor(sample.x), y=torch.tensor(sample.y))
    paths = []
    for label, (name, options) in case.learners.items():
        learner = plugins.learner(name).parse(options, "benchmarks.correction")
        fitted = learner.fit(data, Context(square_mean=problem.square_mean))
        if isinstance(fitted, Failure):
            raise ValueError(f"{label} must learn {case.name}. It failed: {fitted.reason}")
        hidden = {_position(stage): predictor.hidden(x) for stage, predictor in fitted.stages.items()}
        if label == JOINT:
            hidden[int(fitted.info["steps"])] = fitted.hidden(x)
        for layer, known in problem.test_hidden.items():
            found = [np.asarray(features[layer]) for features in hidden.values() if layer in features]
            if label == JOINT:
                found = [leading(features, known.shape[1]) for features in found]
            if found:
                errors = tuple(missed(known, features) for features in found)
                paths.append(FeaturePath(case, label, layer, tuple(hidden), errors))
    return paths


def leading(features: np.ndarray, k: int) -> np.ndarray:
    """The k leading left singular vectors, (m, k), of features (m, k')."""
    vectors: np.ndarray = np.linalg.svd(features, full_matrices=False)[0][:, :k]
    return vectors


def missed(known: np.ndarray, features: np.ndarray) -> float:
    """Share of ``known`` (m, k) outside the span of ``features`` (m, k')."""
    basis = np.linalg.qr(features)[0]
    return float(np.sum((known - basis @ (basis.T @ known)) ** 2) / np.sum(known**2))


def draw(paths: list[FeaturePath]) -> Drawing:
    """A panel per target and layer; a thin line per teacher."""
    panels = list(dict.fromkeys(path.panel for path in paths if path.learner == KERNEL))
    shown = [path for path in paths if path.panel in panels]
    x = log_axis("position", "round of the kernel (1: forward), or step", [k for path in shown for k in path.positions])
    y = log_axis("error", "share of S outside the learned span", [error for path in shown for error in path.errors])
    title = "Backward feature correction, by kernel and by network"
    figure = Drawing(x, y, panels, assign([KERNEL, JOINT]), title, columns=2)
    for number, path in enumerate(shown):
        at = {"panel": path.panel, "label": path.learner}
        records = [at | {"position": k, "error": error} for k, error in zip(path.positions, path.errors, strict=True)]
        figure.add(f"line {number}", LINE | {"strokeWidth": 1.1}, records)
        figure.add(f"path {number}", MARKER | {"size": 18}, records, shape=True)
    figure.labels = [KERNEL, JOINT]
    figure.notes = [f"One line per teacher, {TEACHERS} each; n = {CASES[0].n}, uniform inputs, no noise."]
    return figure


def main() -> None:
    """Measure, print, draw."""
    facts = machine.describe()
    print(f"share of S outside the learned span; {facts['processor']}")
    print("| target | d | n | layer | learner | teacher | at the start | half way | at the end |\n|" + "---|" * 9)
    plugins, paths = load_plugins(), list[FeaturePath]()
    for case in CASES:
        for teacher in range(TEACHERS):
            for path in measure(case, teacher, plugins):
                paths.append(path)
                parts = [f"{path.errors[k]:.1e} ({path.positions[k]})" for k in (0, len(path.errors) // 2, -1)]
                cells = [case.name, case.d, case.n, path.layer, path.learner, teacher, *parts]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)
    save(draw(paths).spec(), FILE.parent, FILE.stem)
    print(f"wrote {FILE}")


def _position(stage: str) -> int:
    """1 for the forward pass, k + 1 for round k, the number of a step."""
    number = int((re.search(r"\d+$", stage) or ["0"])[0])
    return number if stage.startswith("step") else number + 1


if __name__ == "__main__":
    main()
