"""Replicates that were added at single sizes for a claim leave laws, N*, frontiers and noise as they were."""

from dataclasses import replace

import numpy as np

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
