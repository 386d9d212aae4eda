"""Fits of batches that give too little or raise, and tuning where candidates fail: what can go on does."""

import numpy as np
import pytest
from breaking_learners import Constant

from bfc_bench import Context, Data, Failure, Job, Learner
from bfc_bench.run.fitting import fit, predict


def rows(neighbours, rows_of):
    """A mean over neighbours, which cannot be of more points than there are, tuned over their number."""
    learner = {"name": "sklearn:neighbors.KNeighborsRegressor", "label": "l", "tune": {"n_neighbors": neighbours}}
    return rows_of(learner=[learner])


@pytest.mark.parametrize("neighbours", [[100, 2], [2, 100], [100, 2, 200]])
def test_a_candidate_that_fails_is_passed_over_at_every_size(neighbours, rows_of):
    found = rows(neighbours, rows_of)
    assert [(row.n, row.status) for row in found] == [(10, "ok"), (20, "ok")]
    assert [row.chosen["tuned"] for row in found] == [{"n_neighbors": 2}] * 2
    assert {row.chosen["candidates"] for row in found} == {len(neighbours)}


def test_where_all_candidates_fail_the_cell_fails_with_the_reason_of_the_first(rows_of):
    found = rows([100, 200], rows_of)
    assert [row.status for row in found] == ["failed", "failed"]
    assert all("n_neighbors = 100" in row.reason for row in found)


def test_a_wrong_shape_on_the_validation_part_says_so(faulty, rows_of):
    whole, failed = rows_of(learner=[{"name": "faulty", "options": {"how": "shape"}, "tune": {"at": [16]}}])
    assert whole.status == "ok"
    assert "shape (4,), one per validation point, every fifth of the n points. Got shape (3, 2)" in failed.reason


@pytest.mark.parametrize(("at", "found"), [([20, 30], ["ok", 20, "ok", 30]), ([20], ["ok", 20, "diverged", 20])])
def test_where_the_best_candidate_diverges_on_all_points_the_next_one_is_taken(at, found, faulty, rows_of):
    rows = rows_of(learner=[{"name": "faulty", "options": {"how": "diverge"}, "tune": {"at": at}}])
    assert [part for row in rows for part in (row.status, row.chosen["tuned"]["at"])] == found


class Counting(Learner):
    """Predicts n, alone or in batches; a batch may give too few results or raise, and a fit of 3 points raises."""

    name = "counting"
    missing: int = 0
    raises: bool = False
    together: bool = True

    def batch_key(self, train):
        return (self.missing, self.raises) if self.together else None

    def fit(self, train, ctx):
        if train.n == 3:
            raise ValueError("three")
        return Constant(train.n)

    @classmethod
    def fit_batch(cls, jobs):
        if jobs[0].learner.raises:
            raise ValueError("the batch")
        return [Constant(-job.train.n) for job in jobs][jobs[0].learner.missing :]


def outcomes(sizes, **options):
    data = [Data(sample="s", n=n, d=1, x=np.zeros((n, 1)), y=np.zeros(n)) for n in sizes]
    found = fit([Job(Counting(**options), one, Context()) for one in data])
    return [one.reason if isinstance(one, Failure) else one.value for one in found]


def test_jobs_of_one_key_are_a_batch_and_others_are_alone():
    assert outcomes([5, 4, 2]) == [-5, -4, -2]
    assert outcomes([5]) == [5]
    assert outcomes([5, 4, 2], together=False) == [5, 4, 2]


def test_a_batch_that_gives_too_few_results_fails_all_its_jobs():
    for found in (outcomes([5, 4, 2], missing=1), outcomes([5, 4, 2], missing=3)):
        assert len(found) == 3
        assert len(set(found)) == 1
        assert "counting.fit_batch must give one result per job" in found[0]

    class TooFew(Counting):
        @classmethod
        def predict_batch(cls, predictors, xs):
            return [xs[0][:, 0]]

    found = predict(TooFew, [Constant(1.0), Constant(2.0)], [np.zeros((3, 1))] * 2, [0, 0])
    assert ["predict_batch must give one result per predictor. Got 1 for 2." in one.reason for one in found] == [
        True
    ] * 2


def test_after_a_batch_that_raises_only_the_job_that_raises_alone_fails():
    first, failed, last = outcomes([5, 3, 2], raises=True)
    assert (first, last) == (5, 2)
    assert "three" in failed
