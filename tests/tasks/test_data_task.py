"""Tasks on data: orders, test parts, scaling, shares of classes, names of contents, errors."""

import pickle
from dataclasses import fields, replace
from typing import ClassVar

import numpy as np
import pytest

from bfc_bench.errors import UsageError
from bfc_bench.tasks.base import DataSet, DataSetContents, LabelledPoints
from bfc_bench.tasks.data import Digits, Npz, Wine
from bfc_bench.tasks.data_task import DataTask
from bfc_bench.tasks.labels import Clean
from bfc_bench.tasks.labels.pointwise import Flip
from bfc_bench.tasks.row_splits import class_order

RNG = np.random.default_rng(0)
N, D = 400, 3


class Held(DataSet):
    """Whatever the test says; each point knows its row, in column 0."""

    kind: ClassVar[str] = "held"
    contents: ClassVar[DataSetContents]
    path: str = ""

    def load(self):
        return self.contents


def rows_as_points(n=N, **others):
    x = np.column_stack([np.arange(n), RNG.standard_normal((n, D - 1))])
    return DataSetContents(LabelledPoints(x, RNG.standard_normal(n)), **others)


@pytest.fixture(autouse=True)
def held():
    Held.contents = rows_as_points()
    return Held


def task(name="t", labels=None, unlabeled=0, test_size=None, digest="", teacher="", **options):
    given = {"labels": labels or Clean(), "unlabeled": unlabeled, "teacher": teacher}
    return DataTask(name, Held(**options), test_size, digest, **given)


def problem(made, replicate=0, test_size=100):
    return made.problem(0, made.dimension, replicate, test_size)


def rows(x):
    return set(x[:, 0].astype(int).tolist())


@pytest.mark.parametrize("unlabeled", [0, 50])
def test_training_test_and_unlabelled_points_are_disjoint_and_all_that_there_are(unlabeled):
    made = problem(task(unlabeled=unlabeled))
    train, test = rows(made.train(300 - unlabeled).x), rows(made.test_inputs(10))
    offered = rows(made.unlabeled_inputs(10)) if unlabeled else set()
    assert (len(train), len(test), len(offered)) == (300 - unlabeled, 100, unlabeled)
    assert train | test | offered == set(range(N))


def test_test_points_are_drawn_for_each_replicate_and_are_the_same_at_every_size():
    first, second = problem(task()), problem(task(), replicate=1)
    np.testing.assert_array_equal(first.test_inputs(10), first.test_inputs(200))
    assert rows(first.test_inputs(10)) != rows(second.test_inputs(10))
    assert rows(first.train(100).x) != rows(second.train(100).x)


def test_a_test_part_of_its_own_is_all_that_is_tested_on():
    x = np.column_stack([np.arange(1000, 1200), RNG.standard_normal((200, D - 1))])
    own = rows_as_points()
    Held.contents = DataSetContents(own.points, LabelledPoints(x, RNG.standard_normal(200)))
    made = problem(task(), test_size=20_000)
    assert made.test_size == 200
    assert rows(made.test_inputs(10)) == set(range(1000, 1200))
    assert rows(made.train(N).x) == set(range(N))
    some = task(test_size=30)
    assert rows(problem(some).test_inputs(10)) <= set(range(1000, 1200))
    assert rows(problem(some).test_inputs(10)) != rows(problem(some, replicate=1).test_inputs(10))


def test_every_point_is_trained_on_in_some_replicate_about_as_often_as_any_other():
    counts = np.zeros(N)
    for replicate in range(200):
        counts[list(rows(problem(task(), replicate).train(100).x))] += 1
    expected, deviation = 50.0, np.sqrt(200 * 0.25 * 0.75)
    assert np.abs(counts - expected).max() < 5 * deviation


@pytest.mark.parametrize("options", [{"standardize": True}, {"whiten": "zca"}], ids=str)
def test_points_beyond_n_change_nothing_where_the_sample_alone_scales(options):
    own = Held.contents
    made = problem(task(**options))
    n, taken = 60, rows(problem(task()).train(60).x)
    tested = rows(problem(task()).test_inputs(60))
    x = own.points.x.copy()
    others = [row for row in range(N) if row not in taken | tested]
    x[others] += 1e3 * RNG.standard_normal((len(others), D))
    first = made.train(n).x, made.test_inputs(n)
    Held.contents = DataSetContents(LabelledPoints(x, own.points.y))
    second = problem(task(**options))
    np.testing.assert_array_equal(first[0], second.train(n).x)
    np.testing.assert_array_equal(first[1], second.test_inputs(n))
    assert not np.array_equal(made.train(n + 10).x, second.train(n + 10).x)


