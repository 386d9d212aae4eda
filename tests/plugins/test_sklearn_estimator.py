"""scikit-learn estimators by import path: options, errors, seeds, copies."""

import copy
import pickle

import numpy as np
import pytest
from bfc_plugins.sklearn_estimator import SklearnEstimator
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from bfc_bench.errors import UsageError
from bfc_bench.learner import Context, Data

LAW = Context(seed=7, square_mean=np.ones(4))


def sample(n: int = 80) -> Data:
    x = np.random.default_rng(0).uniform(-(3**0.5), 3**0.5, (n, 4))
    return Data(sample="s", n=n, d=4, x=x, y=x[:, 0] ** 2 + x[:, 1])


def test_options_are_the_constructor_parameters_with_their_defaults():
    learner = SklearnEstimator.variant("linear_model.Ridge")(alpha=0.5)
    assert learner.name == "sklearn:linear_model.Ridge"
    assert learner.options() == {"with_squares": True, **Ridge(alpha=0.5).get_params()}


@pytest.mark.parametrize("squares", [True, False])
def test_fits_what_scikit_learn_fits(squares):
    data = sample()
    learner = SklearnEstimator.variant("linear_model.Ridge").parse({"alpha": 2.0, "with_squares": squares}, "suite")
    features = np.hstack([data.x, data.x**2 - 1]) if squares else data.x
    expected = Ridge(alpha=2.0).fit(features, data.y).predict(features)
    assert np.array_equal(learner.fit(data, LAW).predict(data.x), expected)


def test_the_seed_is_the_contexts_unless_given():
    data = sample()
    forest = SklearnEstimator.variant("ensemble.RandomForestRegressor")
    features = np.hstack([data.x, data.x**2 - 1])
    for options, seed in (({}, 7), ({"random_state": 3}, 3)):
        expected = RandomForestRegressor(n_estimators=4, random_state=seed).fit(features, data.y).predict(features)
        assert np.array_equal(forest(n_estimators=4, **options).fit(data, LAW).predict(data.x), expected)


def test_kind_decides_the_labels():
    assert SklearnEstimator.variant("linear_model.Ridge").capabilities.labels == {"real"}
    classifier = SklearnEstimator.variant("svm.SVC")
    assert classifier.capabilities.labels == {"binary", "class"}
    data = sample()
    signs = Data(sample="s", n=80, d=4, kind="binary", x=data.x, y=np.where(data.y > 1, 1.0, -1.0))
    predictions = classifier().fit(signs, LAW).predict(data.x)
    assert set(predictions) == {-1.0, 1.0}
    expected = SVC().fit(np.hstack([data.x, data.x**2 - 1]), signs.y).predict(np.hstack([data.x, data.x**2 - 1]))
    assert np.array_equal(predictions, expected)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("linear_model.Rigde", "sklearn.linear_model has no 'Rigde'. Did you mean 'Ridge'"),
        ("linear_models.Ridge", "no module 'linear_models'. Did you mean 'linear_model'"),
        ("Ridge", "must be sklearn:module.Class, for example sklearn:linear_model.Ridge"),
        ("decomposition.PCA", "must be a regressor or a classifier; it is neither"),
        ("linear_model.nothing.Ridge", "cannot be imported"),
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
        ("linear_model.Ridge", {"alpah": 1}, "suite: unknown option 'alpah'. Did you mean 'alpha'"),
        ("ensemble.VotingRegressor", {}, "suite: estimators is required and missing"),
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
        ("neural_network.MLPRegressor", {"hidden_layer_sizes": [3], "with_squares": False}),
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
