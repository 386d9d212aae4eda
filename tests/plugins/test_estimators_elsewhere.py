"""Estimators of any package by ``module:Class``: what they need, their options, seeds, labels and errors."""

import importlib
import pickle
import sys

import numpy as np
import pytest
from bfc_plugins import sklearn_objects

from bfc_bench import load_learner
from bfc_bench.errors import UsageError
from bfc_bench.learner import Context, Data
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.testing.subjects import find

MODULE = """
import numpy as np
from sklearn.base import BaseEstimator


class Plain:
    # No more than what is needed. As CatBoost's, it names only the parameters that were given.
    def __init__(self, shift=None, random_state=None, threads=4):
        self.shift, self.random_state, self.threads = shift, random_state, threads

    def get_params(self, deep=True):
        return {name: value for name, value in vars(self).items() if name != "mean" and value is not None}

    def fit(self, x, y):
        self.mean = float(y.mean())
        return self

    def predict(self, x):
        value = self.mean + (self.shift or 0) + 1000 * self.threads + 1e-6 * self.random_state
        return np.full((len(x), 1), value)


class Base(BaseEstimator):
    def __init__(self, depth=2, **others):
        self.depth, self.others = depth, others

    def get_params(self, deep=True):
        return {"depth": self.depth, **self.others}


class Nearest(Base):
    # As XGBoost's: the base has more parameters, others go through, classes must be 0, 1, ... without gaps.
    def __init__(self, *, scale=1.0, **others):
        super().__init__(**others)
        self.scale = scale

    def set_params(self, **values):
        self.others |= values

    def fit(self, x, y):
        assert np.array_equal(np.unique(y), np.arange(len(np.unique(y)))), y
        self.x_, self.y_ = x, y

    def predict(self, x):
        return self.y_[((x[:, None] - self.x_) ** 2).sum(2).argmin(1)]

    def predict_proba(self, x):
        return np.eye(self.y_.max() + 1)[self.predict(x)]
"""
X = np.random.default_rng(0).standard_normal((30, 2))


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """A package ``elsewhere`` with a module ``models``, and one that cannot be imported."""
    folder = tmp_path / "path" / "elsewhere"
    folder.mkdir(parents=True)
    files = {"__init__": "", "models": MODULE, "broken": "1 / 0"}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setattr(sklearn_objects, "SETTINGS", {"elsewhere": {"threads": 1}})
    yield folder
    importlib.import_module("bfc_plugins.sklearn_estimator")._variant.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "elsewhere"]:
        del sys.modules[name]


def fitted(name, data, seed=7, **options):
    return load_learner(name, **options).fit(data, Context(seed=seed)).predict(data.x)


def test_what_has_three_methods_is_a_learner_of_numbers_with_the_cells_seed_and_one_thread():
    data = Data(sample="s", n=30, d=2, x=X, y=X[:, 0])
    learner = load_plugins().learner("elsewhere.models:Plain")
    assert learner.capabilities.labels == {"real"}
    mean = X[:, 0].mean()
    assert fitted(learner.name, data) == pytest.approx(np.full(30, mean + 1000 + 7e-6), abs=1e-9)
    given = {"shift": 0.5, "random_state": 3, "threads": 2}
    assert fitted(learner.name, data, **given) == pytest.approx(np.full(30, mean + 2000.5 + 3e-6), abs=1e-9)


@pytest.mark.parametrize(("kind", "labels"), [("binary", [-1.0, 1.0]), ("class", [0.0, 2.0])])
def test_a_classifier_is_given_numbers_without_gaps_and_answers_with_the_labels(kind, labels):
    y = np.where(X[:, 0] > 0, labels[1], labels[0])
    data = Data(sample="s", n=30, d=2, kind=kind, classes=3 if kind == "class" else 0, x=X, y=y)
    pipeline = {"steps": ["sklearn:preprocessing.StandardScaler", {"name": "elsewhere.models:Nearest"}]}
    for name, options in (("elsewhere.models:Nearest", {}), ("sklearn:make_pipeline", pipeline)):
        predictor = load_learner(name, **options).fit(data, Context())
        expected = y if kind == "binary" else np.eye(3)[y.astype(int)]
        assert np.array_equal(predictor.predict(X), expected)
        assert np.array_equal(predictor.probabilities(X), y == 1 if kind == "binary" else expected)


