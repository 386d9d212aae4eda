"""What is remembered of scikit-learn is what it says, and needs no import of it."""

import json
import sys

import pytest
from waiting import completed

ESTIMATORS = {
    "linear_model.Ridge": {"alpha": 0.5},
    "neural_network.MLPRegressor": {},  # a default is a tuple
    "make_pipeline": {
        "steps": ["sklearn:preprocessing.StandardScaler", {"name": "sklearn:svm.SVC", "options": {"C": 10.0}}],
        "svc__gamma": 0.1,
    },
    "multioutput.MultiOutputRegressor": {"estimator": "sklearn:linear_model.Ridge"},  # an option has no default
}
ASK = """
import json, sys
from bfc_plugins.sklearn_estimator import SklearnEstimator
said = {}
for path, options in json.loads(sys.argv[1]).items():
    made = SklearnEstimator.variant(path)
    learner = made.parse(options, "suite")
    said[path] = {
        "options": repr(sorted(learner.options().items())),
        "changed": repr(sorted(learner.changed().items())),
        "labels": sorted(made.capabilities.labels),
        "kinds": sorted(learner.kinds),
        "name": made.__name__,
    }
print(json.dumps({"said": said, "imported": "sklearn" in sys.modules}))
"""
RIDGE = {"linear_model.Ridge": {"alpha": 2.0}}


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """What a new process says of estimators."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def answer(estimators):
        command = [sys.executable, "-c", ASK, json.dumps(estimators)]
        done = completed(command, timeout=120)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip().splitlines()[-1]

    return answer


def test_the_second_time_nothing_is_imported_and_the_same_is_said(ask):
    first, second = ask(ESTIMATORS), ask(ESTIMATORS)
    assert first["imported"]
    assert not second["imported"]
    assert first["said"] == second["said"]


def test_what_is_wrong_is_said_each_time(ask):
    wrong = {"linear_model.Ridge": {"alpha": -5}}
    first = ask(wrong)
    assert isinstance(first, str)
    assert "UsageError" in first
    assert ask(wrong) == first


def test_a_file_that_is_something_else_is_not_believed(ask, tmp_path):
    expected = ask(RIDGE)
    files = list((tmp_path / "cache").glob("bfc-bench/scikit-learn-*/*"))
    assert len(files) == 2
    for content in ("garbage [", "((1, 2), 3)"):
        for file in files:
            file.write_text(content)
        assert ask(RIDGE) == expected
