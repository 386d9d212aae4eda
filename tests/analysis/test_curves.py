import math
from dataclasses import replace

import numpy as np
import pytest
import synthetic
from scipy import stats

from bfc_bench.analysis.curves import ERROR_RATE_FLOOR, FLOOR, by_task, curves, curves_of, metric_of
from bfc_bench.analysis.intervals import share_interval, t_interval
from bfc_bench.errors import UsageError
from bfc_bench.store.rows import Rows


def row(n, replicate, *, label="a", task="t", d=10, **values):
    return synthetic.row(n=n, replicate=replicate, label=label, task=task, d=d, **values)


def test_one_sorted_curve_per_task_dimension_and_label():
    rows = [row(100, 0, nmse=0.1, task=t, d=d, label=x) for t in "ut" for d in (20, 10) for x in "ba"]
    keys = [(c.task, c.d, c.label) for c in curves(rows)]
    assert keys == [(t, d, x) for t in "tu" for d in (10, 20) for x in "ab"]


def test_the_curves_of_the_same_rows_are_made_once_and_a_caller_has_a_list_of_its_own():
    rows = Rows.of([row(n, r, nmse=n) for n in (100, 200) for r in (0, 1)])
    first, again = (curves(by_task(rows.where())["t"]) for _ in range(2))
    assert again[0] is first[0]
    first.clear()
    assert len(again) == len(curves(by_task(rows)["t"])) == 1
    assert curves(by_task(rows)["t"], "train_nmse") == [], "another metric is asked for by itself"


def test_rows_land_at_their_size_and_replicate_in_any_order():
    rows = [row(n, r, nmse=n + r / 10) for n in (100, 200, 400) for r in (0, 1)]
    forward, backward = curves(rows)[0], curves(rows[::-1])[0]
    assert forward.n.tolist() == [100, 200, 400]
    assert forward.replicates == (0, 1)
    assert forward.values.tolist() == [[100, 200, 400], [100.1, 200.1, 400.1]]
    np.testing.assert_array_equal(forward.values, backward.values)


def test_failed_cells_are_missing_and_counted_and_skipped_ones_are_no_failures():
    rows = [
        row(100, 0, nmse=0.5),
        row(100, 1, status="diverged", nmse=0.1),
        row(200, 0, status="timeout"),
        row(200, 1, status="skipped"),
    ]
    curve = curves(rows)[0]
    assert np.isnan(curve.values).tolist() == [[False, True], [True, True]]
    assert curve.statuses == ({"diverged": 1}, {"timeout": 1, "skipped": 1})
    assert curve.failures.tolist() == [1, 1]
    assert curve.mean[0] == pytest.approx(0.5)
    for summary in (curve.mean, curve.lo, curve.hi, curve.median, curve.worst):
        assert math.isnan(summary[1])


def test_summaries_over_replicates():
    errors = [1e-2, 1e-3, 0.9]
    curve = curves([row(100, r, nmse=error) for r, error in enumerate(errors)])[0]
    expected = t_interval(np.log(errors)).exp()
    assert (curve.mean[0], curve.lo[0], curve.hi[0]) == pytest.approx((expected.mean, expected.lo, expected.hi))
    assert curve.median[0] == pytest.approx(1e-2)
    assert curve.worst[0] == pytest.approx(0.9)


def test_values_without_logarithm_count_as_the_floor():
    curve = curves([row(100, 0, nmse=0.0), row(200, 0, nmse=1e-30)])[0]
    assert curve.mean == pytest.approx([FLOOR, FLOOR])
    assert curves([row(100, 0, error_rate=0.0)], "error_rate")[0].mean == pytest.approx([ERROR_RATE_FLOOR])


@pytest.mark.parametrize("metric", ["error_rate", "chosen.validation_error", "metrics.own"])
def test_values_are_clipped_at_the_floor_that_their_row_names(metric):
    """Half of 100 test points, half of 20 of 100 points that validate, and so on: other sizes have other floors."""
    column, _, name = metric.partition(".")
    values = {column: {name: 0.0} if name else 0.0}
    stages = {"early": {"error_rate": 0.0, "metrics": {"own": 0.0}}}
    rows = [row(n, 0, floors={metric: floor}, stages=stages, **values) for n, floor in ((100, 5e-3), (200, 1e-2))]
    for stage in (None, "early")[: 1 if column == "chosen" else 2]:
        (curve,) = curves(rows, metric, stage)
        assert curve.mean == pytest.approx([5e-3, 1e-2])


def test_paths_and_stages_are_read():
    stage = {"nmse": 0.2, "feature_errors": {"S2": 0.02}, "uncut_errors": {"S2": 0.04}}
    chosen = {"measured": {"uncut_errors": {"S2": 0.03}}}
    rows = [row(100, 0, nmse=0.1, feature_errors={"S2": 0.01}, chosen=chosen, stages={"layer2": stage})]
    wanted = {"nmse": (0.1, 0.2), "feature_errors.S2": (0.01, 0.02), "uncut_errors.S2": (0.03, 0.04)}
    for metric, values in wanted.items():
        found = [curves(rows, metric, at)[0].values[0, 0] for at in (None, "layer2")]
        assert found == list(values)
    assert curves(rows, "nmse", "layer2")[0].name == "a/layer2"


def test_a_metric_that_does_not_apply_gives_no_curve():
    rows = [row(100, 0, nmse=0.1)]
    assert curves(rows, "error_rate") == []
    assert curves(rows, "feature_errors.S9") == []
    assert curves(rows, "nmse", "no-such-stage") == []


def test_values_that_are_not_finite_are_missing():
    curve = curves([row(100, 0, nmse=math.inf), row(100, 1, nmse=0.1)])[0]
    assert np.isnan(curve.values[0, 0])


