import math
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_hex
from synthetic import DIMS, LAWS, row, rows

from bfc_bench.analysis.curves import curves
from bfc_bench.analysis.scaling import scalings
from bfc_bench.analysis.stages import Quantity, StageErrors
from bfc_bench.report import plots
from bfc_bench.report.style import FORMATS, PALETTE, assign, log_ticks, save, spaced_ticks, tick_text


@pytest.fixture(scope="module")
def found():
    return curves(rows(tasks=("teacher-L3",)))


def drawn(panel, label):
    """The line of a label's means in a panel."""
    return next(line for line in panel.get_lines() if line.get_label() == label)


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def notes(figure):
    return figure.legends[0].get_title().get_text().replace("\n", " ")


def test_each_dimension_has_a_panel_with_logarithmic_axes_that_name_their_quantity(found):
    figure = plots.learning_curves(found)
    assert [panel.get_title(loc="left") for panel in figure.axes] == [f"d = {d}" for d in DIMS]
    for panel in figure.axes:
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        assert panel.get_xlabel() == "training points n"
    assert figure.axes[0].get_ylabel() == "NMSE"


def test_the_line_is_the_geometric_mean_at_every_measured_size(found):
    figure = plots.learning_curves(found)
    curve = next(curve for curve in found if (curve.label, curve.d) == ("joint", 20))
    line = drawn(figure.axes[1], "joint")
    np.testing.assert_array_equal(line.get_xdata(), curve.n)
    np.testing.assert_allclose(line.get_ydata(), np.exp(np.log(curve.values).mean(axis=0)))


def test_legend_names_each_drawn_label_once_and_a_note_names_the_others(found):
    figure = plots.learning_curves(found)
    assert sorted(legend(figure)) == sorted(LAWS)
    assert "No values (see the skips): relu-mlp." in notes(figure)


def test_a_label_keeps_its_look_in_every_panel_and_figure(found):
    styles = assign(LAWS | {"relu-mlp": None})
    reached = scalings(found, [0.1])
    for figure in (plots.learning_curves(found, styles=styles), plots.thresholds_against(reached, styles=styles)):
        handles = dict(zip(legend(figure), figure.legends[0].legend_handles, strict=True))
        for label, handle in handles.items():
            assert (handle.get_color(), handle.get_marker()) == (styles[label].colour, styles[label].marker)
    for panel in plots.learning_curves(found, styles=styles).axes:
        for label in LAWS:
            assert to_hex(drawn(panel, label).get_color()).upper() == styles[label].colour.upper()


def test_a_legend_of_many_long_labels_stays_inside_the_figure():
    labels = ["quad-densenet-joint", "sequential-kernel-4-rounds-spectral", *(f"kernel-{i}" for i in range(12))]
    figure = plots.learning_curves(curves([row(label=label, d=d, nmse=0.1) for label in labels for d in DIMS]))
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width
    assert all(box.y1 <= panel.get_tightbbox().y0 for panel in figure.axes)


@pytest.mark.parametrize("dims", [1, 2, 4, 11])
def test_what_is_written_around_the_panels_is_inside_the_figure_and_never_overlaps(dims):
    many = [row(label=f"label {i}", d=7 + d, n=n, replicate=r, nmse=(1e-4 * 2.0**i) / n + 1e-9 * r)
            for i in range(9) for d in range(dims) for n in (10, 100, 10_000) for r in range(2)]  # fmt: skip
    figure = plots.learning_curves(curves(many), "a title of some length")
    figure.get_layout_engine().execute(figure)
    boxes = [panel.get_tightbbox(for_layout_only=True) for panel in figure.axes]
    boxes.append(figure.legends[0].get_window_extent())
    boxes.append(figure.texts[0].get_window_extent())
    for i, box in enumerate(boxes):
        assert min(box.x0, box.y0) >= -1
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y1 <= figure.bbox.y1 + 1
        assert not any(box.shrunk(0.98, 0.98).overlaps(other.shrunk(0.98, 0.98)) for other in boxes[i + 1 :])


def test_styles_are_distinct_for_as_many_labels_as_colours_times_markers():
    styles = assign(f"learner {i}" for i in range(88))
    assert len({(style.colour, style.marker) for style in styles.values()}) == 88
    assert [style.colour for style in styles.values()][: len(PALETTE)] == list(PALETTE)


def test_axes_span_the_values_however_wide_the_interval_is():
    two = [row(n=n, replicate=r, nmse=1e-2 * 30**r) for n in (100, 1000) for r in (0, 1)]
    curve = curves(two)[0]
    assert curve.hi.max() > 1e4
    figure = plots.learning_curves([curve])
    lo, hi = figure.axes[0].get_ylim()
    assert 1e-3 < lo < 1e-2
    assert 0.3 < hi < 1