def test_the_sample_has_mean_0_and_deviation_1_and_the_test_points_have_its_scale():
    made = problem(task(standardize=True))
    raw = problem(task())
    x = made.train(60).x
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(x.std(axis=0), 1, rtol=1e-12)
    sample = raw.train(60).x
    expected = (raw.test_inputs(60) - sample.mean(axis=0)) / sample.std(axis=0)
    np.testing.assert_allclose(made.test_inputs(60), expected, rtol=1e-12)


def test_images_are_scaled_by_channel():
    x = RNG.integers(0, 255, (N, 2 * 3 * 3)).astype(np.uint8)
    Held.contents = DataSetContents(LabelledPoints(x, RNG.standard_normal(N)), shape=(2, 3, 3), divisor=255.0)
    made = problem(task(standardize=True)).train(50)
    by_channel = made.x.reshape(50, 2, 9)
    np.testing.assert_allclose(by_channel.mean(axis=(0, 2)), 0, atol=1e-12)
    np.testing.assert_allclose(by_channel.std(axis=(0, 2)), 1, rtol=1e-12)
    assert not np.allclose(by_channel.std(axis=0), 1)
    assert made.shape == (2, 3, 3)


def test_a_column_that_is_constant_in_the_sample_is_not_blown_up_by_rounding():
    x = RNG.standard_normal((N, D))
    x[:, 1] = 0.1
    Held.contents = DataSetContents(LabelledPoints(x, RNG.standard_normal(N)))
    assert np.full(30, 0.1).std() > 0  # what a deviation of 0 is, rounded
    taken = problem(task())._order[:30]
    x[np.setdiff1d(np.arange(N), taken), 1] = 0.3
    made = problem(task(standardize=True))
    np.testing.assert_allclose(made.train(30).x[:, 1], 0, atol=1e-15)
    np.testing.assert_allclose(made.test_inputs(30)[:, 1], 0.2)


def covariance(x):
    centred = x - x.mean(axis=0)
    return centred.T @ centred / len(x)


def mixed(d, scales, divisor=1.0):
    """Points whose columns are correlated, with these standard deviations along random directions."""
    directions, _ = np.linalg.qr(RNG.standard_normal((d, d)))
    x = 5 + RNG.standard_normal((N, d)) * scales @ directions.T
    Held.contents = DataSetContents(LabelledPoints(x * divisor, RNG.standard_normal(N)), divisor=divisor)


@pytest.mark.parametrize("options", [{}, {"standardize": True}], ids=["raw", "standardized"])
def test_the_covariance_of_whitened_points_is_the_identity(options):
    mixed(6, np.array([3.0, 1.0, 1.0, 0.5, 0.3, 0.2]), divisor=255.0)
    made = problem(task(whiten="zca", **options))
    for n in (100, 250, 100):
        x = made.train(n).x
        np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(covariance(x), np.eye(6), atol=1e-10)
    test = covariance(made.test_inputs(250))
    assert 1e-3 < np.abs(test - np.eye(6)).max() < 1  # they were not fitted to


def test_whitening_changes_points_as_little_as_can_be():
    """The map is symmetric with positive eigenvalues, and so stays near the point: no rotation is put on top."""
    mixed(4, np.array([2.0, 1.0, 0.7, 0.5]))
    raw, white = problem(task()).train(200).x, problem(task(whiten="zca")).train(200).x
    matrix, *_ = np.linalg.lstsq(raw - raw.mean(axis=0), white, rcond=None)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-10)
    assert np.linalg.eigvalsh(matrix).min() > 0


