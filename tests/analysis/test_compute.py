import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from synthetic import row

from bfc_bench.analysis.compute import COSTS, cost_curves, frontier, frontiers, least_costs, shown_cost
from bfc_bench.analysis.curves import curves
from bfc_bench.analysis.intervals import t_interval
from bfc_bench.analysis.thresholds import threshold
from bfc_bench.errors import UsageError
from bfc_bench.seeds import stream

SIZES = (100, 200, 400, 800, 1600)


def rows(label, error, flops, *, d=10, sizes=SIZES, replicates=5, sd=0.1, **fields):
    """Rows of a learner with errors ``error(n)`` up to noise and operations ``flops(n)``."""
    noise = np.exp(sd * stream("test", "compute", label, d).standard_normal((replicates, len(sizes))))
    return [
        row(label=label, d=d, n=n, replicate=r, nmse=float(error(n) * noise[r, k]), fit_flops=flops(n), **fields)
        for r in range(replicates)
        for k, n in enumerate(sizes)
    ]


def cheap(**options):
    """Error n^-1/2 at n^2 operations."""
    return rows("cheap", lambda n: 10 * n**-0.5, lambda n: float(n**2), **options)


def good(**options):
    """Error n^-1 at n^2 * 1000 operations."""
    return rows("good", lambda n: 10 / n, lambda n: 1000.0 * n**2, **options)


def against(made, cost="fit_flops"):
    return cost_curves(made, curves(made), cost)


def test_a_curve_against_operations_has_the_errors_of_the_curve_against_n():
    (curve,), (of,) = curves(cheap()), against(cheap())
    assert of.costs == pytest.approx([float(n**2) for n in SIZES])
    assert (of.curve.mean == curve.mean).all()


def test_costs_are_averaged_geometrically_and_sizes_without_one_are_left_out():
    made = cheap(replicates=3)
    made = [replace(row, fit_flops={0: 1.0, 1: 4.0, 2: None}[row.replicate] if row.n < 800 else None) for row in made]
    (of,) = against(made)
    assert of.costs == pytest.approx([2.0] * 3)
    assert of.curve.n.tolist() == [100, 200, 400]
    assert of.curve.values.shape == (3, 3)
    assert against([replace(row, fit_flops=None) for row in made]) == []
    with pytest.raises(UsageError, match="a cost must be one of fit_flops, fit_cpu_seconds, parameters"):
        against(made, "nmse")


def test_the_least_cost_of_a_level_is_the_cost_at_n_star():
    """Operations are n^2, so interpolation in their logarithm gives the square of N*, with twice its interval."""
    (curve,), found = curves(cheap()), least_costs(against(cheap()), [0.4])
    star = threshold(curve, 0.4).interval
    (least,) = found
    assert least.interval.mean == pytest.approx(star.mean**2)
    assert least.interval.hi == pytest.approx(star.hi**2)
    record = least.as_dict()
    assert (record["least"], record["cost"], record["replicates"]) == (pytest.approx(star.mean**2), "fit_flops", 5)
    (beyond,) = least_costs(against(cheap()), [1e-3])
    assert beyond.as_dict()["censored"] == 5
    assert math.isnan(beyond.as_dict()["least"])


def test_a_size_that_costs_no_more_than_a_smaller_one_replaces_it():
    made = [replace(row, fit_flops={100: 5.0, 200: 3.0}.get(row.n, float(row.n))) for row in cheap()]
    (least,) = least_costs(against(made), [0.4])
    without = [row for row in made if row.n != 100]
    assert least.replicates == least_costs(against(without), [0.4])[0].replicates
    assert least_costs(against([replace(row, fit_flops=7.0) for row in made]), [0.4]) == []


def test_the_frontier_is_the_lower_envelope():
    """The cheap learner is the best until its largest size, at 2.6e6; the good one from where its error is less."""
    points = frontier(against([*cheap(sd=1e-3), *good(sd=1e-3)]))
    labels = [point.label for point in points]
    assert labels == sorted(labels)  # cheap ones first
    assert {point.n for point in points if point.label == "cheap"} == set(SIZES)
    costs, errors = [point.at for point in points], [point.error for point in points]
    assert costs == sorted(costs)
    assert all(later <= 1.01 * error for error, later in itertools.pairwise(errors))
    assert points[0].at == pytest.approx(100**2)
    assert (points[-1].label, points[-1].n) == ("good", 1600)
    for point in points:
        assert point.error == pytest.approx(10 * point.n**-0.5 if point.label == "cheap" else 10 / point.n, rel=1e-2)


def test_one_learner_has_its_own_interval_where_its_errors_fall_clearly():
    (of,) = against(cheap())
    for point, column in zip(frontier([of]), of.curve.values.T, strict=True):
        interval = t_interval(np.log(column)).exp()
        assert (point.error, point.lo, point.hi) == pytest.approx((interval.mean, interval.lo, interval.hi))


def test_choosing_the_best_of_many_equal_learners_does_not_lower_the_frontier():
    """The least of 30 means lies below the truth; the frontier lets other replicates choose."""
    ends, least = [], []
    for trial in range(40):
        made = [
            row
            for k in range(30)
            for row in rows(f"{trial}-{k}", lambda n: 1.0, lambda n: 1.0, sizes=(100,), replicates=4, sd=0.5)
        ]
        found = against(made)
        ends.append(math.log(frontier(found)[-1].error))
        least.append(math.log(min(of.curve.mean[0] for of in found)))
    assert np.mean(least) < -0.3
    assert abs(np.mean(ends)) < 3 * np.std(ends) / math.sqrt(len(ends)) + 0.02


def test_points_without_a_value_for_every_replicate_are_not_on_the_frontier():
    made = cheap()
    made = [replace(row, status="diverged", nmse=None) if (row.n, row.replicate) == (1600, 2) else row for row in made]
    assert frontier(against(made))[-1].n == 800


def test_each_task_and_d_has_its_frontier():
    made = [*cheap(), *cheap(d=20), *good(d=20)]
    found = frontiers(against(made))
    assert {(point.d, point.label) for point in found} == {(10, "cheap"), (20, "cheap"), (20, "good")}
    assert {"task", "d", "cost", "at", "label", "n", "error", "lo", "hi"} <= found[0].as_dict().keys()
    assert frontier([]) == []


def test_operations_are_shown_if_two_learners_declare_them():
    undeclared = [replace(row, fit_flops=None, label="none", fit_cpu_seconds=1.0) for row in cheap()]
    assert shown_cost([*cheap(), *good(), *undeclared]) == "fit_flops"
    assert shown_cost([*cheap(), *undeclared]) == "fit_cpu_seconds"
    assert set(COSTS) >= {"fit_flops", "fit_cpu_seconds"}
