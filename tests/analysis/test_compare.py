import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from synthetic import row

from bfc_bench.analysis.claims.mean_evidence import Region, evidence
from bfc_bench.analysis.claims.verdict import replicates_to_decide
from bfc_bench.analysis.compare import NO_DIFFERENCE, compare, compare_thresholds, pairs_of
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import holm
from bfc_bench.seeds import stream


def curve(label, values, n=(100,), replicates=None, task="t", metric="nmse"):
    values = np.array(values, dtype=float).reshape(-1, len(n))
    return Curve(task, 10, label, metric, np.array(n), tuple(replicates or range(len(values))), values)


def noise(name, size):
    return np.exp(stream("test", "compare", name).standard_normal(size))


def test_it_is_scipys_paired_t_test_of_logarithms():
    a, b = noise("a", 5), noise("b", 5)
    (found,) = compare([(curve("a", a), curve("b", b))])
    expected = stats.ttest_rel(np.log(a), np.log(b))
    bounds = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.lo, found.hi) == pytest.approx((math.exp(bounds.low), math.exp(bounds.high)))
    assert found.ratio == pytest.approx(math.exp(np.mean(np.log(a / b))))
    assert math.isnan(found.difference)


PART = {"metric": "part_errors.degree2"}


def test_what_may_be_negative_is_compared_by_differences():
    a, b = np.array([0.010, 0.020, -0.001, 0.015, 0.012]), np.array([0.1, 0.2, 0.15, -0.01, 0.2])
    (found,) = compare([(curve("a", a, **PART), curve("b", b, **PART))])
    expected = stats.ttest_rel(a, b)
    bounds = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.difference == pytest.approx(np.mean(a - b))
    assert (found.lo, found.hi) == pytest.approx((bounds.low, bounds.high))
    assert math.isnan(found.ratio)
    assert found.verdict == "a lower"


def test_labels_are_compared_on_every_task_and_size_that_both_have():
    def cell(task, label, n, replicate, **values):
        return row(task=task, label=label, d=10, n=n, replicate=replicate, **values)

    errors = {"clean": "nmse", "binary": "error_rate"}
    rows = [
        cell(task, label, n, r, **{metric: factor * (1 + 0.1 * r * n % 0.7)}, stages={"early": {metric: 0.3}})
        for task, metric in errors.items()
        for label, factor in (("a", 0.01), ("b", 0.1))
        for n in (100, 200)
        for r in range(3)
    ]
    rows += [cell("clean", "a", 400, r, nmse=0.1) for r in range(3)]
    found = compare(pairs_of(rows, ("a", "b/early")))
    for task in errors:
        of_task = [c for c in found if c.task == task]
        assert [c.holm_p for c in of_task] == holm([c.p for c in of_task])
    assert [(c.task, c.d, c.metric, c.a, c.b, c.n) for c in found] == [
        (task, 10, metric, "a", "b/early", n) for task, metric in errors.items() for n in (100, 200)
    ]


def test_the_lower_one_is_named_whichever_comes_first():
    b = noise("pairs", 5) * 100
    a = 0.1 * b * (1 + 0.01 * noise("small", 5))
    (one,), (other,) = compare([(curve("A", a), curve("B", b))]), compare([(curve("B", b), curve("A", a))])
    assert one.verdict == other.verdict == "A lower"
    assert other.ratio == pytest.approx(1 / one.ratio)
    assert other.lo == pytest.approx(1 / one.hi)


def test_no_difference_is_called_in_equal_learners_beyond_chance():
    """In 5 % of 1000 curves of equal learners, Monte Carlo error .7 %, however many n are compared."""
    n = np.arange(1, 6)
    a, b = noise("null a", (1000, 5, 5)), noise("null b", (1000, 5, 5))
    found = [compare([(curve("a", x, n), curve("b", y, n))]) for x, y in zip(a, b, strict=True)]
    called = [any(c.verdict != NO_DIFFERENCE for c in of_curve) for of_curve in found]
    assert 0.025 < np.mean(called) < 0.075


def test_replicates_are_paired_by_number_at_the_sizes_both_have():
    values = noise("order", (4, 2)) * [[1], [10], [100], [1000]]
    a = curve("a", 2 * values * noise("jitter", (4, 2)) ** 0.01, (100, 200), (0, 1, 2, 3))
    b = curve("b", np.c_[values[::-1, 1], values[::-1, 0]], (200, 400), (3, 2, 1, 0))
    (found,) = compare([(a, b)])
    assert (found.n, found.pairs, found.unpaired) == (200, 4, 0)
    assert found.ratio == pytest.approx(2, rel=0.05)
    assert found.verdict == "b lower"


def test_replicates_of_one_side_are_counted_not_used():
    a = curve("a", [1.0, 2.0, 3.0, math.nan], replicates=(0, 1, 2, 3))
    b = curve("b", [1.5, 2.5, 4.5, 5.0, 6.0], replicates=(0, 1, 2, 3, 4))
    (found,) = compare([(a, b)])
    assert (found.pairs, found.unpaired) == (3, 2)


