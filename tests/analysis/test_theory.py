"""The exponent that theory gives at finite d, and claims that are made with it."""

import math

import numpy as np
import pytest
from synthetic import row

from bfc_bench.analysis.claims.exponent import ExponentClaim
from bfc_bench.analysis.curves import curves
from bfc_bench.analysis.theory import expected, expected_exponent, expected_n_star, harmonics_slope
from bfc_bench.analysis.thresholds import thresholds
from bfc_bench.learner import Theory
from bfc_bench.utils.legendre import harmonics_dimension

DIMS = (6, 8, 10, 12)
CLAIM = {"id": "c", "label": "a", "task": "t", "level": 0.5}


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5])
def test_the_slope_tends_to_the_degree_from_below(p):
    near, far = harmonics_slope((8, 16), p), harmonics_slope((10**6, 2 * 10**6), p)
    assert near <= far + 1e-9 <= p + 1e-4
    assert far == pytest.approx(p, abs=1e-4)
    assert harmonics_slope((8, 16), p) == pytest.approx(
        math.log2(harmonics_dimension(16, p) / harmonics_dimension(8, p)), rel=1e-12
    )


def cell(d, n, replicate, error):
    return row(task="t", label="a", d=d, n=n, replicate=replicate, nmse=error)


def rows(n_star):
    """Three replicates with error n_star(d) / (2 n) up to 5 %: N*(.5) = n_star(d)."""
    rng = np.random.default_rng(0)
    stars = {(d, r): n_star(d) * math.exp(0.05 * rng.standard_normal()) for d in DIMS for r in range(3)}
    return [cell(d, 2**k, r, star / 2 ** (k + 1)) for (d, r), star in stars.items() for k in range(4, 16)]


def test_a_learner_that_needs_as_many_samples_as_harmonics_supports_the_claim():
    claim = ExponentClaim.parse({**CLAIM, "harmonics": 4, "tolerance": 0.5, "asymptotic": 4}, "c")
    slope = harmonics_slope(DIMS, 4)
    found = claim.judge(rows(lambda d: 2 * harmonics_dimension(d, 4)))
    assert found.verdict == "supported"
    assert found.estimate == pytest.approx(slope, abs=0.2)
    assert f"within 0.5 of that of B(d, 4), {slope:.3g} over d = 6..12, asymptotically 4" in found.statement
    assert claim.judge(rows(lambda d: d**2)).verdict == "contradicted"
    assert claim.judge([]).verdict == "undecided"


def power(constant, exponent=1.0):
    """An error of constant / n^exponent."""
    return Theory(lambda n: constant * n**-exponent, "this file")


@pytest.mark.parametrize("constant", [0.7, 30.0, 12_345.0])
def test_n_star_is_where_the_curve_comes_down_to_the_level(constant):
    assert expected_n_star(power(constant, 2.0), 0.5) == pytest.approx(math.sqrt(2 * constant), rel=1e-6)
    assert expected_n_star(power(0.1), 0.5) == 1


def test_a_curve_that_never_gets_there_needs_infinitely_many_and_one_without_values_is_unknown():
    assert expected_n_star(Theory(lambda n: 0.6, "flat"), 0.5) == math.inf
    assert math.isnan(expected_n_star(Theory(lambda n: math.nan, "none"), 0.5))
    assert expected_n_star(Theory(lambda n: math.inf if n == 1 else 1 / n, "a pole"), 0.5) == pytest.approx(2)


def test_the_exponent_is_the_slope_over_the_dimensions_asked_for():
    theories = {("t", d, "a"): power(d**2.5) for d in DIMS}
    assert expected_exponent(theories, "t", "a", 0.5, DIMS) == pytest.approx(2.5)
    assert expected_exponent(theories, "t", "a", 0.5, DIMS[1:3]) == pytest.approx(2.5)
    for label, dims in (("a", DIMS[:1]), ("a", (*DIMS, 99)), ("b", DIMS)):
        assert math.isnan(expected_exponent(theories, "t", label, 0.5, dims))


def test_the_records_have_both_and_their_ratio():
    theories = {("t", d, "a"): power(d**2 / 4) for d in DIMS[:2]}
    found = expected(thresholds(curves(rows(lambda d: d**2)), [0.5]), theories)
    assert [record.measured.d for record in found] == [6, 8]
    flat = found[1].as_dict()
    assert flat["n_star"] == pytest.approx(32)
    assert flat["ratio"] == pytest.approx(flat["measured"] / 32) == pytest.approx(2, rel=0.1)
    assert math.isnan(flat["exponent"])  # d = 10 and 12 have no theory
