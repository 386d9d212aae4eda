"""Which values of rows claims judge: every error, failed cells, values that are bounds, shares of replicates."""

import math
from dataclasses import replace

import numpy as np
import pytest
from claim_cases import BEATS, CASES, SWEPT
from claim_results import GRID, SWEEP, cell, cells, spread, verdict

from bfc_bench.analysis.claims.mean_evidence import evidence
from bfc_bench.analysis.compare import compare, pairs_of
from bfc_bench.analysis.curves import curves
from bfc_bench.errors import UsageError
from bfc_bench.store.row import BESIDES
from bfc_bench.tasks.feature_errors import MEASURES
from bfc_bench.tasks.metrics import METRICS as BUILT_IN


def test_a_sanity_check_is_marked_wherever_its_verdict_is_quoted():
    claim = {"kind": "reaches", "label": "a", "task": "t", "at_most": 1, "sanity": True}
    found = verdict(claim, cells("a", [1e-9, 1e-5, 1e-7, 50.0] * 4))
    assert found.words == "supported, a sanity check, but the worst replicate, 50, is 50 times beyond the bound"
    assert verdict({**claim, "sanity": False}, cells("a", [0.1, 0.2, 0.15])).words == "supported"


def test_facts_of_a_fit_are_read_however_deep_they_lie():
    rows = [
        cell("a", r, 0.1, chosen={"info": {"weight_alignment": {"layer2": {"W2": value}}}})
        for r, value in enumerate([0.95, 0.96, 0.97])
    ]
    metric = "chosen.info.weight_alignment.layer2.W2"
    found = verdict({"kind": "reaches", "label": "a", "task": "t", "at_least": 0.9, "metric": metric}, rows)
    assert found.verdict == "supported"
    assert found.statement == "The weight_alignment.layer2.W2 of a is at least 0.9 (t, d = 20, n = 400)."


ERRORS = {name: (name,) for name in (*(metric.name for metric in BUILT_IN), "train_nmse")} | {
    "metrics.mine": ("metrics", "mine"),
    "part_errors.degree2": ("part_errors", "degree2"),
    "chosen.validation_error": ("chosen", "validation_error"),
    "chosen.measured.label_nmse": ("chosen", "measured", "label_nmse"),
    **{f"{name}.S2": ("chosen", "measured", name, "S2") for name in BESIDES},
    **{f"{name}.S2": (name, "S2") for name in MEASURES if name not in BESIDES},
}
"""Every error that a row can have, by the name that a claim uses, with its path in the row."""
OF_ROWS = [("a", name, path) for name, path in ERRORS.items()]
OF_STAGES = [
    ("a/early", name, ("stages", "early", *name.split(".")))
    for name in ERRORS
    if not name.startswith(("chosen.", "train_"))
]


def nested(path, value):
    """``value`` below the names of a path."""
    return {path[0]: nested(path[1:], value)} if path else value


@pytest.mark.parametrize(("label", "metric", "path"), [*OF_ROWS, *OF_STAGES])
def test_a_claim_may_be_about_every_error_of_a_row_and_of_its_stages(label, metric, path):
    rows = [cell("a", r, 5.0, **nested(path, error)) for r, error in enumerate((0.02, 0.03, 0.04, 0.03))]
    for bound, word in ((0.2, "supported"), (0.002, "contradicted")):
        found = verdict({"kind": "reaches", "label": label, "task": "t", "at_most": bound, "metric": metric}, rows)
        assert (found.verdict, found.replicates) == (word, 4)
        assert found.estimate == pytest.approx(0.03, rel=0.1)


# --- errors in parts of the target: unbiased estimates that may be negative ---

PARTS = 0.0112 + np.outer([1, -1], [0.002, 0.004, 0.006, 0.008, 0.010, 0.0125]).ravel()
OTHERS = np.array([0.50, 0.70, 0.65, 0.42, 0.61, 0.55, 0.58, 0.47, 0.66, 0.52, 0.60, 0.54])
DEGREE2 = {"metric": "part_errors.degree2", "task": "t"}


def part_cells(label, errors, stage=None):
    """One row per replicate; ``stage`` are the errors of a stage called ``early``."""
    stages = [{}] * len(errors) if stage is None else [{"early": {"part_errors": {"degree2": e}}} for e in stage]
    return [
        cell(label, r, 0.5, part_errors={"degree2": float(error)}, stages=stages[r]) for r, error in enumerate(errors)
    ]


