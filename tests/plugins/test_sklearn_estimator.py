"""scikit-learn estimators by import path: options, errors, seeds, copies."""

import copy
import pickle

import numpy as np
import pytest
from bfc_plugins.sklearn_estimator import SklearnEstimator
from sklearn import svm
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bfc_bench.errors import UsageError
from bfc_bench.learner import Context, Data, TaskFacts

SCALER = "sklearn:preprocessing.StandardScaler"
SVR = {"name": "sklearn:svm.SVR", "options": {"C": 10.0}}
LAW = Context(seed=7, square_mean=np.ones(4))


def sample(n=80):
    x = np.random.default_rng(0).uniform(-(3**0.5), 3**0.5, (n, 4))
    return Data(sample="s", n=n, d=4, x=x, y=x[:, 0] ** 2 + x[:, 1])


def test_options_are_the_constructor_parameters_with_their_defaults():
    learner = SklearnEstimator.variant("linear_model.Ridge")(alpha=0.5)
    assert learner.name == "sklearn:linear_model.Ridge"
    assert learner.options() == {"with_squares": False, **Ridge(alpha=0.5).get_params()}
    assert SklearnEstimator.variant("linear_model.Ridge")(frame=True).options()["frame"] is True


@pytest.mark.parametrize("squares", [True, False])
def test_fits_what_scikit_learn_fits(squares):
    data = sample()
    learner = SklearnEstimator.variant("linear_model.Ridge").parse({"alpha": 2.0, "with_squares": squares}, "suite")
    features = np.hstack([data.x, data.x**2 - 1]) if squares else data.x
    expected = Ridge(alpha=2.0).fit(features, data.y).predict(features)
    assert np.array_equal(learner.fit(data, LAW).predict(data.x), expected)


@pytest.mark.parametrize(("options", "seed"), [({}, 7), ({"random_state": 3}, 3)])
def test_the_seed_is_the_contexts_unless_given_also_that_of_a_part(options, seed):
    data, options = sample(), {"n_estimators": 4, **options}
    expected = RandomForestRegressor(n_estimators=4, random_state=seed).fit(data.x, data.y).predict(data.x)
    forest = SklearnEstimator.variant("ensemble.RandomForestRegressor")(**options)
    part = {"name": "sklearn:ensemble.RandomForestRegressor", "options": options}
    for learner in (forest, SklearnEstimator.variant("make_pipeline")(steps=["sklearn:impute.SimpleImputer", part])):
        assert np.array_equal(learner.fit(data, LAW).predict(data.x), expected)


def test_kind_decides_the_labels():
    assert SklearnEstimator.variant("linear_model.Ridge").capabilities.labels == {"real"}
    classifier = SklearnEstimator.variant("svm.SVC")
    assert classifier.capabilities.labels == {"binary", "class"}
    data = sample()
    signs = Data(sample="s", n=80, d=4, kind="binary", x=data.x, y=np.where(data.y > 1, 1.0, -1.0))
    predictions = classifier().fit(signs, LAW).predict(data.x)
    assert set(predictions) == {-1.0, 1.0}
    assert np.array_equal(predictions, SVC().fit(data.x, signs.y).predict(data.x))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("linear_model.Rigde", "sklearn.linear_model has no 'Rigde'. Did you mean 'Ridge'"),
        ("Ridge", "must be sklearn:module.Class, for example sklearn:linear_model.Ridge"),
        ("decomposition.PCA", "sklearn:decomposition.PCA is neither a regressor nor a classifier: it lacks predict."),
        ("linear_model.__doc__", "has no '__doc__'"),
    ],
)
def test_unknown_paths(path, words):
    with pytest.raises(UsageError) as caught:
        SklearnEstimator.variant(path)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        ("linear_model.Ridge", {"alpha": -5}, "suite: The 'alpha' parameter of Ridge must be a float in the"),
        ("make_pipeline", {"steps": [SCALER]}, "suite: must end in a regressor or a classifier"),
        ("cluster.KMeans", {}, "suite: must end in a regressor or a classifier. Got KMeans"),
        ("make_pipeline", {"steps": [SCALER, SVR], "svr__D": 3}, "unknown option 'svr__D'. Did you mean 'svr__C'"),
    ],
)
def test_wrong_options(path, options, words):
    with pytest.raises(UsageError) as caught:
        SklearnEstimator.variant(path).parse(options, "suite")
    assert words in str(caught.value)