def test_a_size_where_all_replicates_failed_has_a_cross_and_the_figure_says_so(found):
    figure = plots.learning_curves(found)
    crosses = [line for line in figure.axes[2].get_lines() if line.get_marker() == "x"]
    assert [list(line.get_xdata()) for line in crosses] == [[200]]
    assert "Open marker: a replicate failed" in notes(figure)
    complete = plots.learning_curves([curve for curve in found if curve.label == "joint"])
    assert "failed" not in notes(complete)


def test_the_open_marker_stands_where_a_replicate_failed_with_median_and_worst(found):
    curve = next(curve for curve in found if (curve.label, curve.d) == ("layerwise", 40))
    panel = plots.learning_curves([curve]).axes[0]
    assert curve.failures.tolist() == [0, 0, 0, 0, 1]
    hollow = next(line for line in panel.get_lines() if line.get_markerfacecolor() == "white")
    assert list(hollow.get_xdata()) == [1000]
    bar = next(line for line in panel.get_lines() if line.get_marker() == "_")
    np.testing.assert_allclose(bar.get_ydata(), [curve.median[-1], curve.worst[-1]])


def test_censored_thresholds_are_arrows_at_their_bound(found):
    panel = plots.thresholds_against(scalings([c for c in found if c.label == "kernel ntk (raw)"], [1e-2])).axes[0]
    arrows = [line for line in panel.get_lines() if line.get_marker() is plots.ARROW_UP]
    assert [list(line.get_ydata()) for line in arrows] == [pytest.approx([1000.0])] * 3
    reached = scalings([c for c in found if (c.label, c.d) == ("joint", 20)], [3.0])
    down = [
        line for line in plots.thresholds_against(reached).axes[0].get_lines() if line.get_marker() is plots.ARROW_DOWN
    ]
    assert [list(line.get_ydata()) for line in down] == [pytest.approx([100.0])]


def test_levels_are_lines_with_a_bar_at_each_n_star_that_is_known():
    cells = [row(n=n, replicate=r, nmse=10 / n, d=d) for n in (50, 100, 200) for r in range(3) for d in (10, 20)]
    cells += [row(n=n, replicate=r, nmse=0.5, d=10, label="flat") for n in (50, 100, 200) for r in range(3)]
    found = curves(cells)
    reached = [each for scaling in scalings(found, [0.1, 1e-9]) for each in scaling.reached]
    figure = plots.learning_curves(found, reached=reached)
    assert any(note.startswith("Dotted line: a level of error. Upright bar on it: N*") for note in figure.notes)
    for panel in figure.axes:
        bars = [line for line in panel.get_lines() if line.get_marker() == "|"]
        levels = [line.get_ydata()[0] for line in panel.get_lines() if line.get_linestyle() == ":"]
        assert levels == [0.1]  # the other lies beyond the axis
        assert [(bar.get_xdata()[0], bar.get_ydata()[0]) for bar in bars] == [(pytest.approx(100), 0.1)]
    assert not any("N*" in note for note in plots.learning_curves(found).notes)


@pytest.mark.parametrize("extreme", [5e-324, 1e-300, 1e300, 1.7e308])
def test_values_at_the_ends_of_the_range_of_numbers_leave_an_axis_for_the_others(extreme):
    cells = [row(n=n, replicate=r, nmse=extreme if r == 0 else 0.1) for n in (50, 100) for r in range(3)]
    (panel,) = plots.learning_curves(curves(cells)).axes
    lo, hi = panel.get_ylim()
    assert 0 < lo < 0.1 < hi < math.inf


def test_an_n_star_that_is_only_known_to_lie_between_two_sizes_is_drawn_from_one_to_the_other():
    errors = {50: 0.9, 100: 0.8, 200: 1e-6, 400: 1e-6}
    cells = [row(n=n, replicate=r, nmse=e, label=x) for n, e in errors.items() for r in range(3) for x in ("a", "b")]
    found = curves(cells)
    figure = plots.learning_curves(found, reached=[each for s in scalings(found, [0.1]) for each in s.reached])
    (panel,) = figure.axes
    bars = [line for line in panel.get_lines() if np.round(line.get_xdata(), 6).tolist() == [100, 200]]
    assert [list(bar.get_ydata()) for bar in bars] == [[0.1, 0.1]] * 2
    a, b = (bar.get_transform().transform([100, 0.1]) for bar in bars)
    assert a[0] == b[0]
    assert a[1] < b[1]  # one does not hide the other
    assert not [line for line in panel.get_lines() if line.get_marker() == "|"]


def test_errors_that_may_be_negative_have_a_linear_axis_and_arithmetic_means():
    errors = (0.010, 0.020, -0.001, 0.015, 0.012)
    cells = [row(n=n, replicate=r, part_errors={"degree2": e}) for n in (100, 200) for r, e in enumerate(errors)]
    figure = plots.learning_curves(curves(cells, "part_errors.degree2"))
    (panel,) = figure.axes
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "linear")
    np.testing.assert_allclose(drawn(panel, "joint").get_ydata(), 0.0112)
    assert panel.get_ylim()[0] < -0.001
    assert notes(figure).startswith("Line: mean of the replicates.")


