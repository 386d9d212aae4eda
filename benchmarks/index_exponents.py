"""``python -m benchmarks.index_exponents STORE...``: prints exponents of N* beside those of theory, and draws them.

For every claim of the kind ``exponent`` of the suites ``index`` and ``index-leaps`` that bounds one learner's exponent.
Each store is one seed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from bfc_bench import open_store
from bfc_bench.analysis.claims import Verdict, parse_claims
from bfc_bench.analysis.claims.exponent import ExponentClaim
from bfc_bench.errors import BenchError
from bfc_bench.report.axis import Axis
from bfc_bench.report.drawing import Drawing, Record
from bfc_bench.report.pictures import save
from bfc_bench.report.plots import BAR, MARKER
from bfc_bench.report.style import INK, Style, assign
from bfc_bench.report.tables import with_interval
from bfc_bench.stored_suite import StoredSuite

SUITES = ("index", "index-leaps")
THEORY = {
    "one-pass-1": 1.0,
    "one-pass-2": 1.0,
    "one-pass-3": 2.0,
    "unfolding-1": 1.0,
    "unfolding-2": 1.0,
    "unfolding-3": 1.5,
    "reuse-2": 1.0,
    "reuse-3": 1.0,
    "reuse-4": 1.0,
    "network-one-pass": 2.0,
    "kernel-2": 2.0,
    "kernel-3": 3.0,
    "leap-1": 1.0,
    "leap-2": 1.0,
    "leap-3": 2.0,
    "parity-2": 1.0,
    "parity-3": 2.0,
    "parity-3-reuse": 2.0,
}
"""The exponent as d grows, without logarithms, by claim; docs/index-models.md has the theorems."""
FILE = Path(__file__).parents[1] / "docs" / "images" / "index-exponents.svg"
EXPECTED, STROKE = "theory, as d grows", "M-.12,-1H.12V1H-.12Z"
Line = tuple[str, str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of all stores and draw the figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.index_exponents", description=__doc__)
    parser.add_argument("stores", type=Path, nargs="+", metavar="STORE")
    parser.add_argument("--figure", type=Path, default=FILE, help="file of the figure")
    options = parser.parse_args(arguments)
    with ExitStack() as opened:
        try:
            stores = [opened.enter_context(open_store(path)) for path in options.stores]
            names = [f"seed {store[SUITES[0]].definition['seed']}" for store in stores]
            found = [measured(store[suite] for suite in SUITES) for store in stores]
        except BenchError as error:
            parser.error(str(error))
    seeds = dict(zip(names, found, strict=True))
    lines = list(dict.fromkeys(line for one in seeds.values() for line in one))
    print("| task | learner | theory | " + " | ".join(seeds) + " |\n" + "|" + "---|" * (3 + len(seeds)))
    for line in lines:
        cells = [_cell(one.get(line)) for one in seeds.values()]
        print(f"| {line[0]} | {line[1]} | {line[2]:g} | {' | '.join(cells)} |")
    save(draw(lines, seeds).spec(), options.figure.parent, options.figure.stem, [options.figure.suffix[1:]])
    print(f"wrote {options.figure}")
    return 0


def measured(suites: Iterable[StoredSuite]) -> dict[Line, Verdict]:
    """By task, learner and theory: the verdict with the exponent."""
    found = {}
    for stored in suites:
        claims = {claim.id: claim for claim in parse_claims(stored.suite, stored.plugins.claims)}
        for verdict in stored.claims():
            claim = claims[verdict.id]
            if isinstance(claim, ExponentClaim) and verdict.id in THEORY:
                found[claim.task, claim.label, THEORY[verdict.id]] = verdict
    return found


def draw(lines: Sequence[Line], seeds: Mapping[str, Mapping[Line, Verdict]]) -> Drawing:
    """A row for each task and learner: theory's exponent, and the measured ones with their intervals."""
    x = Axis("exponent", "exponent s of N* ~ d^s", (0.4, 3.3), np.arange(0.5, 3.5, 0.5), log=False)
    names = [f"{task}: {label}" for task, label, _ in lines]
    y = Axis("row", "", (len(lines) - 0.4, -0.6), range(len(lines)), names, log=False)
    measured = {name: f"measured, {name}, with 95 % interval" for name in seeds}
    styles = assign(measured.values()) | {EXPECTED: Style(INK, STROKE, (1, 0))}
    figure = Drawing(x, y, [""], styles, height=26 * len(lines))
    theory: list[Record] = [
        {"panel": "", "label": EXPECTED, "row": row, "exponent": exponent} for row, (_, _, exponent) in enumerate(lines)
    ]
    points: list[Record] = []
    for number, (name, found) in enumerate(seeds.items()):
        shift = 0.16 * (2 * number - len(seeds) + 1)
        for row, line in enumerate(lines):
            verdict = found.get(line)
            if verdict is None or math.isnan(verdict.estimate):
                continue
            lo, hi = (value if math.isfinite(value) else verdict.estimate for value in (verdict.lo, verdict.hi))
            at = {"panel": "", "label": measured[name], "row": row + shift}
            points.append(at | {"exponent": verdict.estimate, "lo": lo, "hi": hi})
    figure.add("theory", MARKER | {"size": 260}, theory, shape=True)
    figure.add("interval", BAR, points, fields={"x": "lo", "x2": "hi"})
    figure.add("estimate", MARKER, points, shape=True)
    figure.labels = [EXPECTED, *measured.values()]
    return figure


def _cell(verdict: Verdict | None) -> str:
    if verdict is None or math.isnan(verdict.estimate):
        return "no exponent"
    return f"{verdict.sign} {with_interval(verdict.estimate, verdict.lo, verdict.hi)}"


if __name__ == "__main__":
    raise SystemExit(main())
