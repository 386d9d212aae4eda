"""``python -m benchmarks.power_law_exponents STORE``: measured exponents of ``power-laws`` beside those of theory.

Prints a table and draws docs/images/power-law-exponents.png: measured against theoretical exponents, and the error
against FLOPs in each phase with its compute-optimal frontier.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bfc_bench import open_store
from bfc_bench.analysis.claims import Verdict
from bfc_bench.analysis.compute import cost_curves, frontier
from bfc_bench.errors import BenchError
from bfc_bench.stored_suite import StoredSuite

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SUITE = "power-laws"
GROUPS = {
    "sgd-n": "SGD: n, at the largest M",
    "sgd-joint-n": "SGD: n, joint law",
    "sgd-joint-m": "SGD: M, joint law",
    "ridge-n": "ridge: n, noisy labels",
    "ridge-m": "ridge: M, clean labels",
    "phase": "SGD: FLOPs, phases I to IV",
    "zipf": "grammar: n",
}
"""What the claims whose names begin so are about."""


@dataclass(frozen=True)
class Exponent:
    """One claim about an exponent."""

    group: str
    case: str
    """What the claim's name adds to that of its group: a, or the phase."""
    theory: float
    measured: float
    """nan if the claim has no estimate."""
    lo: float
    hi: float
    verdict: str

    @classmethod
    def of(cls, group: str, theory: float, verdict: Verdict) -> Exponent:
        """Exponents are positive where the error falls."""
        lo, hi = sorted((verdict.lo, verdict.hi), key=abs) if verdict.estimate < 0 else (verdict.lo, verdict.hi)
        sign = -1 if verdict.estimate < 0 else 1
        case = verdict.id.removeprefix(f"{group}-")
        return cls(group, case, abs(theory), sign * verdict.estimate, sign * lo, sign * hi, verdict.verdict)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and draw the figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.power_law_exponents", description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--images", type=Path, default=IMAGES, help="folder of the figure")
    options = parser.parse_args(arguments)
    from bfc_bench.report.style import save

    try:
        with open_store(options.store) as stores:
            stored = stores[SUITE]
            found = list(exponents(stored))
            print(table(found))
            save(figure(found, stored), options.images, "power-law-exponents", ("png",))
    except BenchError as error:
        parser.error(str(error))
    return 0


def exponents(stored: StoredSuite) -> Iterator[Exponent]:
    """The claims about exponents, in the order of ``GROUPS``."""
    verdicts = {verdict.id: verdict for verdict in stored.claims()}
    for group in GROUPS:
        for claim in stored.suite.claim:
            if claim.id.rpartition("-")[0] == group:
                fields = claim.model_extra or {}
                theory = fields.get("expected", (fields.get("at_most", 0) + fields.get("at_least", 0)) / 2)
                yield Exponent.of(group, theory, verdicts[claim.id])


def table(found: Sequence[Exponent]) -> str:
    """A line per exponent, as Markdown."""
    lines = ["| exponent | a or phase | theory | measured | verdict |", "| --- | --- | --- | --- | --- |"]
    for e in found:
        measured = "-" if np.isnan(e.measured) else f"{e.measured:.2f} [{e.lo:.2f}, {e.hi:.2f}]"
        lines.append(f"| {GROUPS[e.group]} | {e.case} | {e.theory:.2f} | {measured} | {e.verdict} |")
    return "\n".join(lines)


def figure(found: Sequence[Exponent], stored: StoredSuite) -> Figure:
    """Measured against theoretical exponents, and error against FLOPs."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(12, 5.2))
    left, right = drawn.subplots(1, 2)
    _against_theory(left, found)
    _against_flops(right, found, stored)
    return drawn


def _against_theory(panel: Axes, found: Sequence[Exponent]) -> None:
    from bfc_bench.report.style import FAINT, MARKERS, PALETTE

    ends = np.array([0, 1.1 * max(e.theory for e in found)])
    panel.plot(ends, ends, color=FAINT, linewidth=1)
    panel.fill_between(ends, ends - 0.1, ends + 0.1, color=FAINT, alpha=0.2, linewidth=0)
    for group, colour, marker in zip(GROUPS, PALETTE, MARKERS, strict=False):
        of_group = [e for e in found if e.group == group and np.isfinite([e.measured, e.lo, e.hi]).all()]
        if of_group:
            y = np.array([e.measured for e in of_group])
            bars = [y - [e.lo for e in of_group], [e.hi for e in of_group] - y]
            style = {"color": colour, "marker": marker, "linestyle": "", "markersize": 6, "capsize": 2}
            panel.errorbar([e.theory for e in of_group], y, yerr=np.maximum(bars, 0), label=GROUPS[group], **style)
    panel.set(xlabel="exponent of theory", ylabel="measured exponent", xlim=ends, ylim=ends)
    panel.set_title("Exponents; band: within .1 of theory")
    if panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize=8, loc="upper left")


def _against_flops(panel: Axes, found: Sequence[Exponent], stored: StoredSuite) -> None:
    from bfc_bench.report.style import MARKERS, PALETTE

    theory = {e.case: e.theory for e in found if e.group == "phase"}
    rows, curves = stored.columns(), stored.curves()
    for (phase, exponent), colour, marker in zip(theory.items(), PALETTE, MARKERS, strict=False):
        against = cost_curves(rows, [curve for curve in curves if curve.task == f"phase-{phase}"], "fit_flops")
        for of in against:
            panel.plot(of.costs, [i.mean for i in of.curve.intervals], color=colour, alpha=0.2, linewidth=0.8)
        points = frontier(against)
        if points:
            costs, errors = np.array([(p.at, p.error) for p in points]).T
            panel.plot(
                costs, errors, color=colour, marker=marker, markersize=4, linestyle="",
                label=f"phase {phase}: FLOPs$^{{-{exponent:.2f}}}$",
            )  # fmt: skip
            middle = len(costs) // 2
            line = errors[middle] * (costs / costs[middle]) ** -exponent
            panel.plot(costs, line, color=colour, linestyle="--", linewidth=1.2)
    panel.set(xscale="log", yscale="log", xlabel="FLOPs, 4 n M", ylabel="NMSE")
    panel.set_title("Points: frontier; dashed: theory; faint: each M")
    panel.legend(fontsize=8, loc="lower left")


if __name__ == "__main__":
    raise SystemExit(main())