@pytest.mark.parametrize("pairs", [0, 1, 2])
def test_fewer_than_three_pairs_are_refused(pairs):
    a = [1e-9] * pairs + [math.nan] * (3 - pairs)
    (found,) = compare([(curve("a", a), curve("b", [1.0, 1.1, 1.2]))])
    assert f"replicates with a value: {pairs}" in found.refused
    assert found.verdict == NO_DIFFERENCE
    assert math.isnan(found.p)


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_equal_ratios_are_refused(factor):
    b = noise("equal", 5)
    (found,) = compare([(curve("a", factor * b), curve("b", b))])
    assert "zero variance" in found.refused
    assert found.verdict == NO_DIFFERENCE
    assert found.ratio == pytest.approx(factor)


@pytest.mark.parametrize("wobble", [0.0, 0.05])
@pytest.mark.parametrize(("pairs", "verdict"), [(4, NO_DIFFERENCE), (5, "a needs fewer")])
def test_five_replicates_that_reach_a_level_below_all_sizes_against_five_that_never_do_decide(pairs, verdict, wobble):
    """The clearest advantage had zero variance and no test, or with a little variance .13 [0, 1.3], p = .14."""
    errors = {"a": [0.09, 0.02, 0.01], "b": [0.5, 0.3, 0.2]}
    shift = np.exp(wobble * stream("test", "clearest", pairs).standard_normal((pairs, 1)))
    a, b = (curve(label, shift * of, n=(200, 400, 800)) for label, of in errors.items())
    (found,) = compare_thresholds([(a, b)], [0.15 if wobble else 0.1])
    assert found.verdict == verdict
    assert found.hi == (pytest.approx(200 / 800) if verdict != NO_DIFFERENCE else math.inf)
    assert (found.p <= 0.05) == (verdict != NO_DIFFERENCE)


def test_replicates_that_share_test_points_differ_by_less_than_fresh_ones():
    """50 of 200 points each: the variance of a mean is that of R values times 1 + R / 3."""
    ratios, data = np.array([0.7, 0.9, 0.8, 1.1, 0.75]), {"data": {"test_points": 50, "test_pool": 200}}
    errors = {"a": 0.2 * ratios, "b": np.full(5, 0.2)}
    rows = [row(label=label, replicate=r, nmse=x, n=9) for label, of in errors.items() for r, x in enumerate(of)]
    (fresh,) = compare(pairs_of(rows, ("a", "b")))
    (shared,) = compare(pairs_of([replace(row, chosen=data) for row in rows], ("a", "b")))
    widths = [math.log(found.hi / found.ratio) for found in (fresh, shared)]
    assert (shared.ratio, widths[1]) == pytest.approx((fresh.ratio, widths[0] * math.sqrt(1 + 5 / 3)))
    t = np.log(ratios).mean() / (np.log(ratios).std(ddof=1) * math.sqrt(1 / 5 + 1 / 3))
    assert shared.p == pytest.approx(2 * stats.t.sf(abs(t), 4))
    same = {"data": {"test_points": 200, "test_pool": 200}}
    assert compare(pairs_of([replace(row, chosen=same) for row in rows], ("a", "b")))[0].p == fresh.p


@pytest.mark.parametrize("correlation", [0.0, 0.25, 0.75])
def test_for_normal_values_that_correlate_as_their_test_points_the_test_is_exact(correlation):
    rng = np.random.default_rng(0)
    common, own = rng.standard_normal((1000, 1)), rng.standard_normal((1000, 10))
    values = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own
    overlap = correlation / (1 - correlation)
    found = [evidence(of, overlap=overlap).of_symmetric_values().p_outside(Region(0, 0)) for of in values]
    assert 0.03 < np.mean(np.array(found) <= 0.05) < 0.07


def test_more_replicates_do_not_decide_what_shared_test_points_leave_open():
    far, near = (evidence(np.arange(5) + mean, overlap=1 / 3) for mean in (40.0, -1.0))
    assert near.at(10**6).bounds()[0] < 0 < far.bounds()[0]
    needed, why = replicates_to_decide(Region(hi=0.0), [near])
    assert (needed, why[:34]) == (math.inf, "replicates share test points, and ")


def test_ratios_of_error_rates_are_those_of_the_means_of_pairs():
    rates = {"a": [0.1] * 3 + [0.12] * 3 + [0.9] * 2, "b": [0.2] * 3 + [0.22] * 3 + [np.nan] * 2}
    a, b = (
        Curve("t", 5, label, "error_rate", np.array([100]), tuple(range(8)), np.array([values]).T, test_points=50,
              test_pool=200, floors=0.01)
        for label, values in rates.items()
    )  # fmt: skip
    (found,) = compare([(a, b)])
    assert (found.pairs, found.unpaired) == (6, 2)
    assert found.ratio == pytest.approx(0.11 / 0.21)
