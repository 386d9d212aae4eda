import json
import math
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from synthetic import DIMS, LAWS, row, rows

from bfc_bench.analysis.compute import cost_curves
from bfc_bench.analysis.curves import curves
from bfc_bench.analysis.scaling import scalings
from bfc_bench.analysis.stages import at_largest_n, stage_curves
from bfc_bench.report import marks, plots
from bfc_bench.report.axis import log_axis, log_ticks, spaced_ticks
from bfc_bench.report.axis_plots import errors_against
from bfc_bench.report.drawing import Drawing, Mark
from bfc_bench.report.pictures import FORMATS, picture
from bfc_bench.report.style import PALETTE, assign
from bfc_bench.report.tables import sample_size


@pytest.fixture(scope="module")
def found():
    return curves(rows(tasks=("teacher-L3",)))


def records(figure, *parts, **fields):
    """What a figure shows with these marks and these values of fields."""
    shown = (record for record in figure.records if record["part"] in parts)
    return [record for record in shown if all(record.get(name) == value for name, value in fields.items())]


def column(records, name):
    return [record[name] for record in records]


def part_of(layer):
    return re.match(r"datum\.part === '([^']+)'", layer["transform"][0]["filter"])[1]


def notes(figure):
    return " ".join(figure.notes)


def looks(figure, channel):
    """The look of each label in a channel, the same in all layers that have it."""
    layers = [layer["encoding"][channel]["scale"] for layer in figure.spec()["spec"]["layer"]
              if channel in layer["encoding"]]  # fmt: skip
    assert all(scale == layers[0] for scale in layers)
    return dict(zip(layers[0]["domain"], layers[0]["range"], strict=True))


def test_each_dimension_has_a_panel_with_logarithmic_axes_that_name_their_quantity(found):
    figure = plots.learning_curves(found[::-1])
    assert figure.panels == [f"d = {d}" for d in DIMS]
    assert figure.spec()["facet"]["sort"] == figure.panels
    for layer in figure.spec()["spec"]["layer"]:
        for channel, title in (("x", "training points n"), ("y", "NMSE")):
            if channel in layer["encoding"]:
                assert layer["encoding"][channel]["scale"]["type"] == "log"
                assert layer["encoding"][channel]["title"] == title


def test_the_line_is_the_geometric_mean_at_every_measured_size(found):
    figure = plots.learning_curves(found)
    curve = next(curve for curve in found if (curve.label, curve.d) == ("joint", 20))
    line = records(figure, "mean", label="joint", panel="d = 20")
    assert column(line, "n") == curve.n.tolist()
    np.testing.assert_allclose(column(line, "error"), np.exp(np.log(curve.values).mean(axis=0)), rtol=1e-5)


def test_legend_names_each_drawn_label_once_and_a_note_names_the_others(found):
    figure = plots.learning_curves(found)
    assert sorted(figure.labels) == sorted(LAWS)
    assert list(looks(figure, "color")) == figure.labels
    assert "No values (see the skips): relu-mlp." in notes(figure)


def test_a_label_keeps_its_look_in_every_figure(found):
    styles = assign(LAWS | {"relu-mlp": None})
    reached = scalings(found, [0.1])
    for figure in (plots.learning_curves(found, styles=styles), plots.thresholds_against(reached, styles=styles)):
        for channel, look in (("color", "colour"), ("shape", "shape"), ("strokeDash", "dash")):
            for label, value in looks(figure, channel).items():
                wanted = getattr(styles[label], look)
                assert value == (list(wanted) if look == "dash" else wanted)


def test_every_value_under_the_pointer_has_a_name(found):
    for layer in plots.learning_curves(found).layers:
        shown = {each["field"]: each["title"] for each in layer["encoding"].get("tooltip", ())}
        if "shape" in layer["encoding"]:
            assert shown.items() >= {"label": "learner", "error": "NMSE", "interval": "interval"}.items()
        for record in records(plots.learning_curves(found), part_of(layer)):
            assert shown.keys() <= record.keys() | {"interval", "failed"}


def test_a_reader_can_dim_what_has_a_label_and_nothing_else(found):
    costs = cost_curves(rows(tasks=("teacher-L3",)), found, "fit_cpu_seconds")
    for layer in plots.error_against_cost(costs).layers:
        opacity = layer["encoding"].get("opacity", {})
        assert ("condition" in opacity) == (part_of(layer) != "frontier")
        if "condition" in opacity:
            assert opacity["value"] < 0.2 * opacity["condition"]["value"]


