"""``python -m benchmarks.power_law_exponents STORE``: measured exponents of ``power-laws`` beside those of theory.

Prints a table and draws docs/images/power-law-exponents.svg: measured against theoretical exponents, and the error
against FLOPs in each phase with its compute-optimal frontier.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.side_by_side import side_by_side
from bfc_bench import open_store
from bfc_bench.analysis.claims import Verdict
from bfc_bench.analysis.compute import cost_curves, frontier
from bfc_bench.errors import BenchError
from bfc_bench.report.axis import Axis, log_axis
from bfc_bench.report.drawing import Drawing, Record
from bfc_bench.report.pictures import save
from bfc_bench.report.plots import BAND, BAR, LINE, MARKER
from bfc_bench.report.style import FAINT, assign
from bfc_bench.stored_suite import StoredSuite

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SUITE = "power-laws"
HEIGHT = 420
"""Height of a panel in pixels."""
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
    try:
        with open_store(options.store) as stores:
            stored = stores[SUITE]
            found = list(exponents(stored))
            print(table(found))
            save(figure(found, stored), options.images, "power-law-exponents")
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


def figure(found: Sequence[Exponent], stored: StoredSuite) -> dict[str, Any]:
    """Measured against theoretical exponents, and error against FLOPs, as Vega-Lite's JSON object."""
    return side_by_side("", _against_theory(found), _against_flops(found, stored))


def _against_theory(found: Sequence[Exponent]) -> Drawing:
    panel, end = "Exponents; band: within .1 of theory", 1.1 * max(e.theory for e in found)
    x, y = (
        Axis(field, name, (0, end), np.arange(0, end, 0.5), log=False)
        for field, name in (("theory", "exponent of theory"), ("measured", "measured exponent"))
    )
    line = [{"panel": panel, "theory": v, "measured": v, "lo": v - 0.1, "hi": v + 0.1} for v in (0, end)]
    points = [
        {"panel": panel, "label": GROUPS[e.group], "theory": e.theory, "measured": e.measured, "lo": e.lo, "hi": e.hi}
        for e in found
        if np.isfinite([e.measured, e.lo, e.hi]).all()
    ]
    drawing = Drawing(x, y, [panel], assign(GROUPS.values()), height=HEIGHT)
    ends = {"y": "lo", "y2": "hi"}
    drawing.add("within .1", BAND | {"color": FAINT}, line, fields=ends, opacity=0.2)
    drawing.add("theory", LINE | {"color": FAINT, "strokeWidth": 1}, line)
    drawing.add("interval", BAR, points, fields=ends)
    drawing.add("measured", MARKER, points, shape=True)
    drawing.labels = [name for name in GROUPS.values() if name in {point["label"] for point in points}]
    return drawing


def _against_flops(found: Sequence[Exponent], stored: StoredSuite) -> Drawing:
    panel = "Points: frontier; dashed: theory; faint: each M"
    theory = {e.case: e.theory for e in found if e.group == "phase"}
    labels = {phase: f"phase {phase}: FLOPs^-{exponent:.2f}" for phase, exponent in theory.items()}
    rows, curves = stored.columns(), stored.curves()
    faint: list[list[Record]] = []
    best: list[Record] = []
    expected: list[Record] = []
    for phase, exponent in theory.items():
        at = {"panel": panel, "label": labels[phase]}
        against = cost_curves(rows, [curve for curve in curves if curve.task == f"phase-{phase}"], "fit_flops")
        for of in against:
            means = [interval.mean for interval in of.curve.intervals]
            faint.append([at | {"cost": float(c), "error": e} for c, e in zip(of.costs, means, strict=True)])
        if points := frontier(against):
            middle = points[len(points) // 2]
            best += [at | {"cost": p.at, "error": p.error} for p in points]
            expected += [at | {"cost": p.at, "error": middle.error * (p.at / middle.at) ** -exponent} for p in points]
    shown = [record for records in (*faint, best) for record in records]
    x = log_axis("cost", "FLOPs, 4 n M", [record["cost"] for record in shown])
    y = log_axis("error", "NMSE", [record["error"] for record in shown])
    drawing = Drawing(x, y, [panel], assign(labels.values()), height=HEIGHT)
    for number, records in enumerate(faint):
        drawing.add(f"M {number}", LINE | {"strokeWidth": 0.8}, records, opacity=0.2)
    drawing.add("theory", LINE | {"strokeWidth": 1.2, "strokeDash": [5, 3]}, expected)
    drawing.add("frontier", MARKER | {"size": 24}, best, shape=True)
    drawing.labels = list(labels.values())
    return drawing


if __name__ == "__main__":
    raise SystemExit(main())
