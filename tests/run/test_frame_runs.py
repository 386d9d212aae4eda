"""Learners that take frames and others on one table, run as cells."""

import numpy as np
import pandas as pd
import pytest

import bfc_bench as bb
from bfc_bench.errors import UsageError
from bfc_bench.learner import Column
from bfc_bench.run.array_guard import guarded_copy, is_unchanged

N = 160
pytestmark = pytest.mark.usefixtures("nowhere")
ONE_HOT = {"name": "sklearn:preprocessing.OneHotEncoder", "options": {"handle_unknown": "ignore"}}
PARTS = [["numbers", "sklearn:impute.SimpleImputer", ["size"]], ["texts", ONE_HOT, ["city"]]]
BY_COLUMN = {"name": "sklearn:compose.ColumnTransformer", "options": {"transformers": PARTS}}
STEPS = [BY_COLUMN, "sklearn:linear_model.LinearRegression"]
IMPUTER = {"name": "sklearn:make_pipeline", "label": "imputer", "options": {"steps": STEPS}}
LEARNERS = [
    {"name": "sklearn:ensemble.HistGradientBoostingRegressor", "label": "boosting", "options": {"min_samples_leaf": 3}},
    IMPUTER,
    {"name": "sklearn:linear_model.LinearRegression", "label": "linear"},
]


def made(missing="keep", learners=LEARNERS, **options):
    rng = np.random.default_rng(0)
    size, city = rng.standard_normal(N), rng.choice(["a", "b", "c"], N)
    frame = pd.DataFrame({"size": size, "city": city, "y": size + 3.0 * (city == "b")})
    frame.loc[rng.random(N) < 0.2, "size"] = np.nan
    task = bb.TaskEntry.from_arrays("t", frame, "y", n=[60], categorical="keep", missing=missing, **options)
    return bb.Suite(name="frames", replicates=3, task=[task], learner=learners)


def errors(suite, store):
    session = bb.run_suite(suite, bb.RunOptions(store=store, executor="serial"))
    assert set(session.statuses) == {"ok"}
    with bb.open_store(store) as suites:
        rows, labels = suites["frames"].rows(), [entry.label for entry in suite.learner]
    return {label: sorted(row.nmse for row in rows if row.label == label) for label in labels}


def test_learners_with_and_without_frames_have_results_on_one_table(tmp_path):
    found = errors(made(), tmp_path / "s")
    assert all(0 < error < 0.9 for values in found.values() for error in values)


def test_an_imputer_of_means_in_a_pipeline_is_what_the_option_mean_does(tmp_path):
    """Both fill by the mean of the training points and encode one-hot, so least squares gives equal errors."""
    by_option = errors(made("mean", LEARNERS[2:]), tmp_path / "a")["linear"]
    in_pipeline = errors(made("keep", [IMPUTER]), tmp_path / "b")["imputer"]
    np.testing.assert_allclose(by_option, in_pipeline, rtol=1e-9)


def test_which_estimators_take_frames():
    def takes(name, **options):
        return bb.load_learner(f"sklearn:{name}", **options).takes_frames()

    assert takes("ensemble.HistGradientBoostingClassifier")
    assert not takes("ensemble.HistGradientBoostingClassifier", frame=False)
    assert takes("make_pipeline", steps=STEPS)
    assert takes("pipeline.Pipeline", steps=[["columns", BY_COLUMN], ["line", STEPS[1]]])
    assert not takes("make_pipeline", steps=STEPS[1:])
    assert not takes("linear_model.Ridge")
    assert takes("ensemble.RandomForestRegressor", frame=True)
    with pytest.raises(UsageError):
        bb.load_learner("sklearn:linear_model.Ridge", frame=7)


COLUMNS = (Column("size"), Column("city", ("a", "b")))
CHANGES = {
    "a number": lambda frame: frame.__setitem__("size", 1.0),
    "a category": lambda frame: frame.__setitem__("city", frame.city.cat.codes),
    "a column": lambda frame: frame.pop("city"),
    "another column": lambda frame: frame.insert(0, "more", 1.0),
    "the order of rows": lambda frame: frame.__setitem__("size", frame["size"].to_numpy()[::-1].copy()),
}


@pytest.mark.parametrize("change", [None, *CHANGES])
def test_a_learner_that_changes_its_frame_is_noticed(change):
    x = np.array([[1.0, 0], [np.nan, 1], [3, np.nan]])
    frame = guarded_copy(x, "numpy", "cpu", COLUMNS)
    assert is_unchanged(x, frame, "numpy", COLUMNS)
    if change is not None:
        CHANGES[change](frame)
        try:
            unchanged = is_unchanged(x, frame, "numpy", COLUMNS)
        except Exception:  # the framework takes it for a change
            unchanged = False
        assert not unchanged