def mean_and_interval(x):
    """Mean and 95 % interval of values; ``test_skewed_t.py`` has its closed forms."""
    return (np.mean(x), *evidence(x).bounds())


@pytest.mark.parametrize(
    ("bounds", "word"),
    [
        ({"at_most": 0.03}, "supported"),
        ({"at_most": 0.015}, "undecided"),
        ({"at_most": 0.001}, "contradicted"),
        ({"at_least": 0.001}, "supported"),
        ({"at_least": 0.1}, "contradicted"),
    ],
)
def test_the_arithmetic_mean_of_part_errors_reaches_a_bound(bounds, word):
    found = verdict({"kind": "reaches", "label": "a", **DEGREE2, **bounds}, part_cells("a", PARTS))
    assert (found.estimate, found.lo, found.hi) == pytest.approx(mean_and_interval(PARTS))
    assert found.estimate == pytest.approx(0.0112)
    assert found.verdict == word
    assert "The error in degree2 of a is " in found.statement


@pytest.mark.parametrize(("factor", "word"), [(10, "supported"), (50, "undecided"), (1000, "contradicted")])
def test_part_errors_are_beaten_by_their_difference(factor, word):
    claim = {"kind": "beats", "label": "a", "against": "b", "factor": factor, **DEGREE2}
    found = verdict(claim, [*part_cells("a", PARTS), *part_cells("b", OTHERS)])
    assert (found.estimate, found.lo, found.hi) == pytest.approx(mean_and_interval(PARTS - OTHERS / factor))
    assert (found.verdict, found.region) == (word, "≤ 0")
    assert "the estimate is the mean of x - " in found.note


def test_a_failed_cell_opens_the_difference_on_the_side_it_may_move_to():
    claim = {"kind": "beats", "label": "a", "against": "b", **DEGREE2}
    rows = [*part_cells("a", PARTS), *part_cells("b", OTHERS)]
    of_a, of_b = (verdict(claim, [*rows, cell(label, len(PARTS))]) for label in "ab")
    assert (of_a.verdict, of_a.hi) == ("undecided", math.inf)
    assert (of_b.verdict, of_b.lo) == ("supported", -math.inf)


def test_part_errors_have_no_ratio_and_a_claim_that_they_are_unchanged_says_why():
    claim = {"kind": "unchanged", "before": "a", "after": "b", "tolerance": 0.1, **DEGREE2}
    found = verdict(claim, [*part_cells("a", OTHERS), *part_cells("b", OTHERS * 1.02)])
    assert found.verdict == "undecided"
    assert "it has no logarithm and no ratio" in found.note


def test_part_errors_have_no_slope_and_a_claim_says_why():
    rows = [replace(row, task=task, part_errors={"degree2": 0.1}) for task in SWEEP for row in cells("a", PARTS + 1)]
    found = verdict(
        {"kind": "slope", "label": "a", "sweep": SWEPT, "at_most": 2, "metric": "part_errors.degree2"}, rows
    )
    assert found.verdict == "undecided"
    assert "it has no logarithm and no slope" in found.note


def test_sample_sizes_are_compared_for_part_errors():
    def falling(label, stars):
        return [
            cell(label, r, 0.5, n=n, part_errors={"degree2": 1 - math.log2(n / 20) / (2 * math.log2(star / 20))})
            for r, star in enumerate(stars)
            for n in GRID
        ]

    claim = {"kind": "beats", "label": "a", "against": "b", "factor": 2, "level": 0.5, **DEGREE2}
    stars = 300 * spread("stars", sd=0.2)
    found = verdict(claim, [*falling("a", stars), *falling("b", 4 * stars * spread("jitter", sd=0.01))])
    assert found.estimate == pytest.approx(1 / 4, rel=0.02)
    assert found.verdict == "supported"


# --- cells that failed, values that are bounds ---


def test_a_failed_cell_of_the_better_one_forbids_support():
    good = [None, *(spread("a") * 1e-3)]
    found = verdict(BEATS, [*cells("a", good), *cells("b", spread("b", 6))])
    assert found.verdict == "undecided"
    assert found.hi == math.inf
    assert "1 of 6 cells of a have no value (1 diverged)" in found.note


