"""Looks are a function of the rows: which rows a claim is judged on, at what level, what it lacks, what comes next."""

import math
from dataclasses import replace

import pytest
import synthetic

from bfc_bench.analysis.claims import Beats, Point, Reaches
from bfc_bench.analysis.interim_analyses import looks_at, of_sizes, own_sizes
from bfc_bench.store.rows import Rows

LEARNERS = [{"name": "x", "label": "a"}, {"name": "x", "label": "b", "max_n": 10}, {"name": "c", "tasks": ["u"]}]
SUITE = {"task": [{"name": "t", "d": [4], "n": [10, 20]}], "learner": LEARNERS}
SIZES = {("t", "a", 4): (10, 20), ("t", "b", 4): (10, 20)}
CLAIM = Reaches(id="c", label="a", task="t", at_most=1.0)
N_STAR = Beats(id="b", label="a", against=("b",), task="t", level=0.1)


def row(n, replicate, label="a", d=4, nmse=0.5):
    return synthetic.row(task="t", label=label, d=d, n=n, replicate=replicate, nmse=nmse)


def grid(replicates, *more):
    return Rows.of([*[row(n, r, label) for label in ("a", "b") for n in (10, 20) for r in range(replicates)], *more])


def spread(values):
    """Rows of the claim's point with these errors, beside others."""
    return Rows.of([*grid(0), *[row(20, r, nmse=value) for r, value in enumerate(values)]])


def course(rows, claim=CLAIM, at=(3, 5, 8)):
    return looks_at(claim, rows, SIZES, at)


def test_the_sizes_of_a_suite_are_those_of_its_tasks_within_the_limits_of_its_learners():
    assert own_sizes(SUITE) == {("t", "a", 4): (10, 20), ("t", "b", 4): (10,)}
    by_d = {"name": "t", "d": [4, 8], "n": {"d": {"4": [5, 20], "8": [20]}}}
    assert own_sizes({**SUITE, "task": [by_d]}) == {("t", "a", 4): (5, 20), ("t", "b", 4): (5,), ("t", "a", 8): (20,)}


def test_a_claim_without_n_is_about_the_largest_size_planned_for_all_its_learners_whatever_has_run():
    planned = own_sizes(SUITE) | {("t", "a", 8): (10,)}
    claim = Beats(id="c", label="a", against=("b",), task="t").among(planned, {})
    both = [row(10, r, label) for label in "ab" for r in range(3)]
    half_run, whole = [row(5, 0), *both], [*both, row(20, 0), row(10, 0, d=8)]
    assert [claim.at(rows) for rows in (half_run, whole)] == [Point("t", 4, 10)] * 2
    own = claim.without(()).model_copy(update={"against": ("a",), "d": 4})
    assert [own.at(rows) for rows in (half_run, whole)] == [Point("t", 4, 20)] * 2
    assert own.judge(half_run).verdict == "undecided"


def test_a_look_reads_its_point_in_its_replicates_whatever_else_there_is():
    rows = spread([0.9, 1.2, 0.95, 1.0, 1.1])
    first, second, third = course(Rows.of([*rows, row(40, 0), row(20, 0, d=5), row(10, 0)])).looks
    assert [(of.label, of.d, of.n, of.replicate) for of in first.rows] == [("a", 4, 20, r) for r in range(3)]
    assert [of.replicate for of in second.rows] == [0, 1, 2, 3, 4]
    assert third.missing == [(("t", "a", 4), 20, r) for r in (5, 6, 7)]
    assert [look.finding and look.finding.verdict for look in (first, second, third)] == ["undecided"] * 2 + [None]


def test_the_first_look_that_decides_is_the_verdict_whatever_comes_after():
    """Three small errors decide at the first look; the large ones of later replicates are not read."""
    errors = [0.3, 0.31, 0.29]
    decided = course(spread(errors))
    assert decided.next_look is None
    later = course(spread([*errors, *[50.0] * 10]))
    assert repr(later.current_look.finding) == repr(decided.current_look.finding)
    assert later.current_look.finding.verdict == "supported"


def test_a_look_is_made_when_all_its_cells_have_rows_and_at_its_level():
    errors = [0.9, 1.2, 0.95, 1.0, 1.1, 1.0, 0.9, 1.2]
    for count, number in ((2, 0), (3, 1), (4, 1), (5, 2), (7, 2), (8, 3)):
        found = course(spread(errors[:count]))
        assert (found.current_look.at.number if found.current_look else 0) == number
    assert found.next_look is None
    assert [look.at.confidence for look in found.looks] == pytest.approx([1 - 0.05 * k / 8 for k in (3, 2, 3)])


def test_replicates_that_were_not_run_in_order_make_no_look():
    rows = Rows.of([row(20, r) for r in (0, 1, 3, 4, 5)])
    assert course(rows).next_look.missing == [(("t", "a", 4), 20, 2)]


def test_before_the_first_look_a_claim_is_undecided():
    found = course(spread([0.1, 0.1001]))
    verdict = found.without_look(replace(CLAIM.judge(spread([0.1, 0.1001])), verdict="supported"))
    assert (verdict.verdict, verdict.note.split(";")[0]) == ("undecided", "look 1 of 3 lacks 1 cell")


def test_a_claim_that_compares_n_star_reads_all_sizes_and_others_those_of_the_suite():
    rows = grid(3, *[row(40, r) for r in range(3)])
    assert set(course(rows, N_STAR).looks[0].rows.n.tolist()) == {10, 20, 40}
    (look, *_) = course(rows).looks
    assert set(look.rows.n.tolist()) == {20}, "the point of a claim without n is the suite's largest size"
    assert set(of_sizes(rows, SIZES).n.tolist()) == {10, 20}


def test_an_opponent_gets_no_more_replicates_if_it_is_beaten_at_the_levels_of_both_looks():
    """t = 8 of two degrees of freedom decides at 98.1 %, the first look's level, and not at 98.75 %, the second's."""
    claim = Beats(id="b", label="a", against=("b", "c"), task="t", n=20)
    sizes = {("t", label, 4): (20,) for label in "abc"}
    for t, replicates in ((8.0, 5), (10.0, 3)):
        step = 3**0.5 / t
        errors = {"a": [math.exp(k * step - 1) for k in (-1, 0, 1)], "b": [1.0] * 3, "c": [0.3, 0.4, 0.5]}
        rows = Rows.of(row(20, r, label, nmse=e) for label, of in errors.items() for r, e in enumerate(of))
        first, second = looks_at(claim, rows, sizes, (3, 5, 8)).looks
        assert first.finding.verdict == "undecided"
        assert second.counts == {"a": 5, "b": replicates, "c": 5}


def test_an_opponent_is_beaten_by_the_error_that_classes_have():
    claim = Beats(id="b", label="a", against=("b", "c"), task="t", n=20)
    rates = {"a": [0.1, 0.11, 0.12], "b": [0.5, 0.52, 0.51], "c": [0.1, 0.12, 0.11]}
    rows = [
        replace(row(20, r, label, nmse=None), error_rate=e) for label, of in rates.items() for r, e in enumerate(of)
    ]
    _, second = looks_at(claim, Rows.of(rows), {("t", label, 4): (20,) for label in "abc"}, (3, 5, 8)).looks
    assert second.counts == {"a": 5, "b": 3, "c": 5}