def test_options_are_those_of_the_bases_too_and_any_other_that_is_no_misspelling():
    learner = load_learner("elsewhere.models:Nearest", depth=3, bins=9)
    assert learner.options() == {"with_squares": False, "scale": 1.0, "depth": 3, "bins": 9}
    assert learner.changed() == {"depth": 3, "bins": 9}
    for name, options, near in (("Nearest", {"dephth": 3}, "depth"), ("Plain", {"shfit": 1}, "shift")):
        with pytest.raises(UsageError, match=f"^learner [^:]*:{name}': unknown option .*Did you mean '{near}'"):
            load_learner(f"elsewhere.models:{name}", **options)


def test_a_default_of_nan_is_no_change(package):
    (package / "models.py").write_text(MODULE.replace("depth=2", "missing=float('nan'), depth=2"))
    assert load_learner("elsewhere.models:Nearest").changed() == {}


def test_nothing_is_remembered_of_a_module_that_may_change(package):
    assert "depth" in load_learner("elsewhere.models:Nearest").options()
    importlib.import_module("bfc_plugins.sklearn_estimator")._variant.cache_clear()
    (package / "models.py").write_text(MODULE.replace("depth", "levels"))
    del sys.modules["elsewhere.models"]
    importlib.invalidate_caches()
    assert "levels" in load_learner("elsewhere.models:Nearest").options()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere:Model", "nowhere:Model: no package 'nowhere' is installed here"),
        ("elsewhere.models:Plian", "elsewhere.models has no 'Plian'. Did you mean 'Plain'?"),
        ("bfc_bench:Learner", "classifier: it lacks predict, get_params. A learner of bfc_bench must be in a plugin"),
        ("elsewhere.broken:Model", "'elsewhere.broken' cannot be imported: ZeroDivisionError: division by zero."),
        ("elsewhere.absent:Model", "module 'elsewhere.absent' cannot be imported: ModuleNotFoundError"),
        ("elsewhere.models.Plain", "unknown learner 'elsewhere.models.Plain'. Did you mean 'elsewhere.models:Plain'?"),
        ("sklearn:elsewhere.Plain", "has no module 'elsewhere'; a class of another package is elsewhere:Plain."),
        ("sklearn.linear_model:Ridge", "sklearn.linear_model:Ridge: write sklearn:linear_model.Ridge."),
        ("sklaern:linear_model.Ridge", "unknown learner 'sklaern'. Did you mean 'sklearn'?"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(name, words):
    with pytest.raises(UsageError) as caught:
        load_plugins().learner(name)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_it_is_pickled_by_its_path():
    for name in ("elsewhere.models:Nearest", "ensemble:elsewhere.models:Nearest"):
        learner = load_learner(name, depth=3)
        again = pickle.loads(pickle.dumps(learner))
        assert (again, type(again)) == (learner, type(learner))


def test_a_suite_tunes_it_the_command_line_adds_it_and_check_finds_it(suite_file, rows_of, tmp_path, printed):
    name = "elsewhere.models:Plain"
    rows = rows_of(learner=[{"name": name, "tune": {"shift": [0.0, -1000.0]}}])
    assert {row.chosen["tuned"]["shift"] for row in rows} == {-1000.0}
    suite = suite_file(learner=[{"name": "sklearn:linear_model.Ridge"}])
    printed("run", suite, "--learner", name, "--store", tmp_path / "store", "--executor", "serial")
    assert "elsewhere.models:Plain  learner of bfc-bench:builtin" in printed("show", name)
    (learner,) = find(name)
    assert learner is load_plugins().learner(name)