def test_many_replicates_are_a_band_whose_drawing_does_not_grow_with_them(tmp_path):
    rng = np.random.default_rng(0)
    errors = np.exp(rng.standard_normal((400, 3)))

    def drawing(replicates):
        cells = [row(n=n, replicate=r, nmse=errors[r, k]) for r in range(replicates) for k, n in enumerate(DIMS)]
        figure = plots.learning_curves(curves(cells))
        return figure, len(save(figure, tmp_path, f"curves-{replicates}"))

    few, _ = drawing(plots.MANY)
    assert any(len(line.get_xdata()) == 3 * plots.MANY for line in few.axes[0].get_lines())
    assert "Outer band" not in notes(few)
    many, size = drawing(100)
    lo, hi = plots.spread(errors[:100])
    edges = [line.get_ydata() for line in many.axes[0].get_lines() if line.get_label() != "joint"]
    np.testing.assert_array_equal(edges, [lo, hi])
    np.testing.assert_array_equal(lo, np.quantile(errors[:100], 0.05, axis=0))
    assert "Outer band: from the 5 % to the 95 % quantile, for more than 20 replicates." in notes(many)
    assert drawing(400)[1] < 1.02 * size


def test_feature_errors_have_a_panel_per_layer_and_a_line_per_stage():
    values = {
        ("S2", "joint", "after layer 2"): (1e-2, 2e-2), ("S2", "joint", "final"): (1e-7,),
        ("S2", "frozen", "final"): (1e-2,), ("S3", "joint", "final"): (1e-6,),
    }  # fmt: skip
    errors = [
        StageErrors("t", 20, 1000, label, stage, Quantity("feature_errors", layer), found)
        for (layer, label, stage), found in values.items()
    ]
    figure = plots.feature_errors(errors)
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["S2, d = 20", "S3, d = 20"]
    assert all(panel.get_xscale() == "log" for panel in figure.axes)
    ticks = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert ticks == ["joint · after layer 2", "joint · final", "frozen · final"]
    means = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == ":"]
    np.testing.assert_allclose(means[0].get_xdata(), [math.sqrt(2e-4), 1e-7])


@pytest.mark.parametrize("draw", [plots.learning_curves, plots.thresholds_against, plots.feature_errors])
def test_nothing_to_draw_is_an_empty_figure(draw, tmp_path):
    save(draw([]), tmp_path, "empty", FORMATS)
    for suffix in FORMATS:
        assert (tmp_path / f"empty.{suffix}").stat().st_size > 0


def test_a_png_of_an_earlier_figure_does_not_stay_beside_a_newer_svg(tmp_path):
    save(plots.learning_curves([]), tmp_path, "drawn")
    assert (tmp_path / "drawn.png").exists()
    save(plots.learning_curves([]), tmp_path, "drawn", ["svg"])
    assert [path.name for path in tmp_path.iterdir()] == ["drawn.svg"]


def test_saving_keeps_text_as_text_and_is_repeatable(found, tmp_path):
    few = [curve for curve in found if curve.d == 10]
    for folder in ("a", "b"):
        text = save(plots.learning_curves(few, "a title"), tmp_path / folder, "curves", FORMATS)
    for suffix in FORMATS:
        first, second = ((tmp_path / folder / f"curves.{suffix}").read_bytes() for folder in ("a", "b"))
        assert first == second
    assert ">a title</text>" in text
    assert text == (tmp_path / "a" / "curves.svg").read_text(encoding="utf-8")


def test_a_report_leaves_the_process_as_it_was(tmp_path):
    code = """
import pathlib, sys
import matplotlib
from bfc_bench.report.plots import learning_curves
from bfc_bench.report.style import save
before = dict(matplotlib.rcParams.copy())
save(learning_curves([]), pathlib.Path(sys.argv[1]), "empty")
assert dict(matplotlib.rcParams.copy()) == before
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


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
    [
        ([6, 7, 8, 9, 10, 12, 14, 16], [6, 8, 10, 12, 16]),
        ([8, 12, 16, 24, 32], [8, 12, 16, 24, 32]),
        ([10, 11], [10, 11]),
        ([5], [5]),
        ([], []),
    ],
)
def test_many_dimensions_are_thinned_to_those_that_stand_apart(values, kept):
    assert spaced_ticks(values) == kept


def test_tick_texts():
    assert [tick_text(value) for value in (200, 1000, 0.05, 25000)] == ["200", "1,000", "0.05", "25,000"]
    assert [tick_text(value, plain=False) for value in (1e-7, 2e-3, 1.0)] == ["10⁻⁷", "2·10⁻³", "10⁰"]
