"""Replicates that were added at single sizes for a claim leave laws, N*, frontiers and noise as they were."""

from dataclasses import replace

import numpy as np
import pytest

from bfc_bench.analysis.compute import CostCurve, frontier
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.laws import law_of_curves
from bfc_bench.analysis.thresholds import threshold

N = np.array([50, 71, 100, 141, 200, 283, 400, 566, 800, 1131, 1600])


def curve(label, added=0, noise=0.05):
    """Three replicates at all sizes, and more at the last one."""
    rng = np.random.default_rng(1)
    values = np.full((3 + added, len(N)), np.nan)
    values[:3] = (0.001 + 20 / N) * np.exp(noise * rng.standard_normal((3, len(N))))
    values[3:, -1] = values[0, -1] * np.exp(0.2 * rng.standard_normal(added))
    return Curve("t", 5, label, "nmse", N, tuple(range(3 + added)), values, tried=~np.isnan(values))


def test_laws_have_all_sizes():
    law = law_of_curves([curve("a", added=5)])
    assert law.refused == ""
    assert law.exponents == law_of_curves([curve("a")]).exponents


def test_noise_and_n_star_are_those_of_the_replicates_that_make_curves():
    before, after = curve("a", noise=0.35), curve("a", added=5, noise=0.35)
    assert after.noise == before.noise > 0
    assert threshold(after, 0.1).replicates == threshold(before, 0.1).replicates


def test_frontiers_have_all_learners():
    dear, cheap = curve("dear"), replace(curve("cheap"), values=2 * curve("cheap").values)

    def labels(cheap):
        points = frontier([CostCurve(cheap, "fit_flops", 1.0 * N), CostCurve(dear, "fit_flops", 3.0 * N)])
        return [(point.label, point.n, point.error) for point in points]

    more = replace(curve("cheap", added=5), values=2 * curve("cheap", added=5).values)
    assert labels(more) == labels(cheap)
    assert {label for label, *_ in labels(cheap)} == {"dear", "cheap"}


def test_ratios_of_error_rates_are_those_of_the_means_of_pairs():
    from bfc_bench.analysis.compare import compare

    rates = {"a": [0.1] * 3 + [0.12] * 3 + [0.9] * 2, "b": [0.2] * 3 + [0.22] * 3 + [np.nan] * 2}
    a, b = (
        Curve("t", 5, label, "error_rate", np.array([100]), tuple(range(8)), np.array([values]).T, test_points=50,
              test_pool=200, floors=0.01)
        for label, values in rates.items()
    )  # fmt: skip
    (found,) = compare([(a, b)])
    assert (found.pairs, found.unpaired) == (6, 2)
    assert found.ratio == pytest.approx(0.11 / 0.21)


def test_error_rates_of_0_are_below_levels_that_half_of_a_test_point_is_above():
    rates = np.array([[0.1, 0.0, 0.0]] * 3)
    few = Curve("t", 5, "a", "error_rate", np.array([10, 20, 40]), (0, 1, 2), rates, floors=0.5 / 44, test_points=44,
                test_pool=178)  # fmt: skip
    assert [n_star.censored for n_star in threshold(few, 0.01).replicates] == [None] * 3
    assert (few.worst[-1], few.median[-1]) == (0, 0)
