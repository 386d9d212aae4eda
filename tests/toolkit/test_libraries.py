"""What is said where a library is not installed; ``tests/minimal`` runs where none of the three is."""

import logging
import pickle
from typing import ClassVar

import numpy as np
import pytest
from small_tasks import SPHERE

import bfc_bench as bb
from bfc_bench.cli.reference import find
from bfc_bench.errors import UsageError
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.grid import GridLearner
from bfc_bench.run.theories import SuiteTheories
from bfc_bench.run.work_units import import_parts
from bfc_bench.testing import check_learner
from bfc_bench.testing.global_state import global_state
from bfc_bench.toolkit import libraries, neural_tangents
from bfc_bench.toolkit.libraries import install_command

LEARNERS = [{"name": "ntk-raw", "options": {"ridge": 1e-6}}, {"name": "ntk-raw", "label": "b", "options": {"ridge": 1}}]
SUITE = {"name": "s", "task": [SPHERE], "learner": LEARNERS}


@pytest.fixture
def without(monkeypatch):
    """As if none of the three were installed."""
    real = libraries._problem
    absent = {"torch", "jax", "mlflow"}
    monkeypatch.setattr(
        libraries,
        "_problem",
        lambda name: f"it needs {name}: {install_command(name)}" if name in absent else real(name),
    )


def test_the_reference_says_so(without):
    plugins = load_plugins()
    [entry] = find(plugins, "kernel-ridge")
    assert entry.missing == "it needs torch: pip install 'bfc-bench[torch]'"
    assert entry.facts["needs"] == "scipy, torch"
    [entry] = find(plugins, "sklearn:linear_model.Ridge")
    assert entry.missing == ""


def test_no_theory_is_asked_of_a_learner_that_cannot_be_imported(without, monkeypatch, caplog):
    """It says so once for all its labels, tasks and dimensions."""
    plugins = load_plugins()
    monkeypatch.setattr(plugins.learner("ntk-raw"), "theory", lambda *_: pytest.fail("it was asked"))
    with caplog.at_level(logging.WARNING):
        theories = SuiteTheories(SUITE, plugins)
        assert not any(theories.get((task["name"], 4, label)) for task in SUITE["task"] for label in ("a", "ntk-raw"))
    assert caplog.messages == ["no theory is shown of ntk-raw: it needs torch: pip install 'bfc-bench[torch]'"]


def test_no_worker_loads_what_is_not_there(without, monkeypatch):
    loaded = []
    monkeypatch.setattr("bfc_bench.run.work_units.import_libraries", loaded.append)
    for name in ("kernel-ridge", "sklearn"):
        learner = load_plugins().learner(name).model_construct()
        import_parts([pickle.dumps(GridLearner("", learner, (), (), ()))])
    assert loaded == [frozenset()]


class Unused(bb.Learner):
    """No other test uses this learner."""

    name: ClassVar[str] = "unused"
    width: int = 3

    def fit(self, train, ctx):
        raise AssertionError("it is not fitted")


def test_what_pydantic_builds_at_first_use_is_built_before_workers_are_forked():
    sent = pickle.dumps(GridLearner("", Unused.model_construct(), (), (), ()))
    assert not Unused.__pydantic_complete__
    import_parts([sent])
    assert Unused.__pydantic_complete__


def test_estimators_and_the_conformance_kit_say_so(without):
    x = np.eye(6)
    with pytest.raises(UsageError, match="kernel-ridge cannot be fitted here: it needs torch"):
        bb.as_sklearn("kernel-ridge").fit(x, x[:, 0])
    with pytest.raises(AssertionError, match="the smoke options cannot be tested here: it needs torch"):
        check_learner(bb.load_learner("kernel-ridge"))
    assert set(global_state()) == {"random", "numpy.random"}


def test_another_release_of_neural_tangents_than_the_tested_one_is_not_used(monkeypatch):
    monkeypatch.setattr(libraries, "NEURAL_TANGENTS", "0.0.0")
    caches = neural_tangents.neural_tangents, libraries._problem
    for cached in caches:
        cached.cache_clear()
    with pytest.raises(UsageError, match=r"needs neural-tangents 0.0.0; 0.6.5 is installed: pip install --no-deps"):
        neural_tangents.neural_tangents()
    for cached in caches:
        cached.cache_clear()