def test_a_failed_cell_of_the_worse_one_forbids_contradiction():
    values = cells("a", spread("a", 6))
    whole, broken = cells("b", spread("b", 6)), cells("b", [None, *spread("b")])
    assert verdict(BEATS, [*values, *whole]).verdict == "contradicted"
    assert verdict(BEATS, [*values, *broken]).verdict == "undecided"


def test_a_failed_cell_does_not_hide_that_a_bound_is_missed():
    found = verdict(CASES["reaches"][0], cells("a", [None, *spread("a")]))
    assert (found.verdict, found.hi) == ("contradicted", math.inf)
    assert verdict(CASES["reaches"][0], cells("a", [None, *(1e-4 * spread("a"))])).verdict == "undecided"


def test_skipped_cells_are_missing_not_failed():
    skipped = [cell("a", r, status="skipped", reason="too big") for r in (5, 6)]
    found = verdict(CASES["reaches"][0], [*cells("a", 1e-4 * spread("a")), *skipped])
    assert (found.verdict, found.replicates) == ("supported", 5)
    assert "2 of 7 cells of a have no value (2 skipped)" in found.note


def test_a_value_at_the_floor_is_a_bound():
    tiny = [0.0, *(1e-14 * spread("a"))]
    reached = verdict(CASES["reaches"][0], cells("a", tiny))
    assert (reached.verdict, reached.lo) == ("supported", 0.0)
    same = {"kind": "unchanged", "before": "a", "after": "b", "task": "t", "tolerance": 0.1}
    assert verdict(same, [*cells("a", tiny), *cells("b", tiny)]).verdict == "undecided"


# --- rare failures ---


def test_support_is_not_plain_where_a_replicate_is_far_beyond_the_bound():
    """Of twenty, 19 at 1e-9 and one at .5: the geometric mean and its interval lie below 1e-2."""
    values = [*(1e-9 * spread("rare", 19)), 0.5]
    found = verdict({**CASES["reaches"][0], "at_most": 1e-2}, cells("a", values))
    assert found.verdict == "supported"
    assert found.worst == pytest.approx(0.5)
    assert found.words == "supported, but the worst replicate, 0.5, is 50 times beyond the bound"
    near = verdict({**CASES["reaches"][0], "at_most": 0.06}, cells("a", values))
    assert near.words == near.verdict == "supported"


def test_the_worst_of_a_lower_bound_is_the_least():
    found = verdict(CASES["stays"][0], cells("a", [5.0, 6.0, 7.0, 4.0, 5.5]))
    assert found.worst == pytest.approx(4.0)


@pytest.mark.parametrize("against", [["b", "c"], ["c", "b"]])
def test_an_opponent_without_results_does_not_hide_the_worst_replicate(against):
    found = verdict({**BEATS, "against": against}, [*cells("a", [1.0, 2.0, 3.5]), *cells("b", [10.0, 10.0, 10.0])])
    assert found.worst == pytest.approx(0.35)


SUCCEEDS = {"kind": "succeeds", "label": "a", "task": "t", "level": 0.01, "share": 0.8}


@pytest.mark.parametrize(
    ("good", "bad", "word"), [(20, 0, "supported"), (10, 0, "undecided"), (40, 1, "supported"), (5, 15, "contradicted")]
)
def test_a_share_of_replicates_is_judged_by_its_binomial_interval(good, bad, word):
    from scipy import stats

    found = verdict(SUCCEEDS, cells("a", [1e-6] * good + [0.5] * bad))
    exact = stats.binomtest(good, good + bad).proportion_ci(0.95, "exact")
    assert (found.estimate, found.lo, found.hi) == pytest.approx((good / (good + bad), exact.low, exact.high))
    assert found.verdict == word
    assert (found.p <= 0.05) == (word != "undecided")
    assert f"{good} of {good + bad} replicates" in found.note
    assert math.isnan(found.worst)  # a replicate has no share of its own


def test_a_failed_cell_did_not_succeed_and_a_skipped_one_is_missing():
    skipped = cell("a", 30, status="skipped", reason="too large")
    found = verdict(SUCCEEDS, [*cells("a", [1e-6] * 20 + [None]), skipped])
    assert (found.estimate, found.replicates) == (pytest.approx(20 / 21), 21)
    assert "1 diverged" in found.note


