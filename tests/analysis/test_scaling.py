"""Thresholds by d with their fit: what reports, claims and MLflow are handed."""

import math

import numpy as np
import pytest

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.scaling import scalings
from bfc_bench.seeds import stream

N = np.array([20 * 2**k for k in range(12)])
DIMS = (27, 8, 12, 18)


def curve(label, d, power, stage=None):
    """Error 1 / n-fold of N* = 20 (d / 8)^power, for three replicates."""
    stars = 20 * (d / 8) ** power * np.exp(0.2 * stream("scaling", label, d).standard_normal(3))
    return Curve("t", d, label, "nmse", N, (0, 1, 2), 0.1 * (N / stars[:, None]) ** -1.0, stage=stage)


@pytest.fixture
def curves():
    return [curve(label, d, power) for d in DIMS for label, power in (("a", 1.0), ("b", 2.0))]


def test_one_per_label_and_level_with_dimensions_ascending(curves):
    found = scalings(curves, (0.1, 0.01))
    assert [(s.task, s.label, s.metric, s.level) for s in found] == [
        ("t", label, "nmse", level) for label in "ab" for level in (0.1, 0.01)
    ]
    for scaling in found:
        assert tuple(scaling.thresholds) == scaling.measured_dims == tuple(sorted(DIMS))
        assert [r.d for r in scaling.thresholds.values()] == sorted(DIMS)


def test_stages_are_apart_from_the_final_predictor():
    found = scalings([curve("a", 8, 1.0), curve("a", 8, 1.0, stage="early")], (0.1,))
    assert [scaling.label for scaling in found] == ["a", "a/early"]


def test_one_dimension_has_thresholds_and_a_reason_for_no_exponent():
    (found,) = scalings([curve("a", 8, 1.0)], (0.1,))
    assert "2 dimensions or more" in found.exponent.refused
    record = found.as_dict()
    assert record["note"] == found.exponent.refused
    assert math.isnan(record["exponent"])
    assert (record["d_first"], record["values"]) == (8, found.exponent.uncensored)


def test_a_dimension_without_values_is_kept_and_does_not_count(curves):
    empty = Curve("t", 40, "a", "nmse", N, (0, 1), np.full((2, len(N)), math.nan))
    a, _ = scalings([*curves, empty], (0.1,))
    without, _ = scalings(curves, (0.1,))
    assert a.thresholds[40].replicates == ()
    assert a.measured_dims == without.measured_dims
    assert a.exponent == without.exponent
    assert scalings([], (0.1,)) == []
