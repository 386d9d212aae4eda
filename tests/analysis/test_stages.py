"""What rows hold of each stage of training."""

import math

import pytest
import synthetic

from bfc_bench.analysis.stages import at_largest_n, stage_curves


def row(replicate=0, n=100, **values):
    return synthetic.row(task="t", label="a", d=10, n=n, replicate=replicate, nmse=0.1, **values)


def means(rows):
    return {(curve.stage_name, curve.metric): curve.mean.tolist() for curve in stage_curves(rows)}


def test_stages_come_in_order_of_training_and_end_with_the_final_predictor():
    stages = {name: {"nmse": 0.5, "feature_errors": {"S2": 0.2}} for name in ("late", "early")}
    found = means([row(r, stages=stages, feature_errors={"S2": 0.01, "S3": 0.02}) for r in range(2)])
    assert list(found) == [
        ("late", "nmse"), ("late", "feature_errors.S2"),
        ("early", "nmse"), ("early", "feature_errors.S2"),
        ("final", "nmse"), ("final", "feature_errors.S2"), ("final", "feature_errors.S3"),
    ]  # fmt: skip
    assert found["final", "feature_errors.S3"] == pytest.approx([0.02])


def test_what_was_not_measured_is_left_out():
    broken = row(stages={"early": {"reason": "diverged"}}, feature_errors={"S2": math.nan, "S3": 0.0})
    found = means([broken])
    assert list(found) == [("final", "nmse"), ("final", "feature_errors.S3")]
    assert found["final", "feature_errors.S3"] == pytest.approx([1e-16])
    assert stage_curves([row()]) == []


def test_other_measures_of_features_stand_beside_p():
    measured = {"uncut_errors": {"S2": 0.02}, "span_errors": {"S2": 1e-3}, "cka": {"S2": 0.75}}
    found = means([row(feature_errors={"S2": 0.01}, chosen={"measured": measured}, stages={"early": measured})])
    assert found["final", "feature_errors.S2"] == pytest.approx([0.01])
    for stage in ("early", "final"):
        assert found[stage, "uncut_errors.S2"] == pytest.approx([0.02])
        assert found[stage, "span_errors.S2"] == pytest.approx([1e-3])
        assert found[stage, "cka_distance.S2"] == pytest.approx([0.25])


def test_the_largest_size_is_one_at_which_something_was_measured_in_all_replicates():
    rows = [row(r, n, part_errors={"degree2": n * (r + 1)}) for r in range(2) for n in (100, 200)]
    rows += [row(0, 400, status="failed"), row(1, 800, part_errors={"degree2": 1.0})]
    found = at_largest_n(stage_curves(rows))
    assert [(curve.metric, curve.n.tolist(), curve.values.ravel().tolist()) for curve in found] == [
        ("nmse", [200], [0.1, 0.1]), ("part_errors.degree2", [200], [200, 400]),
    ]  # fmt: skip
    assert at_largest_n([]) == []