def test_an_unknown_metric_suggests_the_nearest():
    with pytest.raises(UsageError, match="'nmse'"):
        curves([row(100, 0, nmse=0.1)], "nmsee")


def test_two_rows_of_one_cell_are_an_error():
    with pytest.raises(UsageError, match=r"two for task 't', d=10, 'a', n=100, replicate 0"):
        curves([row(100, 0, nmse=0.1), row(100, 0, nmse=0.2)])


PARTS = (0.010, 0.020, -0.001, 0.015, 0.012)
"""Errors in a part of the target, one per replicate: unbiased estimates, of which one has come out negative."""


def test_errors_in_parts_of_the_target_are_averaged_as_they_are():
    rows = [row(100, r, part_errors={"degree2": error}) for r, error in enumerate(PARTS)]
    (curve,) = curves(rows, "part_errors.degree2")
    expected = stats.ttest_1samp(PARTS, 0).confidence_interval(0.95)
    assert curve.scale == "linear"
    assert curve.mean[0] == pytest.approx(0.0112)
    assert (curve.lo[0], curve.hi[0]) == pytest.approx((expected.low, expected.high))
    assert (curve.median[0], curve.worst[0]) == (0.012, 0.020)
    np.testing.assert_array_equal(curve.scaled[:, 0], PARTS)


def test_what_may_be_negative_has_no_logarithm():
    (curve,) = curves([row(100, 0, part_errors={"degree2": -0.001})], "part_errors.degree2")
    assert (curve.mean[0], curve.worst[0]) == (-0.001, -0.001)
    with pytest.raises(UsageError, match=r"a: part_errors\.degree2 is an unbiased estimate .* no logarithm"):
        _ = curve.log_values


def test_curves_of_a_predictor_are_those_with_values():
    rows = [row(100, 0, d=d, nmse=0.1, stages={"early": {"nmse": 0.3}}) for d in (20, 10)]
    rows += [row(100, 0, d=30, status="failed"), row(100, 0, label="b", nmse=0.1)]
    assert [(c.d, c.values[0, 0]) for c in curves_of(rows, "a/early", "t", "nmse")] == [(10, 0.3), (20, 0.3)]
    assert [c.d for c in curves_of(rows, "a", "t", "nmse", d=20)] == [20]
    assert curves_of(rows, "a", "u", "nmse") == []


def test_binary_tasks_are_read_by_their_error_rate():
    binary = [row(n, r, error_rate=0.3 / n) for n in (10, 100) for r in (0, 1)]
    assert metric_of(binary) == "error_rate"
    assert metric_of([row(100, 0, nmse=0.1), *binary]) == "nmse"
    assert metric_of(binary, "nmse_trimmed") == "nmse_trimmed"


def test_points_are_flat_records_of_the_sizes_that_were_tried():
    rows = [row(100, 0, nmse=1e-2), row(100, 1, nmse=1e-4), row(200, 0, status="failed"), row(400, 0, status="skipped")]
    (curve,) = curves(rows)
    first, second = (point.as_dict() for point in curve.points)
    assert first == {
        "task": "t", "d": 10, "label": "a", "metric": "nmse", "n": 100, "mean": curve.mean[0], "lo": curve.lo[0],
        "hi": curve.hi[0], "median": pytest.approx(1e-3), "worst": pytest.approx(1e-2), "replicates": 2, "failed": 0,
        "skewed": False,
    }  # fmt: skip
    assert (second["n"], second["replicates"], second["failed"]) == (200, 0, 1)
    assert math.isnan(second["mean"])


def test_error_rates_on_data_are_averaged_as_they_are_and_count_their_test_points():
    rates, data = [0.1, 0.2, 0.3], {"data": {"test_points": 50, "test_pool": 200}}
    rows = [row(10, r, error_rate=rate, chosen=data) for r, rate in enumerate(rates)]
    (curve,) = curves(rows, "error_rate")
    assert (curve.test_points, curve.test_pool) == (50, 200)
    assert curve.intervals == (share_interval(rates, 50, 200),)
    assert curve.mean == pytest.approx([0.2])
    (fresh,) = curves([replace(row, chosen={}) for row in rows], "error_rate")
    assert fresh.mean == pytest.approx([(0.1 * 0.2 * 0.3) ** (1 / 3)])


def test_only_sizes_that_all_replicates_have_count_in_means_where_replicates_have_their_own():
    """A mean at the others would be one of replicates that were selected by their N*."""
    own = {0: (10, 20, 40, 57, 80), 1: (10, 20, 40, 80, 113, 160), 2: (10, 20), 3: (40, 80, 160), 4: (10, 160)}
    (curve,) = curves([row(n, r, nmse=1 / n) for r, sizes in own.items() for n in sizes])
    assert curve.has_enough_sizes.tolist() == [True, True, True, False, False]
    assert curve.n[curve.shared].tolist() == [10, 20]
    assert [(point.n, point.replicates) for point in curve.points] == [(10, 4), (20, 3)]
    assert np.isfinite(curve.mean).tolist() == np.isfinite(curve.median).tolist() == curve.shared.tolist()


def test_all_sizes_count_where_the_first_replicates_have_all_sizes_of_the_others():
    """So runs with more replicates or sizes, and looks at claims, leave them."""
    looks = {0: (10, 20, 40, 80), 1: (10, 20, 40, 80), 2: (10, 20, 40), 3: (40,)}
    (curve,) = curves([row(n, r, nmse=1 / n) for r, sizes in looks.items() for n in sizes])
    assert curve.shared.all()
    assert [point.replicates for point in curve.points] == [3, 3, 4, 2]
