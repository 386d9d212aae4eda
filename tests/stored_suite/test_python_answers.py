"""What Python users see: errors on one line, short texts and tables in notebooks."""

import re

import numpy as np
import pytest
from small_tasks import SMALL

import bfc_bench as bb
from bfc_bench import RunOptions, run_suite
from bfc_bench.run.plan import Plan

X, OBJECTS = np.eye(4), np.array(list("abab"), dtype=object)
KernelRidge = type(bb.load_learner("kernel-ridge"))
SHORT = 200
"""Most characters of a text that an interpreter shows of a result."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A finished run and its open results."""
    learners = [{"name": "kernel-ridge", "label": label, "tune": {}} for label in ("linear", "other")]
    suite = bb.Suite.parse({"name": "s", "test_size": 200, "task": [SMALL], "learner": learners}, "suite")
    folder = tmp_path_factory.mktemp("answers")
    session = run_suite(suite, RunOptions(store=folder / "store", executor="serial"))
    with bb.open_store(folder / "store") as results:
        yield suite, session, results.of(suite)


def test_texts_of_results_are_short_and_say_what_they_are(ran):
    suite, session, stored = ran
    assert repr(session).startswith(f"<run {session.id} of s@1 into ")
    assert repr(session).endswith(": 12 ok>")
    assert repr(suite) == "<suite s@1: 1 task, 2 learners, 3 replicates, 0 claims>"
    assert isinstance(session.plan, Plan)
    found = (
        stored.rows(),
        stored.curves(),
        stored.thresholds(),
        stored.compare("linear", "other"),
        bb.Decided([session]),
    )
    assert all(len(repr(value)) < SHORT for value in found)


def test_a_notebook_shows_every_result_as_html(ran):
    _, session, stored = ran
    assert "12 ok" in session._repr_html_()
    tables = (
        *(stored, stored.rows(), stored.curves(), stored.thresholds(), stored.claims(), stored.scaling_laws()),
        *(stored.compare("linear", "other"), stored.compare_thresholds("linear", "other"), bb.Decided([session])),
    )
    assert all("<table" in table._repr_html_() or "<div" in table._repr_html_() for table in tables)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda stored: bb.Suite(), "Suite: name, task and learner are required and missing."),
        (lambda stored: bb.LearnerEntry(label="x"), "LearnerEntry: name is required and missing."),
        (lambda stored: run_suite(None), "a suite must be a name, a path or a bfc_bench.Suite. Got NoneType."),
        (lambda stored: run_suite("s", {}), "options must be RunOptions(...). Got dict."),
        (lambda stored: run_suite("a.csv"), "a.csv is a table, not a suite."),
        (lambda stored: RunOptions(jobs=0), "jobs must be an integer of at least 1. Got 0."),
        (lambda stored: RunOptions(jobs="two"), "jobs must be an integer of at least 1. Got 'two'."),
        (lambda stored: RunOptions(learners="svm"), "learners must be a list of texts. Got 'svm'; write ['svm']"),
        (lambda stored: bb.Suite(name="a", task=[], learner=["svm"]), "learner[0] must be a table. Got 'svm'."),
        (lambda stored: bb.TaskEntry.from_arrays("mine", X, X[0], n=9), "a list of training sizes, such as [9]"),
        (lambda stored: bb.as_sklearn(KernelRidge), "takes a learner, not its class; write as_sklearn(KernelRidge())"),
        (lambda stored: RunOptions(redo=["faild"]), "redo must be a list of failed, killed, stale or all."),
        (lambda stored: stored.compare("linear", "lin"), "the results have no label 'lin'. Did you mean 'linear'?"),
        (lambda stored: stored.curves(stage="first"), "the results have no stage 'first'."),
        (lambda stored: stored.thresholds("0.1"), "levels must be a number or a list of numbers, such as [0.1, 0.01]."),
        (lambda stored: stored.joint_law("d", task="u"), "joint_law: the results have no task 'u'. Known: t."),
        (lambda stored: bb.as_sklearn("kernel-ridge").fit(X, list("abab")), "'a'; as_sklearn(..., classifier=True)"),
        (lambda stored: bb.as_sklearn("sequential-kernel").fit(X, OBJECTS), "must hold numbers. Got the text 'a'"),
    ],
)
def test_a_wrong_value_is_answered_on_one_line(ran, call, text):
    with pytest.raises(bb.UsageError, match=re.escape(text)) as error:
        call(ran[2])
    assert "\n" not in str(error.value)


def test_a_wrong_name_is_not_missing_too(ran):
    with pytest.raises(bb.UsageError) as error:
        bb.Suite(name="s", tasks=[], learner=[{"name": "mean"}])
    assert str(error.value) == "Suite: unknown option 'tasks'. Did you mean 'task'?"
