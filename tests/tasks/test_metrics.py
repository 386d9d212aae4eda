"""NMSE, trimmed NMSE, error rate, and errors of probabilities."""

from functools import wraps

import numpy as np
import pytest
from sklearn.metrics import log_loss as sklearn_log_loss

from bfc_bench.tasks import metrics
from bfc_bench.tasks.metrics import TargetValues

RNG = np.random.default_rng(0)
TARGET = RNG.standard_normal(1000) ** 3 + 2
PREDICTION = TARGET + 0.1 * RNG.standard_normal(1000)


def on_arrays(metric):
    @wraps(metric)
    def measure(prediction, target):
        return metric(prediction, TargetValues(target))

    return measure


nmse, nmse_trimmed, error_rate = map(on_arrays, (metrics.nmse, metrics.nmse_trimmed, metrics.error_rate))
log_loss, calibration_error = map(on_arrays, (metrics.log_loss, metrics.calibration_error))


def test_nmse_by_hand():
    assert nmse(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx((1 / 3) / (2 / 3))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_an_infinite_prediction_gives_no_finite_error_and_no_warning(bad):
    prediction = PREDICTION.copy()
    prediction[3] = bad
    assert not np.isfinite(nmse(prediction, TARGET))


@pytest.mark.parametrize("shift", [1.0, 3e6])
def test_trimming_leaves_out_the_extreme_targets_whatever_is_predicted(shift):
    target = np.arange(200.0)
    target[[0, 199]] = -1e6, 1e6
    prediction = target + shift
    prediction[[0, 199]] = 0.0
    kept = np.arange(1.0, 199.0)
    assert nmse_trimmed(prediction, target) == pytest.approx(shift**2 / np.var(kept), rel=1e-12)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_trimming_of_a_skewed_target_leaves_out_what_is_far_from_its_median(side):
    """The median is 0 and 10 is farthest from it; -7 is farthest from the mean, 4.3."""
    target = side * np.r_[10.0, -7.0, np.zeros(51), np.full(47, 9.0)]
    prediction = target + np.r_[1e6, 3.0, np.zeros(98)]
    assert nmse_trimmed(prediction, target) == pytest.approx(9 / 99 / np.var(target[1:]), rel=1e-12)


def test_error_rate_counts_wrong_signs_and_missing_ones():
    labels = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    assert error_rate(np.array([0.2, -3.0, -1.0, 0.0, np.nan]), labels) == pytest.approx(3 / 5)
    assert error_rate(labels, labels) == 0


@pytest.mark.parametrize("metric", [nmse, nmse_trimmed])
@pytest.mark.parametrize("constant", [0.0, 0.1])
def test_a_constant_target_has_no_relative_error(metric, constant):
    with pytest.raises(ValueError, match="constant on all 10 points"):
        metric(np.zeros(10), np.full(10, constant))


def test_the_class_of_scores_is_the_largest_and_a_tie_is_wrong():
    scores = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 5.0]])
    assert error_rate(scores, np.array([0.0, 1.0, 0.0, 1.0])) == 0.5
    assert error_rate(np.zeros((4, 3)), np.array([0.0, 1.0, 2.0, 0.0])) == 1.0


def test_log_loss_is_scikit_learns():
    rng = np.random.default_rng(0)
    table, labels = rng.dirichlet(np.ones(4), 50), rng.integers(4, size=50).astype(float)
    assert log_loss(table, labels) == pytest.approx(sklearn_log_loss(labels, table, labels=range(4)), rel=1e-12)
    signs = np.where(labels > 1, 1.0, -1.0)
    assert log_loss(table[:, 0], signs) == pytest.approx(sklearn_log_loss(signs, table[:, 0]), rel=1e-12)


def test_calibration_is_perfect_where_shares_are_what_was_said_and_by_hand():
    said, labels = np.full(10, 0.7), np.array([1.0] * 7 + [-1.0] * 3)
    assert calibration_error(said, labels) == pytest.approx(0, abs=1e-12)
    assert calibration_error(np.full(10, 0.9), labels) == pytest.approx(0.2)
    table = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    assert calibration_error(table, np.array([0.0, 0.0])) == pytest.approx((0.5 + 0.8) / 2)


@pytest.mark.parametrize("metric", [log_loss, calibration_error])
def test_what_is_no_probability_is_refused(metric):
    with pytest.raises(ValueError, match="of sum 1"):
        metric(np.array([[0.5, 0.6], [0.5, 0.5]]), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="of sum 1"):
        metric(np.array([1.2, 0.5]), np.array([-1.0, 1.0]))
