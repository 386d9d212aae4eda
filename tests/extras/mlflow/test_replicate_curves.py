import pytest

from bfc_bench.extras.mlflow.curves import PARAM_LENGTH, metrics, replicate_curves


def test_one_curve_per_task_dimension_label_and_replicate_with_sizes_ascending(rows):
    curves = replicate_curves(reversed(rows))
    assert len(curves) == 3 * 2 * 2
    assert all([row.n for row in curve.rows] == [100, 200, 400, 800] for curve in curves)
    assert len({curve.key for curve in curves}) == len(curves)
    assert len({curve.name for curve in curves}) == len(curves)


@pytest.mark.parametrize(
    "change",
    [{"task": "b"}, {"d": 11}, {"replicate": 1}, {"label": "b"}, {"options": {"width": 9}}, {"suite_version": 2}],
)
def test_key_changes_with_each_part_of_the_configuration_and_with_nothing_else(row, change):
    key = replicate_curves([row("net")])[0].key
    assert replicate_curves([row("net", nmse=0.5, n=777, finished_at=1.0)])[0].key == key
    assert replicate_curves([row("net", **change)])[0].key != key


def test_options_are_flattened_and_long_values_cut_but_still_told_apart(row):
    params = replicate_curves([row("net")])[0].params
    assert params["opt.width"] == "8"
    assert params["opt.optimizer.betas"] == "[0.9, 0.99]"
    assert {"learner", "label", "task", "d", "replicate"} <= set(params)
    long = [replicate_curves([row("net", options={"w": "x" * 9000 + end})])[0].params["opt.w"] for end in "ab"]
    assert max(map(len, long)) <= PARAM_LENGTH
    assert long[0] != long[1]


def test_the_mean_of_log10_nmse_is_the_logarithm_of_the_geometric_mean(row):
    errors = (1e-7, 4e-2, 0.3)
    logged = [metrics(row("net", nmse=error))["log10_nmse"] for error in errors]
    assert 10 ** (sum(logged) / 3) == pytest.approx((1e-7 * 4e-2 * 0.3) ** (1 / 3))
    assert "log10_nmse" not in metrics(row("net", nmse=0.0))
    assert "log10_nmse" not in metrics(row("net", nmse=None, error_rate=0.1))


def test_a_run_lasts_from_the_begin_of_its_first_fit_to_its_last_cell(row):
    cells = [row("net", n=100, finished_at=1000.0, fit_wall_seconds=2.5), row("net", n=200, finished_at=1010.0)]
    [curve] = replicate_curves(cells)
    assert (curve.started, curve.ended) == (997_500, 1_010_000)


def test_every_number_of_a_row_has_a_path(row):
    """Errors in parts are unbiased estimates, which may be negative: their mean is the estimate of all replicates."""
    stage = {"nmse": 0.5, "feature_errors": {"S2": 0.25}, "part_errors": {"degree2": -0.5}}
    weights = {"weight_correlation": {"start": {"W2": 0.5}, "step10": {"W2": 0.75}}}
    measured = {"uncut_errors": {"S2": 0.5}, "span_errors": {"S2": 0.25}, "cka": {"S2": 0.125}}
    errors = {"feature_errors": {"S=a+2": 1.0}, "part_errors": {"degree2": -0.001}, "metrics": {"largest_error": 2.0}}
    chosen = {"measured": measured, "info": weights}
    found = metrics(row("net", **errors, stages={"stage one": stage}, chosen=chosen, fit_cpu_seconds=3.0))
    expected = {
        "stage/stage one/nmse": 0.5,
        "stage/stage one/feature_error/S2": 0.25,
        "stage/stage one/part_error/degree2": -0.5,
        "feature_error/S_a_2": 1.0,
        "part_error/degree2": -0.001,
        "metric/largest_error": 2.0,
        "uncut_error/S2": 0.5,
        "span_error/S2": 0.25,
        "cka/S2": 0.125,
        "weight_correlation/W2": 0.5,
        "cost/fit_seconds": 3.0,
    }
    errors = ("nmse", "nmse_trimmed", "train_nmse", "log10_nmse")
    assert {name: value for name, value in found.items() if name not in errors} == expected


def test_failures_are_told_with_their_size_and_decide_the_status(row):
    timeout = row("net", n=400, status="timeout", reason="over 120 s", nmse=None)
    skipped = row("net", n=800, status="skipped", reason="max_n", nmse=None)
    mixed, failed, left_out = (
        replicate_curves(group)[0] for group in ([row("net"), timeout], [timeout, skipped], [skipped])
    )
    assert (mixed.failures, mixed.status) == ("n=400: timeout over 120 s", "FINISHED")
    assert (failed.failures, failed.status) == ("n=400: timeout over 120 s; n=800: skipped max_n", "FAILED")
    assert left_out.status == "FINISHED"
    assert not failed.points


def test_of_two_rows_of_one_point_the_one_committed_later_counts(row):
    old, new = row("net", nmse=0.5, finished_at=1.0), row("net", nmse=0.25, finished_at=2.0, options={"width": 9})
    for pair in ([old, new], [new, old]):
        (curve,) = replicate_curves(pair)
        assert curve.rows == (pair[-1],)
