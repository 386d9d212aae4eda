"""A task that is held in Python has the points, the seed and the errors of the runs of its suite, bit for bit."""

from typing import ClassVar

import numpy as np
import pytest
from local_plugins import registers
from stored_rows import read_results

import bfc_bench as bb

TEACHER = {
    "inputs": {"kind": "uniform"},
    "target": {"kind": "quadratic-densenet", "widths": [2], "alphas": [1.0]},
    "d": [4, 5],
}
TASKS = {
    "noisy": {**TEACHER, "labels": {"kind": "noise", "sd": 0.2}, "unlabeled": 7},
    "signs": {**TEACHER, "labels": {"kind": "threshold"}},
    "paired": {**TEACHER, "teacher": "noisy"},
    "law": {"law": {"kind": "random-hierarchy", "vocabulary": 3, "classes": 3}},
    "scaled": {"data": {"kind": "npz", "path": "points.npz", "standardize": True}},
}


class Keeper(bb.Learner):
    """Keeps what it is given, and predicts by the seed and a linear function."""

    name: ClassVar[str] = "keeper"
    capabilities: ClassVar[bb.Capabilities] = bb.Capabilities(labels=frozenset({"real", "binary", "class"}))
    given: ClassVar[dict] = {}

    def fit(self, train, ctx):
        self.given[len(self.given)] = train, ctx
        return Drawn(train, ctx)


class Drawn(bb.Predictor):
    def __init__(self, train, ctx):
        rng = np.random.default_rng(ctx.seed)
        self.weights = rng.standard_normal((train.d, train.classes) if train.classes else train.d) + train.y.mean()

    def predict(self, x):
        return x @ self.weights


@pytest.fixture
def suite(suite_file, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "points.npz", x=rng.standard_normal((90, 3)) * [1, 5, 9], y=rng.standard_normal(90))
    tasks = [{"name": name, "n": [30], **tables} for name, tables in TASKS.items()]
    return suite_file(task=tasks, learner=[{"name": "keeper"}], replicates=2, seed=3)


@pytest.mark.parametrize("name", TASKS)
def test_it_has_what_a_learner_was_given_and_the_error_of_the_row(suite, tmp_path, monkeypatch, name):
    monkeypatch.setattr(Keeper, "given", {})
    plugins = bb.load_plugins(extra=[registers("learner", Keeper)])
    options = {"store": tmp_path / "store", "executor": "serial", "plugins": plugins}
    bb.run_suite(suite, bb.RunOptions(**options, tasks=[name]))
    rows = sorted(read_results(suite, store=tmp_path / "store"), key=lambda row: (row.d, row.replicate))
    assert len(rows) == len(Keeper.given) > 1
    for row, (given, told) in zip(rows, Keeper.given.values(), strict=True):
        task = bb.load_task(f"{suite}/{name}", d=row.d)
        train, test = task.sample(row.n, row.replicate)
        assert np.array_equal(train.x, given.x)
        assert np.array_equal(train.y, given.y)
        assert train.sample == given.sample
        context = task.context(row.n, row.replicate)
        assert context.seed == told.seed == row.seed
        for mine, its in ((context.square_mean, told.square_mean), (context.unlabeled, told.unlabeled)):
            assert mine is its is None or np.array_equal(mine, its)
        model = Drawn(train, context)
        error = row.error_rate if row.nmse is None else row.nmse
        assert task.error(model.predict, row.replicate, n=row.n) == error
        if name == "noisy":
            assert np.mean((model.predict(test.x) - test.y) ** 2) / np.var(test.y) == pytest.approx(error)


def test_tables_make_the_task_that_a_suite_has(suite):
    labels = TASKS["noisy"]["labels"]
    mine = bb.task(inputs=TEACHER["inputs"], target=TEACHER["target"], labels=labels, d=4, name="noisy", seed=3)
    [(a, _), (b, _)] = (task.sample(np.int64(30), np.int64(1)) for task in (mine, bb.load_task(f"{suite}/noisy", d=4)))
    assert np.array_equal(a.x, b.x)
    assert np.array_equal(a.y, b.y)


def test_its_arrays_may_be_changed_and_its_features_are_those_of_the_target():
    task = bb.load_task("smoke/teacher-L3")
    train, test = task.sample(20)
    before = train.x.copy()
    train.x[:], test.x[:], test.y[:] = 0, 0, 0
    train, test = task.sample(20)
    assert np.array_equal(train.x, before)
    assert task.error(lambda x: np.full(len(x), test.y.mean())) == pytest.approx(1)
    s2 = task.hidden(test.x)["S2"]
    assert s2.shape == (len(test.x), 4)
    assert not np.allclose(s2, task.hidden(test.x, replicate=1)["S2"])
    assert bb.task(inputs={"kind": "uniform"}, target={"kind": "linear"}, d=3).hidden(np.zeros((2, 3))) == {}


WRONG = {
    "d must be given, as .*/noisy has several: 4, 5.": lambda suite, data, teacher: bb.load_task(f"{suite}/noisy"),
    "no task 'nois'. Did you mean 'noisy'?": lambda suite, data, teacher: bb.load_task(f"{suite}/nois"),
    "name must be SUITE/TASK, such as 'smoke/.*'. Got 'smoke'.": lambda suite, data, teacher: bb.load_task("smoke"),
    "n must be at most 68": lambda suite, data, teacher: data.sample(80),
    "n must be given, as the test inputs are scaled by the n points": lambda suite, data, teacher: data.error(len),
    "n must be an integer of at least 1. Got 0.": lambda suite, data, teacher: teacher.sample(0),
    r"hidden: x must have shape \(m, 5\). Got \(3,\)": lambda suite, data, teacher: teacher.hidden(np.zeros(3)),
    r"shape \(200,\), one per point. Got shape \(200, 5\)": lambda suite, data, teacher: teacher.error(np.ones_like),
    "inputs: kind must be the name of one of": lambda suite, data, teacher: bb.task(target={"kind": "linear"}, d=2),
    "task 'task': d must be given.": lambda suite, data, teacher: bb.task(**{**TEACHER, "d": None}),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_call_says_what_to_do(suite, message):
    data, teacher = bb.load_task(f"{suite}/scaled"), bb.load_task(f"{suite}/noisy", d=5)
    with pytest.raises(bb.UsageError, match=message):
        WRONG[message](suite, data, teacher)
    with pytest.raises(bb.Diverged, match="NaN"):
        teacher.error(lambda x: np.full(len(x), np.nan))
