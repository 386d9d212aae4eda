"""What rows hold of each stage of training."""

import math

import pytest
import synthetic
from scipy import stats

from bfc_bench.analysis.curves import curves
from bfc_bench.analysis.stages import Quantity, stage_errors


def row(replicate=0, **values):
    return synthetic.row(task="t", label="a", d=10, n=100, replicate=replicate, nmse=0.1, **values)


def values_of(rows):
    return {(found.stage, found.quantity): found.values for found in stage_errors(rows)}


def test_stages_come_in_order_of_training_and_end_with_the_final_predictor():
    stages = {name: {"nmse": 0.5, "feature_errors": {"S2": 0.2}} for name in ("late", "early")}
    found = stage_errors([row(r, stages=stages, feature_errors={"S2": 0.01, "S3": 0.02}) for r in range(2)])
    names = [(e.stage, e.quantity.kind, e.quantity.part) for e in found]
    assert names == [
        ("late", "nmse", ""), ("late", "feature_errors", "S2"),
        ("early", "nmse", ""), ("early", "feature_errors", "S2"),
        ("final", "nmse", ""), ("final", "feature_errors", "S2"), ("final", "feature_errors", "S3"),
    ]  # fmt: skip
    assert found[-1].values == (0.02, 0.02)


def test_what_was_not_measured_is_left_out():
    broken = row(stages={"early": {"reason": "diverged"}}, feature_errors={"S2": math.nan, "S3": 0.0})
    assert values_of([broken]) == {
        ("final", Quantity("nmse")): (0.1,),
        ("final", Quantity("feature_errors", "S3")): (1e-16,),
    }
    assert stage_errors([row()]) == []


def test_an_error_rate_of_0_is_that_of_half_a_point_as_in_a_curve():
    rows = [row(r, error_rate=rate, part_errors={"p": 0.1}) for r, rate in enumerate((0.0, 1e-3, 1e-3))]
    found = next(e for e in stage_errors(rows, "error_rate") if e.quantity.kind == "error_rate")
    assert found.interval.mean == pytest.approx(curves(rows, "error_rate")[0].mean[0])


def test_other_measures_of_features_stand_beside_p():
    measured = {"uncut_errors": {"S2": 0.02}, "span_errors": {"S2": 1e-3}, "cka": {"S2": 0.75}}
    found = values_of([row(feature_errors={"S2": 0.01}, chosen={"measured": measured}, stages={"early": measured})])
    assert found["final", Quantity("feature_errors", "S2")] == (0.01,)
    for stage in ("early", "final"):
        assert found[stage, Quantity("uncut_errors", "S2")] == (0.02,)
        assert found[stage, Quantity("span_errors", "S2")] == (1e-3,)
        assert found[stage, Quantity("cka_distance", "S2")] == (0.25,)


def test_errors_in_parts_of_the_target_are_averaged_as_they_are():
    errors = (0.010, 0.020, -0.001, 0.015, 0.012)
    (_, found) = stage_errors([row(r, part_errors={"degree2": error}) for r, error in enumerate(errors)])
    expected = stats.ttest_1samp(errors, 0).confidence_interval(0.95)
    assert (found.stage, found.quantity, found.values) == ("final", Quantity("part_errors", "degree2"), errors)
    assert (found.interval.lo, found.interval.hi) == pytest.approx((expected.low, expected.high))
    assert found.interval.mean == pytest.approx(0.0112)
    assert found.worst == 0.020