def test_styles_are_distinct_for_as_many_labels_as_colours_times_markers():
    styles = assign(f"learner {i}" for i in range(88))
    assert len({(style.colour, style.shape) for style in styles.values()}) == 88
    assert [style.colour for style in styles.values()][: len(PALETTE)] == list(PALETTE)


def test_a_crowded_plot_does_not_take_the_free_colours_of_another_one():
    """In the crowded plot some colour must be there twice; in the small one none may."""
    crowded, small = [f"a{i}" for i in range(9)], ["a0", "a1", "a8"]
    styles = assign(crowded, [crowded, small])
    assert len({styles[label].colour for label in small}) == 3
    assert len({styles[label].colour for label in crowded}) == 8


def test_axes_span_the_values_however_wide_the_interval_is():
    two = [row(n=n, replicate=r, nmse=1e-2 * 30**r) for n in (100, 1000) for r in (0, 1)]
    curve = curves(two)[0]
    assert curve.hi.max() > 1e4
    lo, hi = plots.learning_curves([curve]).y.domain
    assert 1e-3 < lo < 1e-2
    assert 0.3 < hi < 1


def test_a_size_where_all_replicates_failed_has_a_cross_and_the_figure_says_so(found):
    figure = plots.learning_curves(found)
    assert [(cross["panel"], cross["n"]) for cross in records(figure, "all failed")] == [("d = 40", 200)]
    assert "Open marker: a replicate failed" in notes(figure)
    complete = plots.learning_curves([curve for curve in found if curve.label == "joint"])
    assert "failed" not in notes(complete)


def test_the_open_marker_stands_where_a_replicate_failed(found):
    curve = next(curve for curve in found if (curve.label, curve.d) == ("layerwise", 40))
    figure = plots.learning_curves([curve])
    assert curve.failures.tolist() == [0, 0, 0, 0, 1]
    means = records(figure, "mean")
    assert [(record["n"], record["failed"]) for record in means if "failed" in record] == [(1000, 1)]
    of = {layer["mark"].get("fill"): layer["transform"][0]["filter"] for layer in figure.layers
          if "shape" in layer["encoding"]}  # fmt: skip
    assert " datum.failed " in of["#ffffff"]
    assert " !datum.failed " in of[None]


def test_censored_thresholds_are_arrows_at_their_bound(found):
    figure = plots.thresholds_against(scalings([c for c in found if c.label == "kernel ntk (raw)"], [1e-2]))
    assert column(records(figure, "more"), "N*") == [1000] * 3
    assert not records(figure, "less", "mean", "replicate")
    reached = scalings([c for c in found if (c.label, c.d) == ("joint", 20)], [3.0])
    assert column(records(plots.thresholds_against(reached), "less"), "N*") == [100]


def test_markers_of_n_star_are_what_the_table_says(found):
    """The mean with its interval, also where a replicate is censored."""
    curve = next(c for c in found if (c.label, c.d) == ("joint", 20))
    for level, censored in ((0.1, False), (2.2e-7, True)):
        (scaling,) = scalings([curve], [level])
        threshold = scaling.thresholds[20]
        assert bool(threshold.right) == censored
        (mean,) = records(plots.thresholds_against([scaling]), "mean")
        interval = threshold.interval
        np.testing.assert_allclose(mean["N*"], interval.mean, rtol=1e-5)
        assert mean["interval"] == " ".join(sample_size(threshold)).rstrip()
        np.testing.assert_allclose([mean["lo"], mean["hi"]], [interval.lo, interval.hi], rtol=1e-5)


def test_intervals_of_n_star_lie_within_the_axis():
    """A range between the first two sizes ended below the axis, which ended a little below its middle."""
    cells = [
        row(label=label, n=n, replicate=r, nmse=1.0 if n < above else 1e-4)
        for label, above in (("sharp", 100), ("never", 1000)) for n in (50, 100, 400) for r in range(3)
    ]  # fmt: skip
    figure = plots.thresholds_against(scalings(curves(cells), [0.1]))
    (mean,) = records(figure, "mean", label="sharp")
    assert figure.y.domain[0] < mean["lo"] < mean["hi"] < figure.y.domain[1]