def test_what_hardly_varies_is_not_blown_up():
    """Along a direction of variance v below the floor f the whitened variance is v / f."""
    mixed(5, np.array([1.0, 1.0, 1.0, 1e-2, 0.0]))
    raw, white = problem(task()).train(200).x, problem(task(whiten="zca")).train(200).x
    variances = np.linalg.eigvalsh(covariance(raw))
    expected = np.minimum(1, variances / (1e-3 * variances.mean()))
    np.testing.assert_allclose(np.linalg.eigvalsh(covariance(white)), np.sort(expected), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("counts", [[70, 20, 10], [100] * 10, [2, 500, 3, 3], [1] * 30 + [300], [5], [0, 4, 4]])
def test_every_first_n_points_have_each_classs_share_to_less_than_one_point(counts):
    counts = np.array(counts)
    whose = class_order(counts, np.random.default_rng(1))
    assert np.bincount(whose, minlength=len(counts)).tolist() == counts.tolist()
    seen = np.cumsum(whose[:, None] == np.arange(len(counts)), axis=0)
    shares = np.arange(1, len(whose) + 1)[:, None] * counts / counts.sum()
    assert np.abs(seen - shares).max() < 1


def test_stratified_samples_are_random_nested_and_have_the_shares_of_the_pool():
    made = DataTask("w", Wine(stratify=True), labels=Clean())
    first = made.problem(0, 13, 0, 40)
    pool = np.bincount(first.train(138).y.astype(int))
    for n in (3, 10, 37, 100):
        assert np.abs(np.bincount(first.train(n).y.astype(int), minlength=3) - n * pool / 138).max() < 1
    assert np.abs(np.bincount(first.test_y.astype(int)) - 40 * np.array([59, 71, 48]) / 178).max() < 1
    assert not np.array_equal(first.train(20).x, made.problem(0, 13, 1, 40).train(20).x)


def test_real_values_have_no_shares_to_keep(tmp_path):
    words = "stratify needs classes, and the data have real values; leave it out"
    assert task(stratify=True).check(D) == words
    np.savez(tmp_path / "a.npz", x=Held.contents.points.x, y=np.arange(N) % 2)
    made, said = (
        DataTask("t", Npz(path=str(tmp_path / "a.npz"), stratify=True, classes=classes), labels=Clean())
        for classes in (None, True)
    )
    assert made.check(D) == f"{words}, or set classes = true if they are names of classes"
    assert said.check(D) is None


def test_flipped_labels_are_wrong_in_training_alone():
    """That each other class is as likely, test_labels.py shows."""
    tasks = [DataTask("t", Digits(), labels=labels) for labels in (Clean(), Flip(rate=0.3))]
    clean, flipped = (task.problem(0, 64, 0, 40) for task in tasks)
    right, made = clean.train(1300), flipped.train(1300)
    np.testing.assert_array_equal(right.x, made.x)
    assert abs(np.mean(made.y != right.y) - 0.3) < 5 * np.sqrt(0.21 / 1300)
    assert set(made.y.tolist()) == set(range(10))
    np.testing.assert_array_equal(clean.test_y, flipped.test_y)


def test_two_classes_are_minus_1_and_1():
    Held.contents = DataSetContents(
        LabelledPoints(RNG.standard_normal((N, D)), np.arange(N) % 2), classes=("no", "yes")
    )
    made = task()
    assert (made.kind, made.classes) == ("binary", 0)
    order = problem(made)._order[:100]
    np.testing.assert_array_equal(problem(made).train(100).y, np.where(order % 2, 1.0, -1.0))


def test_other_contents_are_another_task_and_another_path_is_not():
    here, there = task(path="/a/x.npz").identity(), task(path="/b/y.npz").identity()
    assert here == there
    moved = task(path="/b/y.npz")
    np.testing.assert_array_equal(problem(task(path="/a/x.npz")).train(50).x, problem(moved).train(50).x)
    x = Held.contents.points.x.copy()
    x[-1, -1] += 1e-9
    Held.contents = DataSetContents(LabelledPoints(x, Held.contents.points.y))
    assert task(path="/a/x.npz").identity() != here


X, Y = RNG.integers(0, 4, (N, 4)).astype(np.uint8), np.arange(N) % 3
CHANGES = {
    "y": {"points": LabelledPoints(X, np.r_[1, Y[1:]])},
    "dtype": {"points": LabelledPoints(X.astype(np.uint16), Y)},
    "test": {"test": LabelledPoints(X, Y)},
    "classes": {"classes": ("a", "b", "d")},
    "shape": {"shape": (4, 1, 1)},
    "divisor": {"divisor": 2.0},
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_learners_see_is_in_the_name_of_the_contents(change):
    one = DataSetContents(LabelledPoints(X, Y), classes=("a", "b", "c"), shape=(1, 2, 2))
    names = set()
    for contents in (one, replace(one, **CHANGES[change])):
        Held.contents = contents
        names.add(task().contents_digest)
    assert len(names) == 2


def test_a_task_is_sent_without_its_points_and_loads_the_same_ones():
    planned = task(unlabeled=3)
    assert len(pickle.dumps(planned)) < 2000 < planned.contents.points.x.nbytes
    sent = pickle.loads(pickle.dumps(planned))
    assert set(vars(sent)) == {field.name for field in fields(DataTask)}
    assert sent == replace(planned, digest=planned.contents_digest)
    np.testing.assert_array_equal(sent.contents.points.x, planned.contents.points.x)


def test_data_that_change_after_planning_are_one_clear_error_and_those_planned_next_are_read(monkeypatch):
    planned = task()
    later = DataTask("t", Held(), labels=Clean(), digest=planned.contents_digest)
    assert len(later.contents.points) == N
    Held.contents = rows_as_points(N + 1)
    changed = DataTask("t", Held(), labels=Clean(), digest=task().contents_digest)
    assert len(changed.contents.points) == N + 1  # not those that this process has read before
    with pytest.raises(UsageError, match=r"task 't': data 'held': the data have changed since the run was planned"):
        _ = DataTask("t", Held(standardize=True), labels=Clean(), digest=planned.contents_digest).contents


def wrong(x=None, y=None, **fields):
    return lambda: DataSetContents(
        LabelledPoints(RNG.standard_normal((N, D)) if x is None else x, RNG.standard_normal(N) if y is None else y),
        **fields,
    )


def with_nan(shape, at):
    values = RNG.standard_normal(shape)
    values[at] = np.nan
    return values


BAD = {
    "nan": (
        wrong(x=with_nan((N, D), (5, 2)), columns=("a", "b", "c")),
        "x must be finite. Got nan in row 5, column 'c'",
    ),
    "nan-y": (wrong(y=with_nan(N, 7)), "y must be finite. Got nan in row 7"),
    "objects": (wrong(x=np.full((N, D), "a", dtype=object)), "x must hold numbers. Got dtype object"),
    "shape": (wrong(x=np.ones((N, D, 1))), "x must have shape (N, d)"),
    "constant": (wrong(y=np.ones(N)), "all values to be learned are 1"),
    "few": (wrong(y=np.arange(N) == 0, classes=("a", "b")), "each class needs 2 points or more; 'b' has 1"),
    "class": (wrong(y=np.arange(N) * 10**12, classes=("a", "b")), "y must hold numbers of classes, 0 ... 1"),
    "image": (wrong(shape=(1, 2, 2)), "shape must be (channels, height, width) of the 3 columns. Got (1, 2, 2)"),
    "test": (wrong(test=LabelledPoints(np.ones((5, 2)), np.arange(5.0))), "x has 3 columns and test x has 2"),
    "groups": (wrong(groups=np.arange(3)), "groups must be a finite number for each of the points"),
    "times": (wrong(times=np.full(N, np.inf)), "times must be a finite number for each of the points"),
    "tested": (
        wrong(times=np.arange(N), test=LabelledPoints(np.ones((5, D)), np.arange(5.0))),
        "times must be a finite number for each of the points, and there is no test part",
    ),
    "nothing": (lambda: None, "load must return DataSetContents. Got NoneType"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_learned_from_is_one_line_that_names_task_and_place(name):
    make, expected = BAD[name]
    Held.contents = make()
    with pytest.raises(UsageError) as caught:
        _ = task("mine").contents
    assert str(caught.value).startswith("task 'mine': data 'held'")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


class Raises(Held):
    def load(self):
        raise KeyError("a column of theirs")


def test_a_data_set_of_others_that_raises_is_named():
    with pytest.raises(UsageError, match=r"task 'mine': data 'held': load raised KeyError: 'a column of theirs'"):
        _ = DataTask("mine", Raises(), labels=Clean()).contents


def test_sizes_and_test_sizes_beyond_the_data_have_a_reason():
    made = task(unlabeled=20)
    assert made.check_size(280, 100) is None
    assert made.check_size(281, 100) == (
        "n must be at most 280: there are 300 points to train on beside 100 to test on, "
        "20 of which are offered without labels"
    )
    assert "at most 398" in task(test_size=399).check(D)
    assert "d must be 3" in made.check(4)
    with pytest.raises(UsageError, match="n must be at most 280"):
        problem(made).train(281)


def test_tasks_of_one_order_of_points_are_paired():
    first, second = task("a"), task("b", labels=None, teacher="a")
    assert second.check_teacher(first) is None
    np.testing.assert_array_equal(problem(first).train(50).x, problem(second).train(50).x)
    np.testing.assert_array_equal(problem(first).test_inputs(50), problem(second).test_inputs(50))
    assert "same data" in task("c", standardize=True).check_teacher(first)
