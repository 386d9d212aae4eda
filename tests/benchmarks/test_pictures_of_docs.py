"""Pictures of the documentation show what was measured: intervals, exponents, and panels with axes of their own."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))  # last, so that the installed bfc_bench stays the one that is tested

from benchmarks import concepts, correction, index_exponents, power_law_exponents, theory
from benchmarks.side_by_side import side_by_side
from bfc_bench.analysis.claims import Verdict
from bfc_bench.analysis.curves import Curve
from bfc_bench.report.axis import log_axis
from bfc_bench.report.drawing import Drawing
from bfc_bench.report.pictures import picture
from bfc_bench.report.plots import MARKER
from bfc_bench.report.style import assign


def texts(spec):
    """The texts of a figure as it is drawn."""
    tree = ElementTree.fromstring(picture(spec, "svg"))
    return [line for found in tree.iter("{http://www.w3.org/2000/svg}text") for line in found.itertext()]


def of(figure, part):
    return [record for record in figure.records if record["part"] == part]


def figure(field, values, label):
    drawing = Drawing(log_axis(field, field, values), log_axis("y", "y", values), [""], assign([label]), "own title")
    drawing.add("m", MARKER, [{"panel": "", "label": label, field: v, "y": v} for v in values], shape=True)
    drawing.labels, drawing.notes = [label], [f"Note on {label}."]
    return drawing


def test_figures_side_by_side_keep_their_axes_and_notes():
    shown = texts(side_by_side("both", figure("small", [1, 8], "a"), figure("large", [1e6, 1e9], "picked")))
    assert {"both", "small", "large", "a", "picked", "Note on a.", "Note on picked."} <= {*shown}
    assert "own title" not in shown
    assert texts(side_by_side("both", figure("x", [1, 8], "a"), figure("z", [1, 8], "a"))).count("a") == 1


@pytest.mark.parametrize("draw", [concepts.n_star, concepts.exponent, concepts.verdicts])
def test_concepts_have_no_empty_text(draw):
    shown = texts(draw().spec())
    assert not {"undefined", "null", "NaN"} & {*shown}
    assert any("exponent" in text or "N*" in text or "allowed" in text for text in shown)


def test_a_censored_size_of_the_concepts_is_drawn_open_at_the_largest_n():
    assert [record["N*"] for record in concepts.exponent().records if record.get("d") == 20].count(3200) == 1


def test_samples_of_the_concepts_are_nested():
    tree = ElementTree.fromstring(concepts.pairing())
    rects = [found.attrib for found in tree.iter("{http://www.w3.org/2000/svg}rect") if "fill-opacity" in found.attrib]
    ends = {}
    for rect in rects:
        end = float(rect["x"]) + float(rect["width"])
        ends[rect["y"]] = max(end, ends.get(rect["y"], 0))
    lengths = [end - 95 for end in ends.values()]
    assert lengths == [80, 160, 320] * 2


def verdict(estimate, lo, hi):
    return Verdict("a-1", "exponent", "", "a claim", "supported", estimate, lo, hi, "", 3, 0.01)


def test_open_intervals_of_exponents_end_at_the_estimate_and_missing_ones_are_left_out():
    lines = [("t", "a", 1.0), ("t", "b", 2.0), ("t", "c", 3.0)]
    found = {lines[0]: verdict(1.2, 1.0, 1.4), lines[1]: verdict(2.1, 1.9, np.inf), lines[2]: verdict(*[np.nan] * 3)}
    drawn = index_exponents.draw(lines, {"seed 0": found})
    assert [(r["exponent"], r["lo"], r["hi"]) for r in of(drawn, "interval")] == [(1.2, 1, 1.4), (2.1, 1.9, 2.1)]
    assert [r["exponent"] for r in of(drawn, "theory")] == [1, 2, 3]
    shown = texts(drawn.spec())
    assert {"t: a", "t: b", "t: c", "theory, as d grows", "measured, seed 0, with 95 % interval"} <= {*shown}
    assert "undefined" not in shown


def test_falling_errors_have_positive_exponents_in_order():
    found = power_law_exponents.Exponent.of("a", -0.5, verdict(-0.6, -0.7, -0.4))
    assert (found.theory, found.measured, found.lo, found.hi) == (0.5, 0.6, 0.4, 0.7)


def test_each_teacher_has_a_line_in_the_panel_of_its_target_and_layer():
    paths = [
        correction.FeaturePath(case, learner, layer, (1, 2, 4), (1e-1, 1e-3, 1e-6))
        for case in correction.CASES
        for learner in (correction.KERNEL, correction.JOINT)
        for layer in (("S2", "S3") if learner == correction.KERNEL else ("S2", "S3", "S4"))
        for _ in range(2)
    ]
    drawn = correction.draw(paths)
    assert drawn.panels == [f"L = {k}, d = {d}: {layer}" for k, d in ((3, 20), (4, 10)) for layer in ("S2", "S3")]
    assert len({r["part"] for r in drawn.records if r["panel"] == drawn.panels[0]}) == 2 * 4
    assert {correction.KERNEL, correction.JOINT, *drawn.panels} <= {*texts(drawn.spec())}


def test_theory_is_drawn_over_all_sizes_beside_measured_intervals():
    class Law:
        def nmse(self, n):
            return 10.0 / n

    sizes = np.array(theory.SIZES)
    values = np.array([[9.0], [11.0]]) / sizes
    curve = Curve("sphere", 10, "rbf", "kernel-ridge", "nmse", sizes, (0, 1), values)
    drawn = theory.draw([theory.Pair(curve, Law())])
    line, means = of(drawn, "theory"), of(drawn, "mean")
    assert (line[0]["n"], line[-1]["n"]) == (sizes[0], sizes[-1])
    assert all(r["error"] == pytest.approx(10 / r["n"], rel=1e-4) for r in line)
    assert [r["n"] for r in means] == sizes.tolist()
    assert all(r["lo"] < r["error"] < r["hi"] for r in means)
    assert re.search("Dashed: theory", " ".join(texts(drawn.spec())))