@pytest.mark.parametrize("axis", ["a[0].b", "it's", 'a"b', "a\\", "]"])
def test_a_figure_along_an_axis_of_any_name_shows_its_values(axis):
    cells = [
        row(label=f"net:{axis}{value}", axes={axis: value}, n=n, replicate=r, nmse=value / n)
        for value in (1, 2) for n in (50, 100, 200) for r in range(3)
    ]  # fmt: skip
    found = curves(cells)
    for figure in (plots.thresholds_against(scalings(found, [0.015], axis)), errors_against(found, axis)):
        drawn = ElementTree.fromstring(picture(figure.spec(), "svg"))
        paths = [path.get("d") for group in drawn.iter() if "mark-symbol role-mark" in group.get("class", "")
                 for path in group.iter() if path.tag.endswith("path")]  # fmt: skip
        assert paths
        assert all(paths)
        assert column(records(figure, "mean"), "value") == [1, 2]


def test_learners_with_one_n_star_stand_side_by_side(found):
    figure = plots.thresholds_against(scalings(found, [0.1]))
    at = {(record["label"], record["value"]): record["x"] for record in records(figure, "mean")}
    assert len({x for (_, d), x in at.items() if d == 20}) == len([d for _, d in at if d == 20]) > 1
    assert all(abs(math.log(x / d)) < 0.1 for (_, d), x in at.items())


@pytest.mark.parametrize("extreme", [5e-324, 1e-300, 1e300, 1.7e308])
def test_values_at_the_ends_of_the_range_of_numbers_leave_an_axis_for_the_others(extreme):
    cells = [row(n=n, replicate=r, nmse=extreme if r == 0 else 0.1) for n in (50, 100) for r in range(3)]
    figure = plots.learning_curves(curves(cells))
    lo, hi = figure.y.domain
    assert 0 < lo < 0.1 < hi < math.inf
    assert json.loads(json.dumps(figure.spec(), allow_nan=False))


def test_errors_that_may_be_negative_have_a_linear_axis_and_arithmetic_means():
    errors = (0.010, 0.020, -0.001, 0.015, 0.012)
    cells = [row(n=n, replicate=r, part_errors={"degree2": e}) for n in (100, 200) for r, e in enumerate(errors)]
    figure = plots.learning_curves(curves(cells, "part_errors.degree2"))
    assert (figure.x.log, figure.y.log) == (True, False)
    np.testing.assert_allclose(column(records(figure, "mean"), "error"), 0.0112)
    assert figure.y.domain[0] < -0.001
    assert min(column(records(figure, "replicate"), "error")) == -0.001
    assert notes(figure).startswith("Line: mean of the replicates.")


def test_many_replicates_are_a_bar_whose_drawing_does_not_grow_with_them():
    rng = np.random.default_rng(0)
    errors = np.exp(rng.standard_normal((400, 3)))

    def drawing(replicates):
        cells = [row(n=n, replicate=r, nmse=errors[r, k]) for r in range(replicates) for k, n in enumerate(DIMS)]
        return plots.learning_curves(curves(cells))

    few = drawing(marks.MANY)
    assert len(records(few, "replicate")) == 3 * marks.MANY
    assert "wide bar" not in notes(few)
    many = drawing(100)
    band = records(many, "most replicates")
    ends = np.quantile(errors[:100], (0.05, 0.95), axis=0)
    np.testing.assert_allclose([column(band, "lo"), column(band, "hi")], ends, rtol=1e-5)
    assert "wide bar: from the 5 % to the 95 % quantile, for more than 20 replicates." in notes(many)
    assert len(drawing(400).records) == len(many.records)


def test_feature_errors_have_a_panel_per_layer_and_a_line_per_stage():
    cells = [
        row(label="joint", replicate=r, stages={"after layer 2": {"feature_errors": {"S2": error}}},
            feature_errors={"S2": 1e-7, "S3": 1e-6} if r == 0 else {})
        for r, error in enumerate((1e-2, 2e-2))
    ]  # fmt: skip
    cells += [row(label="frozen", feature_errors={"S2": 1e-2})]
    features = [curve for curve in stage_curves(cells) if curve.metric.startswith("feature_errors.")]
    figure = plots.feature_errors(sorted(at_largest_n(features), key=lambda curve: curve.metric))
    assert figure.panels == ["S2, d = 20", "S3, d = 20"]
    assert figure.x.log
    assert figure.y.names == ["joint · after layer 2", "joint · final", "frozen · final"]
    means = records(figure, "mean", panel="S2, d = 20")
    np.testing.assert_allclose(column(means, "P"), [math.sqrt(2e-4), 1e-7, 1e-2], rtol=1e-5)
    assert column(means, "line") == [0, 1, 2]