def test_too_few_replicates_for_a_share_are_counted():
    found = verdict({**SUCCEEDS, "share": 0.99}, cells("a", [1e-6] * 20))
    assert (found.verdict, found.p > 0.05) == ("undecided", True)
    assert "368 replicates without a failure" in found.note
    nothing = verdict(SUCCEEDS, [cell("b", 0, 0.1)])
    assert nothing.verdict == "undecided"
    assert math.isnan(nothing.estimate)
    assert "no cells of a" in nothing.note


def test_the_share_is_wrongly_supported_at_most_as_often_as_stated():
    """At the boundary, over all that 36 replicates can show."""
    from scipy import stats

    wrong = {"supported": 0.0, "contradicted": 0.0}
    for k in range(37):
        found = verdict({**SUCCEEDS, "share": 0.9}, cells("a", [1e-6] * k + [0.5] * (36 - k)))
        if found.verdict in wrong:
            wrong[found.verdict] += stats.binom.pmf(k, 36, 0.9)
    assert max(wrong.values()) <= 0.025


@pytest.mark.parametrize("bad", [{"share": 1.0}, {"share": 0.0}, {"level": 0.0}])
def test_a_share_that_cannot_be_is_an_error(bad):
    with pytest.raises(UsageError):
        verdict({**SUCCEEDS, **bad}, cells("a", [0.1]))


def shares_of(label, values, **fields):
    """Rows of a task on data whose labels are classes: an error rate and no NMSE."""
    data = {"data": {"test_points": 200, "test_pool": 200}}
    return [
        cell(label, r, None, status="ok", reason="", error_rate=value, chosen=data, **fields)
        for r, value in enumerate(values)
    ]


def test_a_claim_that_names_no_metric_is_about_error_rates_where_there_is_no_other_error():
    rows = [*shares_of("a", [0.10, 0.11, 0.12]), *shares_of("b", [0.30, 0.33, 0.31])]
    found = verdict({"kind": "beats", "task": "t", "label": "a", "against": "b", "factor": 2}, rows)
    assert found.verdict == "supported"
    assert "error rate" in found.statement
    named = verdict({"kind": "beats", "task": "t", "label": "a", "against": "b", "metric": "nmse"}, rows)
    assert named.verdict == "undecided"


def test_the_mean_of_error_rates_on_data_is_that_of_tables_in_claims_and_comparisons():
    """A geometric mean of the same shares is .0119, and would be 'at most .018' beside a table that says .0212."""
    shares = {"a": [0.002, 0.004, 0.03, 0.05, 0.02], "b": [0.05, 0.06, 0.07, 0.05, 0.06]}
    rows = [row for label, values in shares.items() for row in shares_of(label, values)]
    a, b = curves(rows, "error_rate")
    found = verdict({"kind": "reaches", "task": "t", "label": "a", "at_most": 0.02}, rows)
    assert found.estimate == pytest.approx(a.mean[0]) == pytest.approx(0.0212)
    beats = verdict({"kind": "beats", "task": "t", "label": "a", "against": "b"}, rows)
    (compared,) = compare(pairs_of(rows, ("a", "b"), "error_rate"))
    assert beats.estimate == pytest.approx(compared.ratio) == pytest.approx(a.mean[0] / b.mean[0])
    often = verdict({**SUCCEEDS, "level": 0.02, "metric": "error_rate"}, rows)
    assert often.estimate == 0.6


@pytest.mark.parametrize("scale", [1e-6, 1.0])
def test_the_test_of_two_error_rates_on_data_is_that_of_their_difference_where_both_differ_little(scale):
    from scipy import stats

    a, b = (0.2 + 0.01 * scale * np.log(spread(name, 10)) for name in "ab")
    a += 1e-3 * scale
    rows = [*shares_of("a", a), *shares_of("b", b)]
    (compared,) = compare(pairs_of(rows, ("a", "b"), "error_rate"))
    assert compared.p == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-2)


def test_no_wrong_point_in_any_replicate_is_less_than_half_a_point_whatever_less_that_is():
    found = verdict({"kind": "reaches", "task": "t", "label": "a", "at_most": 0.02}, shares_of("a", [0.0] * 8))
    assert (found.verdict, found.estimate) == ("supported", pytest.approx(0.5 / 200))
    found = verdict({"kind": "reaches", "task": "t", "label": "a", "at_most": 0.02}, shares_of("a", [0.0, 0.0, 0.005]))
    assert found.estimate == pytest.approx(0.005 / 3)
