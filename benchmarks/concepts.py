"""Draws the pictures of docs/concepts.md from made-up curves: ``python -m benchmarks.concepts``, 3 s.

N*, intervals, exponents and verdicts are computed by the same functions as in a report.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bfc_bench.analysis.claims import Region, evidence
from bfc_bench.analysis.claims.verdict import decide
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import t_interval
from bfc_bench.analysis.scaling import scalings
from bfc_bench.analysis.thresholds import threshold
from bfc_bench.report.axis import Axis, log_axis
from bfc_bench.report.drawing import FONT, UPRIGHT, Drawing, Mark, Record
from bfc_bench.report.marks import BAR, LINE, MARKER, OPEN, stroke
from bfc_bench.report.pictures import picture
from bfc_bench.report.style import FAINT, INK, PALETTE, SHAPES
from bfc_bench.utils.files import write_file

FOLDER = Path(__file__).parents[1] / "docs" / "images"
BLUE, ORANGE, GREEN = PALETTE[:3]
DARK_GREEN = "#006b4e"
DISC, SQUARE, TRIANGLE, *_ = SHAPES
SIGNS = {"supported": (GREEN, DISC), "undecided": (INK, SQUARE), "contradicted": (ORANGE, SHAPES[6])}
HEIGHT = 290
"""Height of a panel in pixels."""


def empty(x: Axis, y: Axis, height: int = HEIGHT) -> Drawing:
    """A figure of one panel without a legend."""
    return Drawing(x, y, [""], height=height)


def add(figure: Drawing, look: dict[str, Any], *records: Record, **options: Any) -> None:
    """Add marks of one look to a figure of one panel."""
    shown = [{"panel": "", **record} for record in records]
    figure.add(f"marks {len(figure.layers)}", shown, Mark({"opacity": 1, **look}, **options))


def write(figure: Drawing, text: str, x: float, y: float, colour: str, **look: Any) -> None:
    """Write lines of text into a figure."""
    shown = {"type": "text", "clip": False, "fontSize": 13, "align": "left", "lineBreak": "\n", "color": colour}
    add(figure, shown | look | {"text": text}, {figure.x.field: x, figure.y.field: y})


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
    return Curve("t", d, label, "nmse", np.array(sizes), (0, 1, 2), error * np.exp(noise))


def n_star() -> Drawing:
    """Draw one curve with its level and N*."""
    sizes, level = (50, 100, 200, 400, 800, 1600), 0.1
    shown = curve("learner", 20, 1.4 / (1 + (np.array(sizes) / 150.0) ** 1.6), sizes, 3)
    size = threshold(shown, level).interval
    x = log_axis("n", "training points n", sizes, at=sizes)
    figure = empty(x, log_axis("error", "NMSE on fresh points", shown.values.ravel()))
    bottom = figure.y.domain[0]
    add(figure, {"type": "rect", "color": GREEN}, {"lo": size.lo, "hi": size.hi},
        fields={"x": "lo", "x2": "hi", "y": ""}, opacity=0.18)  # fmt: skip
    for values in shown.values.tolist():
        points = [{"n": n, "error": value} for n, value in zip(sizes, values, strict=True)]
        add(figure, LINE | {"color": BLUE, "strokeWidth": 1}, *points, opacity=0.35)
    means = [t_interval(column).exp() for column in shown.log_values.T]
    points = [{"n": n, "error": m.mean, "lo": m.lo, "hi": m.hi} for n, m in zip(sizes, means, strict=True)]
    add(figure, LINE | {"color": BLUE}, *points)
    add(figure, BAR | {"color": BLUE}, *points, fields={"y": "lo", "y2": "hi"})
    add(figure, MARKER | {"color": BLUE, "shape": DISC}, *points)
    dashes = {"type": "rule", "strokeWidth": 1.6, "strokeDash": [6, 3], "color": ORANGE}
    add(figure, dashes, {"error": level}, fields={"x": ""})
    write(figure, "level 0.1", sizes[0], level, ORANGE, dy=-8)
    add(figure, BAR | {"color": GREEN}, {"n": size.mean, "error": bottom, "to": level}, fields={"y2": "to"})
    text = f"N*(0.1) = {size.mean:.0f}\n[{size.lo:.0f}, {size.hi:.0f}]"
    write(figure, text, size.lo / 1.06, bottom * 1.6, DARK_GREEN, align="right")
    place = {"n": sizes[2] * 1.15, "error": means[1].mean * 1.4}
    add(figure, LINE | {"color": BLUE, "strokeWidth": 1}, {"n": sizes[1] * 1.05, "error": means[1].mean * 1.02}, place)
    write(figure, "mean of 3 replicates\nwith its 95 % interval", place["n"], place["error"], BLUE, dx=5, dy=-6)
    return figure


def exponent() -> Drawing:
    """Draw N* against d for two learners. One exceeds the largest size."""
    sizes, level, dims = tuple(50 * 2**k for k in range(7)), 0.1, (6, 9, 14, 20)
    laws = {"kernel": (2.0, 2.4, ORANGE, SQUARE), "deep": (11.0, 1.0, BLUE, DISC)}
    x = log_axis("d", "input dimension d", dims, at=dims)
    figure = empty(x, log_axis("N*", "N*(0.1)", (sizes[0], sizes[-1] * 1.7)))
    add(figure, {"type": "rule", "color": FAINT}, {"N*": sizes[-1]}, fields={"x": ""})
    write(figure, "largest n that was run: above it N* is a bound", x.domain[0], sizes[-1], INK, dx=4, dy=-8)
    for label, (factor, power, colour, shape) in laws.items():
        curves = [
            curve(label, d, 1.2 / (1 + (np.array(sizes) / (factor * d**power) * 3) ** 1.7), sizes, d) for d in dims
        ]
        (scaling,) = scalings(curves, [level])
        fit = scaling.exponent
        known, beyond = list[Record](), list[Record]()
        for d, reached in scaling.thresholds.items():
            if reached.right:
                beyond.append({"d": d, "N*": sizes[-1]})
            else:
                size = reached.interval
                known.append({"d": d, "N*": size.mean, "lo": size.lo, "hi": size.hi})
        line = [{"d": d, "N*": float(np.exp(fit.intercept) * d**fit.value)} for d in (dims[0], dims[-1])]
        add(figure, LINE | {"color": colour, "strokeDash": [1, 0] if label == "deep" else [6, 3]}, *line)
        add(figure, BAR | {"color": colour}, *known, fields={"y": "lo", "y2": "hi"})
        add(figure, MARKER | {"color": colour, "shape": shape, "size": 70}, *known)
        add(figure, OPEN | {"stroke": colour, "shape": TRIANGLE, "size": 110}, *beyond)
        text = f"{label}: exponent {fit.value:.1f} [{fit.lo:.1f}, {fit.hi:.1f}]"
        d = dims[1] * 1.1
        side = {"align": "right", "dx": -10, "dy": -14} if label == "kernel" else {"dx": 6, "dy": 24}
        write(figure, text, d, float(np.exp(fit.intercept) * d**fit.value), colour, **side)
    return figure


def verdicts() -> Drawing:
    """Draw intervals beside the region that a claim allows."""
    region, bound = Region(hi=0.01), 0.01
    cases = {
        "5 replicates that agree": (2e-3, 0.25, 5), "3 that differ more": (2e-3, 0.9, 3),
        "on the bound": (1e-2, 0.4, 5), "too large": (9e-2, 0.35, 5), "one replicate": (1e-3, 0.0, 1),
    }  # fmt: skip
    x = log_axis("error", "NMSE: replicates, mean and 95 % interval", (1e-5, 1.0), pad=0)
    y = Axis("row", "", (len(cases) - 0.4, -0.9), range(len(cases)), list(cases), log=False)
    figure, (first, last) = empty(x, y, 230), x.domain
    add(figure, {"type": "rect", "color": GREEN}, {"lo": first, "hi": bound},
        fields={"x": "lo", "x2": "hi", "y": ""}, opacity=0.13)  # fmt: skip
    add(figure, BAR | {"color": GREEN}, {"error": bound}, fields={"y": ""})
    write(figure, "allowed: at most 0.01", bound, -0.6, DARK_GREEN, align="right", dx=-6)
    for place, (middle, spread, count) in enumerate(cases.values()):
        steps = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
        values = np.log(middle) + spread * steps
        estimate = evidence(values.tolist())
        verdict = decide(region.log(), [("", estimate)]).verdict
        colour, shape = SIGNS[verdict]
        lo, hi = np.exp(np.clip(estimate.bounds(), np.log(first), np.log(last))).tolist()
        interval = {"row": place, "lo": lo, "hi": hi}
        add(figure, BAR | {"color": colour, "strokeWidth": 2.4}, interval, fields={"x": "lo", "x2": "hi"})
        replicates = [{"row": place, "error": value} for value in np.exp(values).tolist()]
        add(figure, stroke(UPRIGHT, 160) | {"color": colour}, *replicates, opacity=0.6)
        add(figure, MARKER | {"color": colour, "shape": shape, "size": 90}, {"row": place, "error": middle})
        write(figure, verdict, last, place, colour, dx=8)
    return figure


def pairing() -> str:
    """Nested samples, which are the same for all learners, as SVG."""
    parts: list[str] = []
    for replicate, colour in enumerate((BLUE, ORANGE)):
        top = 20 + 135 * replicate
        parts += [
            f'<pattern id="hatch{replicate}" width="7" height="7" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><path d="M0,0V7" stroke="{colour}" stroke-width="1.2"/></pattern>',
            f'<text x="10" y="{top}" fill="{colour}">replicate {replicate}: its own teacher, points and test points'
            "</text>",
        ]
        for row, n in enumerate((100, 200, 400)):
            y = top + 16 + 28 * row
            parts.append(f'<text x="85" y="{y + 15}" text-anchor="end" fill="{INK}">n = {n}</text>')
            for first, last, opacity in ((0, 100, 0.85), (100, 200, 0.5), (200, 400, 0.25)):
                if last <= n:
                    parts.append(
                        f'<rect x="{95 + 0.8 * first:g}" y="{y}" width="{0.8 * (last - first):g}" height="20" '
                        f'fill="{colour}" fill-opacity="{opacity}"/>'
                    )
        y = top + 16
        parts += [
            f'<text x="445" y="{y + 43}" text-anchor="middle" font-size="18" fill="{INK}">→</text>',
            f'<rect x="475" y="{y}" width="110" height="76" fill="url(#hatch{replicate})" stroke="{colour}"/>',
            f'<rect x="490" y="{y + 27}" width="80" height="22" fill="#ffffff"/>',
            f'<text x="530" y="{y + 43}" text-anchor="middle" fill="{INK}">test points</text>',
        ]
    lines = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="600" height="260" viewBox="0 0 600 260" font-size="14" '
        f'font-family="{FONT}">\n<rect width="600" height="260" fill="#ffffff"/>\n{lines}\n</svg>\n'
    )


def main() -> None:
    """Draw all pictures."""
    drawings = {"n-star": n_star, "exponent": exponent, "verdicts": verdicts}
    contents = {stem: picture(draw().spec(), "svg") for stem, draw in drawings.items()}
    for stem, content in {**contents, "pairing": pairing().encode()}.items():
        path = FOLDER / f"concept-{stem}.svg"
        write_file(path, content)
        print(path)


if __name__ == "__main__":
    main()