@pytest.mark.parametrize("draw", [plots.learning_curves, plots.thresholds_against, plots.feature_errors])
def test_nothing_to_draw_is_an_empty_figure(draw):
    for suffix in FORMATS:
        assert picture(draw([]).spec(), suffix)


def test_files_keep_text_as_text_and_are_equal_for_equal_figures(found):
    few = [curve for curve in found if curve.d == 10]
    figure, same = plots.learning_curves(few), plots.learning_curves(few)
    figure.title = same.title = "a title"
    spec = figure.spec()
    svg, png, pdf, text = (picture(spec, suffix) for suffix in FORMATS)
    assert [picture(same.spec(), suffix) for suffix in ("svg", "png", "json")] == [svg, png, text]
    texts = {"".join(part.itertext()) for part in ElementTree.fromstring(svg).iter() if part.tag.endswith("text")}
    assert {"a title", "training points n", "NMSE", "d = 10", "joint"} <= texts
    assert png.startswith(b"\x89PNG")
    assert b"/FontFile" in pdf


def test_what_labels_say_is_text_in_an_svg():
    label = "</script><script>alert(1)</script> & 'q' \"p\""
    cells = [row(n=n, replicate=r, nmse=10 / n, label=label) for n in (50, 100) for r in range(3)]
    svg = picture(plots.learning_curves(curves(cells)).spec(), "svg")
    assert b"<script" not in svg
    assert label in {"".join(e.itertext()) for e in ElementTree.fromstring(svg).iter()}


def test_figures_need_neither_matplotlib_nor_altair():
    code = """
import sys
from bfc_bench.report.plots import learning_curves
from bfc_bench.report.pictures import picture
picture(learning_curves([]).spec(), "svg")
assert not {"matplotlib", "altair"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_figure_is_a_chart_of_altair_that_its_user_can_change(found):
    chart = plots.learning_curves(found).chart()
    changed = chart.properties(title="mine").to_dict()
    assert changed["title"] == "mine"
    assert changed["spec"]["layer"] == plots.learning_curves(found).spec()["spec"]["layer"]


@pytest.mark.parametrize("count", [2, 8, 30])
def test_a_legend_is_about_as_wide_as_its_panel_and_has_one_row_if_it_can(count):
    labels = [f"learner-number-{k}" for k in range(count)]
    figure = Drawing(log_axis("n", "n", [1, 9]), log_axis("e", "e", [1, 9]), [""], labels)
    figure.add("m", [{"panel": "", "label": x, "n": 3.0, "e": 3.0} for x in labels], Mark(marks.MARKER, shape=True))
    drawn = ElementTree.fromstring(picture(figure.spec(), "svg"))
    assert float(drawn.get("width")) < figure.width + 100
    assert (figure.spec()["config"]["legend"]["columns"] == 0) == (count == 2)


@pytest.mark.parametrize(
    ("lo", "hi", "most"), [(100, 1000, 6), (1e-8, 2, 9), (3, 4, 6), (1e-16, 1e3, 8), (700, 1400, 6), (0.9, 1.1, 6)]
)
def test_log_ticks_are_few_round_numbers_inside_the_range(lo, hi, most):
    ticks = log_ticks(lo, hi, most)
    assert 1 <= len(ticks) <= most + 1
    assert all(lo <= tick <= hi for tick in ticks)
    assert all(math.isclose(tick, float(f"{tick:.1g}")) for tick in ticks)
    assert ticks == sorted(ticks)


@pytest.mark.parametrize(
    ("values", "kept"),
    [([6, 7, 8, 9, 10, 12, 14, 16], [6, 8, 10, 12, 16]), *((few, few) for few in ([8, 12, 16, 24, 32], [10, 11], []))],
)
def test_many_dimensions_are_thinned_to_those_that_stand_apart(values, kept):
    assert spaced_ticks(values) == kept
