"""Draws the pictures of docs/concepts.md from made-up curves: ``python -m benchmarks.concepts``, 3 s.

N*, intervals, exponents and verdicts are computed by the same functions as in a report.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bfc_bench.analysis.claims import Region, evidence
from bfc_bench.analysis.claims.verdict import decide
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import geometric_mean
from bfc_bench.analysis.scaling import scalings
from bfc_bench.analysis.thresholds import threshold
from bfc_bench.report.style import FAINT, INK, PALETTE, log_axis
from bfc_bench.utils.files import write_file

FOLDER = Path(__file__).parents[1] / "docs" / "images"
BLUE, ORANGE, GREEN = PALETTE[:3]
SIGNS = {"supported": (GREEN, "o"), "undecided": (INK, "s"), "contradicted": (ORANGE, "X")}


def panel(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty panel of a width and height in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(color=FAINT, labelcolor=INK, labelsize=11)
    return figure, axes


def name(axes: Axes, x: str, y: str = "") -> None:
    """Label the axes.

    Args:
        axes: the axes.
        x: label of the x axis.
        y: label of the y axis.
    """
    axes.set_xlabel(x, fontsize=12, color=INK)
    axes.set_ylabel(y, fontsize=12, color=INK)


def curve(label: str, d: int, error: np.ndarray, sizes: tuple[int, ...], seed: int) -> Curve:
    """A curve of three replicates.

    Args:
        label: label of the learner.
        d: input dimension.
        error: errors around which the replicates scatter, (K,).
        sizes: the K sizes.
        seed: seed of the scatter.
    """
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 0.09, (3, 1)) + rng.normal(0, 0.05, (3, len(sizes)))
    return Curve("t", d, label, label, "nmse", np.array(sizes), (0, 1, 2), error * np.exp(noise))


def n_star() -> Figure:
    """Draw one curve with its level and N*."""
    sizes, level = (50, 100, 200, 400, 800, 1600), 0.1
    shown = curve("learner", 20, 1.4 / (1 + (np.array(sizes) / 150.0) ** 1.6), sizes, 3)
    size = threshold(shown, level).interval
    figure, axes = panel(7.2, 4.2)
    for values in shown.values:
        axes.plot(sizes, values, color=BLUE, alpha=0.35, linewidth=1)
    means = [geometric_mean(column) for column in shown.values.T]
    bars = [[m.mean - m.lo for m in means], [m.hi - m.mean for m in means]]
    axes.errorbar(sizes, [m.mean for m in means], bars, color=BLUE, marker="o", linewidth=2, capsize=4)
    log_axis(axes.xaxis, sizes, at=sizes)
    log_axis(axes.yaxis, shown.values.ravel())
    axes.axhline(level, color=ORANGE, linestyle=(0, (5, 2)), linewidth=1.6)
    axes.annotate("level 0.1", (sizes[0], level), (0, 5), textcoords="offset points", color=ORANGE, fontsize=12)
    bottom = axes.get_ylim()[0]
    axes.plot([size.mean] * 2, [bottom, level], color=GREEN, linewidth=1.6)
    axes.axvspan(size.lo, size.hi, color=GREEN, alpha=0.18, linewidth=0)
    text = f"N*(0.1) = {size.mean:.0f}\n[{size.lo:.0f}, {size.hi:.0f}]"
    axes.annotate(text, (size.lo / 1.06, bottom * 1.25), color="#006b4e", fontsize=12, va="bottom", ha="right")
    axes.annotate(
        "mean of 3 replicates\nwith its 95 % interval", (sizes[1], means[1].mean), (90, 12),
        textcoords="offset points", color=BLUE, fontsize=12, va="bottom",
        arrowprops={"arrowstyle": "-", "color": BLUE, "shrinkB": 6},
    )  # fmt: skip
    name(axes, "training points n", "NMSE on fresh points")
    return figure


def exponent() -> Figure:
    """Draw N* against d for two learners. One exceeds the largest size."""
    sizes, level, dims = tuple(50 * 2**k for k in range(7)), 0.1, (6, 9, 14, 20)
    laws = {"kernel": (2.0, 2.4, ORANGE, "s"), "deep": (11.0, 1.0, BLUE, "o")}
    figure, axes = panel(7.2, 4.2)
    for label, (factor, power, colour, marker) in laws.items():
        curves = [
            curve(label, d, 1.2 / (1 + (np.array(sizes) / (factor * d**power) * 3) ** 1.7), sizes, d) for d in dims
        ]
        (scaling,) = scalings(curves, [level])
        fit = scaling.exponent
        for d, reached in scaling.thresholds.items():
            if reached.right:
                axes.plot([d], [sizes[-1]], marker=(3, 0, 0), markersize=12, color=colour, markerfacecolor="white")
            else:
                size = reached.interval
                axes.errorbar(
                    [d], [size.mean], [[size.mean - size.lo], [size.hi - size.mean]], color=colour, marker=marker,
                    markersize=7, capsize=4,
                )  # fmt: skip
        ends = np.array([dims[0], dims[-1]])
        line = np.exp(fit.intercept) * ends**fit.value
        axes.plot(ends, line, color=colour, linewidth=1.3, linestyle="-" if label == "deep" else (0, (5, 2)))
        text = f"{label}: exponent {fit.value:.1f} [{fit.lo:.1f}, {fit.hi:.1f}]"
        place = (dims[1] * 1.1, np.exp(fit.intercept) * (dims[1] * 1.1) ** fit.value)
        shift = (-8, 14) if label == "kernel" else (6, -22)
        side = "right" if label == "kernel" else "left"
        axes.annotate(text, place, shift, textcoords="offset points", color=colour, fontsize=12, ha=side)
    log_axis(axes.xaxis, dims, at=dims)
    log_axis(axes.yaxis, (sizes[0], sizes[-1] * 1.7))
    axes.axhline(sizes[-1], color=FAINT, linewidth=1)
    axes.annotate(
        "largest n that was run: above it N* is a bound", (dims[0], sizes[-1]), (0, 5),
        textcoords="offset points", color=INK, fontsize=11,
    )  # fmt: skip
    name(axes, "input dimension d", "N*(0.1)")
    return figure


def verdicts() -> Figure:
    """Draw intervals beside the region that a claim allows."""
    region = Region(hi=0.01)
    cases = {
        "5 replicates that agree": (2e-3, 0.25, 5), "3 that differ more": (2e-3, 0.9, 3),
        "on the bound": (1e-2, 0.4, 5), "too large": (9e-2, 0.35, 5), "one replicate": (1e-3, 0.0, 1),
    }  # fmt: skip
    figure, axes = panel(7.2, 3.4)
    axes.axvspan(1e-5, 0.01, color=GREEN, alpha=0.13, linewidth=0)
    for place, (text, (middle, spread, count)) in enumerate(cases.items()):
        steps = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
        values = np.log(middle) + spread * steps
        estimate = evidence(values.tolist())
        verdict = decide(region.log(), [("", estimate)]).verdict
        colour, marker = SIGNS[verdict]
        lo, hi = np.exp(np.clip(estimate.bounds(), np.log(1e-5), np.log(1.0)))
        axes.plot([lo, hi], [place, place], color=colour, linewidth=2.4, solid_capstyle="butt")
        axes.plot(np.exp(values), [place] * count, "|", color=colour, markersize=11, alpha=0.6)
        axes.plot([middle], [place], marker, color=colour, markersize=9)
        axes.annotate(verdict, (1.15, place), color=colour, fontsize=12, va="center", annotation_clip=False)
        axes.annotate(text, (8.5e-6, place), color=INK, fontsize=12, va="center", ha="right", annotation_clip=False)
    log_axis(axes.xaxis, (1e-5, 1.0), pad=0)
    axes.set_yticks([])
    axes.set_ylim(len(cases) - 0.4, -0.9)
    axes.spines["left"].set_visible(False)
    axes.axvline(0.01, color=GREEN, linewidth=1.4)
    axes.annotate("allowed: at most 0.01", (0.009, -0.55), color="#006b4e", fontsize=12, ha="right", va="center")
    name(axes, "NMSE: replicates, mean and 95 % interval")
    return figure


def pairing() -> Figure:
    """Draw nested samples, which are the same for all learners."""
    figure, axes = panel(7.2, 3.3)
    axes.set_axis_off()
    for replicate in (0, 1):
        top = 1.35 - 1.35 * replicate
        colour = (BLUE, ORANGE)[replicate]
        axes.text(
            0, top + 0.98, f"replicate {replicate}: its own teacher, points and test points", color=colour, fontsize=12
        )
        for row, (n, text) in enumerate(((100, "n = 100"), (200, "n = 200"), (400, "n = 400"))):
            height = top + 0.64 - 0.27 * row
            for first, alpha in ((200, 0.25), (100, 0.5), (0, 0.85)):
                last = {0: 100, 100: 200, 200: 400}[first]
                if last <= n:
                    width = (last - first) / 100
                    box = Rectangle((1.2 + first / 100, height), width, 0.2, facecolor=colour, alpha=alpha, linewidth=0)
                    axes.add_patch(box)
            axes.text(1.1, height + 0.1, text, ha="right", va="center", fontsize=12, color=INK)
        axes.add_patch(
            Rectangle((6.0, top + 0.1), 1.3, 0.74, facecolor="none", edgecolor=colour, hatch="////", linewidth=1)
        )
        axes.text(6.65, top + 0.47, "test points", ha="center", va="center", fontsize=12, color=INK,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 2})  # fmt: skip
        axes.text(5.6, top + 0.47, "→", ha="center", va="center", fontsize=16, color=INK)
    axes.set_xlim(-0.05, 7.4)
    axes.set_ylim(-0.05, 2.6)
    return figure


PICTURES = {"n-star": n_star, "exponent": exponent, "verdicts": verdicts, "pairing": pairing}


def main() -> None:
    """Draw all pictures."""
    for stem, draw in PICTURES.items():
        path = FOLDER / f"concept-{stem}.svg"
        stream = BytesIO()
        with mpl.rc_context({"svg.hashsalt": stem, "hatch.linewidth": 0.5}):
            draw().savefig(stream, format="svg", metadata={"Date": None}, facecolor="white")
        write_file(path, stream.getvalue())
        print(path)


if __name__ == "__main__":
    main()