def test_the_scheme_alone_is_no_learner():
    with pytest.raises(UsageError, match=r"name an estimator: sklearn:module\.Class"):
        SklearnEstimator.parse({}, "suite")


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("linear_model.Ridge", {"alpha": 0.5}),
        ("cross_decomposition.PLSRegression", {"copy": False}),  # a name that pydantic's models have too
        ("neural_network.MLPRegressor", {"hidden_layer_sizes": [3], "with_squares": True}),
        ("make_pipeline", {"steps": [SCALER, SVR], "svr__epsilon": 0.2}),
    ],
)
def test_copies_and_pickles(path, options):
    learner = SklearnEstimator.variant(path).parse(options, "suite")
    assert options.items() <= learner.options().items()
    assert SklearnEstimator.variant(path) is type(learner)
    for clone in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        assert clone == learner
        assert type(clone) is type(learner)
        assert clone.model_fields_set == learner.model_fields_set


def test_pipelines_and_what_is_made_of_estimators():
    data = sample()

    def predictions(path, **options):
        return SklearnEstimator.variant(path).parse(options, "suite").fit(data, LAW).predict(data.x)

    scaled = make_pipeline(StandardScaler(), svm.SVR(C=10.0, epsilon=0.2)).fit(data.x, data.y)
    for path, steps in (
        ("make_pipeline", [SCALER, SVR]),
        ("pipeline.make_pipeline", [SCALER, SVR]),
        ("pipeline.Pipeline", [["scale", SCALER], ["svr", SVR]]),
    ):
        assert np.array_equal(predictions(path, steps=steps, svr__epsilon=0.2), scaled.predict(data.x))
    votes = [["svr", SVR], ["ridge", "sklearn:linear_model.Ridge"]]
    expected = (svm.SVR(C=10.0).fit(data.x, data.y).predict(data.x) + Ridge().fit(data.x, data.y).predict(data.x)) / 2
    assert np.allclose(predictions("ensemble.VotingRegressor", estimators=votes), expected)
    search = predictions("model_selection.GridSearchCV", estimator=SVR, param_grid={"C": [1e-3, 10.0]})
    assert np.array_equal(search, svm.SVR(C=10.0).fit(data.x, data.y).predict(data.x))


def test_a_pipeline_fits_what_its_last_part_fits():
    facts = {"name": "t", "inputs": "gaussian", "target": "t", "labels": "sign", "d": 4, "unlabeled": 0}
    pipeline = SklearnEstimator.variant("make_pipeline")
    assert pipeline.capabilities.labels == {"real", "binary", "class"}
    values, classes = (pipeline(steps=[SCALER, name]) for name in ("sklearn:svm.SVR", "sklearn:svm.SVC"))
    assert values.skip(TaskFacts(**facts, kind="binary"), 10) == "fits real labels; these are binary"
    assert values.skip(TaskFacts(**facts, kind="real"), 10) is None
    assert classes.skip(TaskFacts(**facts, kind="class"), 10) is None
    assert "fits binary and class labels" in classes.skip(TaskFacts(**facts, kind="real"), 10)


def test_a_suite_can_tune_options_of_parts(rows_of):
    task = {"name": "cancer", "data": {"kind": "breast-cancer"}, "n": [100]}
    learner = {"name": "sklearn:make_pipeline", "options": {"steps": [SCALER, "sklearn:svm.SVC"]}}
    tune = {"svc__C": [1e-6, 10.0]}
    with pytest.raises(UsageError, match=r"tune: .*unknown option 'svc__WRONG'"):
        rows_of(task=[task], learner=[{**learner, "tune": {**tune, "svc__WRONG": [1.0]}}])
    (row,) = rows_of(task=[task], learner=[{**learner, "tune": tune}])
    assert row.status == "ok"
    assert row.chosen["tuned"] == {"svc__C": 10.0}
