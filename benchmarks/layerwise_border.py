"""``python -m benchmarks.layerwise_border STORE``: layer-wise training over joint or corrected training, N* and errors.

For each task of the suite ``layerwise``, against the smallest squared correlation of the label with one hidden feature
of the target alone. Draws docs/images/layerwise-border.svg and prints its numbers.

A hidden feature is a unit of ``hidden``, or its square, whichever correlates more: networks read off units of a
quadratic feature, and squares of the units of a DenseNet. The hidden symbols of a grammar are one-hot vectors, whose
squared correlation with the class is known exactly.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.side_by_side import side_by_side
from bfc_bench import load_plugins, open_store
from bfc_bench.analysis.claims.beats import Beats
from bfc_bench.errors import BenchError
from bfc_bench.report.axis import log_axis
from bfc_bench.report.drawing import ARROW_DOWN, ARROW_UP, Drawing
from bfc_bench.report.pictures import save
from bfc_bench.report.plots import BAR, MARKER, stroke
from bfc_bench.report.style import FAINT, assign
from bfc_bench.run.grid import resolve
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.suite.model import Suite
from bfc_bench.tasks.task import Problem

IMAGES = Path(__file__).parents[1] / "docs" / "images"
LEVEL = 0.1
"""The error that defines N*: an error rate on grammars, else an NMSE."""
POINTS = 20_000
"""Test points on which correlations are estimated, for each teacher."""
PAIRS = {
    "rhm-levels": ("layerwise", "joint", "Random Hierarchy Model: layer-wise / joint"),
    "quadratic": ("feature", "corrected", "quadratic feature: layer-wise / corrected"),
    "bfc": ("layerwise-signed", "densenet", "quadratic DenseNet: layer-wise / joint"),
}
"""Layer-wise and other learner, and what the figure calls them, by task or grid."""


@dataclass(frozen=True)
class Ratio:
    """A ratio with its 95 % interval; 0 or inf where failed cells or an N* beyond the tested sizes leave it open."""

    value: float
    lo: float
    hi: float

    def __str__(self) -> str:
        return f"{self.value:.2g} [{self.lo:.2g}, {self.hi:.2g}]"


@dataclass(frozen=True)
class Place:
    """One task at one d."""

    task: str
    d: int
    name: str
    correlation: float
    """The smallest squared correlation, the mean over teachers."""
    samples: Ratio
    """N*(``LEVEL``) of layer-wise training over that of the other learner."""
    errors: Ratio
    """The error of layer-wise training at the largest n over that of the other learner."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the numbers and draw the figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.layerwise_border", description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--suite", default="layerwise", help="suite with the tasks of layerwise (layerwise)")
    parser.add_argument("--images", type=Path, default=IMAGES, help="folder of the figure (docs/images)")
    options = parser.parse_args(arguments)
    try:
        with open_store(options.store) as stores:
            places = measure(stores[options.suite])
    except BenchError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    print(f"| task | d | squared correlation | ratio of N*({LEVEL:g}) | ratio of errors |\n|---|---|---|---|---|")
    for place in places:
        print(f"| {place.task} | {place.d} | {place.correlation:.2g} | {place.samples} | {place.errors} |")
    print(machine.describe())
    save(draw(places), options.images, "layerwise-border")
    return 0


def measure(stored: StoredSuite) -> list[Place]:
    """The places of all tasks on which both learners of a pair were run."""
    rows = stored.rows()
    grid_of_run = resolve(Suite.parse(stored.definition, stored.name), load_plugins(), stored.name)
    suite, tasks = grid_of_run.suite, grid_of_run.tasks
    places = []
    for entry in suite.task:
        if (entry.grid or entry.name) not in PAIRS:
            continue
        frozen, other, name = PAIRS[entry.grid or entry.name]
        for d in entry.d:
            labels = {row.label for row in rows if row.task == entry.name and row.d == d}
            if not {frozen, other} <= labels:
                continue
            ratios, metric = [], "nmse" if tasks[entry.name].kind == "real" else "error_rate"
            for level in (LEVEL, None):
                claim = Beats(
                    id="border", label=frozen, against=(other,), task=entry.name, d=d, metric=metric, level=level
                )
                found = claim.judge(rows)
                ratios.append(Ratio(found.estimate, found.lo, found.hi))
            problems = [tasks[entry.name].problem(suite.seed, d, r, POINTS) for r in range(suite.replicates)]
            correlation = float(np.mean([smallest_correlation(problem) for problem in problems]))
            places.append(Place(entry.name, d, name, correlation, *ratios))
    return places


def smallest_correlation(problem: Problem) -> float:
    """The smallest squared correlation of the label with one hidden feature alone."""
    explained = problem.target_facts.get("explained")
    if isinstance(explained, dict):
        return float(min(value for layer, value in explained.items() if layer != "S1"))
    y = problem.test_y - problem.test_y.mean()
    units = np.concatenate(list(problem.test_hidden.values()), axis=1)
    squares = [np.corrcoef(features.T, y)[-1, :-1] ** 2 for features in (units, units**2)]
    return float(np.max(squares, axis=0).min())


def draw(places: Sequence[Place]) -> dict[str, Any]:
    """A panel of N* and one of errors as Vega-Lite's JSON object."""
    title = "What layer-wise training needs, and leaves"
    names = {"samples": f"ratio of N*({LEVEL:g})", "errors": "ratio of errors at the largest n"}
    return side_by_side(title, *(panel(places, what, name) for what, name in names.items()))


def panel(places: Sequence[Place], what: str, name: str) -> Drawing:
    """One point per task and d, with arrows where the interval is open.

    Args:
        places: Tasks and dimensions.
        what: ``samples`` or ``errors``.
        name: Name of the y axis.
    """
    labels = list(dict.fromkeys(place.name for place in places))
    ratios: list[Ratio] = [getattr(place, what) for place in places]
    correlation = "smallest squared correlation of the label with one feature"
    x = log_axis("correlation", correlation, [place.correlation for place in places])
    y = log_axis("ratio", name, [1.0, *(end for ratio in ratios for end in (ratio.value, ratio.lo, ratio.hi))])
    bottom, top = y.domain
    found = [(place, ratio) for place, ratio in zip(places, ratios, strict=True) if np.isfinite(ratio.value)]
    points = [
        {"panel": "", "label": place.name, "correlation": place.correlation, "ratio": ratio.value}
        | {"lo": max(ratio.lo, bottom), "hi": min(ratio.hi, top)}
        for place, ratio in found
    ]  # fmt: skip
    figure = Drawing(x, y, [""], assign(labels), height=280)
    figure.add("one", {"type": "rule", "color": FAINT}, [{"panel": "", "ratio": 1.0}], fields={"x": ""})
    figure.add("interval", BAR, points, fields={"y": "lo", "y2": "hi"})
    figure.add("ratio", MARKER, points, shape=True)
    for end, arrow in (("hi", ARROW_UP), ("lo", ARROW_DOWN)):
        edge = top if end == "hi" else bottom
        figure.add(
            f"open {end}", stroke(arrow) | {"clip": False}, [point for point in points if point[end] == edge],
            fields={"y": end},
        )  # fmt: skip
    figure.labels = labels
    figure.notes = [
        "Mean over teachers with 95 % intervals. Arrows: the interval is open, as an N* lies beyond the sizes."
    ]
    return figure


if __name__ == "__main__":
    sys.exit(main())
