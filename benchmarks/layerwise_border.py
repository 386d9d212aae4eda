"""``python -m benchmarks.layerwise_border STORE``: layer-wise training over joint or corrected training, N* and errors.

For each task of the suite ``layerwise``, against the smallest squared correlation of the label with one hidden feature
of the target alone. Draws docs/images/layerwise-border.png and prints its numbers.

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

import numpy as np
from matplotlib.figure import Figure

from benchmarks import machine
from bfc_bench import load_plugins, open_store
from bfc_bench.analysis.claims.beats import Beats
from bfc_bench.errors import BenchError
from bfc_bench.report.plots import name_axes
from bfc_bench.report.style import add_title_and_legend, assign, grid, log_axis, save
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
    save(draw(places), options.images, "layerwise-border", ("png",))
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


def draw(places: Sequence[Place]) -> Figure:
    """A panel of N* and one of errors, with one point per task and d; arrows where the interval is open."""
    names = list(dict.fromkeys(place.name for place in places))
    styles = assign(names)
    figure, panels = grid(2, 2, width=4.4, height=3.4, share_y=False)
    for panel, what in zip(panels, ("samples", "errors"), strict=True):
        ratios = [getattr(place, what) for place in places]
        log_axis(panel.xaxis, [place.correlation for place in places])
        log_axis(panel.yaxis, [1.0, *(end for ratio in ratios for end in (ratio.value, ratio.lo, ratio.hi))])
        bottom, top = panel.get_ylim()
        panel.axhline(1, color="#888888", linewidth=0.8)
        for place, ratio in zip(places, ratios, strict=True):
            if not np.isfinite(ratio.value):
                continue
            x, style = [place.correlation], styles[place.name]
            panel.plot(x, [ratio.value], color=style.colour, marker=style.marker, linestyle="none")
            panel.plot(x * 2, [max(ratio.lo, bottom), min(ratio.hi, top)], color=style.colour, linewidth=1.1)
            for end, marker, is_open in ((top, "^", ratio.hi > top), (bottom, "v", ratio.lo < bottom)):
                if is_open:
                    panel.plot(x, [end], color=style.colour, marker=marker, clip_on=False, markersize=5)
    correlation = "smallest squared correlation of the label with one feature"
    name_axes(panels, correlation, f"ratio of N*({LEVEL:g})")
    panels[1].set_ylabel("ratio of errors at the largest n", fontsize=9.5)
    note = "Mean over teachers with 95 % intervals. Arrows: the interval is open, as an N* lies beyond the sizes."
    add_title_and_legend(figure, "What layer-wise training needs, and leaves", names, styles, [note])
    return figure


if __name__ == "__main__":
    sys.exit(main())
