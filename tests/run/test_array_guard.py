"""Learners are lent copies: one that changes them is found out, and nobody else's numbers change."""

import ctypes

import numpy as np
import pytest
from small_tasks import SMALL
from stored_rows import read_results

from bfc_bench import RunOptions, run_suite
from bfc_bench.run.array_guard import guarded_copy, is_unchanged

KINDS = ["numpy", "torch", "jax"]
CHANGED = {"x": "inputs", "y": "labels", "test": "test inputs", "test-in-hidden": "test inputs"}

TASK = {**SMALL, "unlabeled": 30}


def numbers(rows):
    return {(row.label, row.n): (row.status, row.nmse, row.train_nmse, row.dtype, row.part_errors) for row in rows}


@pytest.mark.parametrize("name", ["vandal", "vandal-torch", "vandal-jax"])
def test_a_learner_that_changes_its_arrays_fails_and_harms_nobody(name, faulty, suite_file, tmp_path, rows_of):
    honest = [{"name": "linear-ridge"}, {"name": "mean"}, {"name": "together", "options": {"how": "raise", "at": 5}}]
    vandals = [
        {"name": name, "label": f"{what}:{together}", "options": {"what": what, "together": together}}
        for what in CHANGED
        for together in (True, False)
    ]
    expected = numbers(rows_of(name="alone", learner=honest))
    beside = suite_file(name="alone", learner=[*vandals, *honest])
    session = run_suite(beside, RunOptions(store=tmp_path / "b", executor="serial"))
    rows = read_results(beside, store=tmp_path / "b")
    found = numbers(rows)
    assert {key: found[key] for key in expected} == expected
    assert session.exit_code == 1
    for row in rows:
        if row.learner == name:
            what, _, spared = row.reason.removeprefix(f"{name} has changed arrays that it was given: ").partition(". ")
            assert row.status == ("failed" if row.n == 20 else "ok"), row
            assert (CHANGED[row.label.partition(":")[0]] in what.split(" and ")) == (row.n == 20), row.reason
            assert spared == ("Copy an array before you change it." if row.n == 20 else "")


def test_facts_of_the_context_are_each_fits_own(faulty, rows_of, tmp_path):
    learners = [
        {"name": "vandal", "options": {"what": "square_mean"}},
        {"name": "spy", "options": {"path": str(tmp_path)}},
    ]
    assert {row.status for row in rows_of(learner=learners)} == {"ok"}
    assert all((np.load(file)["square_mean"] == 1).all() for file in tmp_path.glob("*.npz"))


def test_a_prediction_is_kept_though_its_memory_is_written_again(faulty, rows_of):
    errors = {(row.label, row.n): row.nmse for row in rows_of(learner=[{"name": "forgetful"}, {"name": "mean"}])}
    assert all(errors["forgetful", n] == errors["mean", n] for n in (10, 20))


def test_no_learner_is_lent_a_number_beyond_its_own_points(faulty, rows_of, tmp_path):
    names = ["borrower", "borrower-torch", "borrower-jax"]
    learners = [
        {"name": name, "options": {"path": str(tmp_path / name)}, "tune": {"shift": [0.0, 1.0]}} for name in names
    ]
    assert {row.status for row in rows_of(learner=learners, task=[TASK])} == {"ok"}
    points = {"inputs": (8, 10, 16, 20), "unlabeled": (30,), "predicted": (2, 4, 10, 20, 200)}
    own = {(what, 4 * m) for what in points for m in points[what]}
    own |= {("labels", m) for m in points["inputs"]} | {("square_mean", 4)}
    for name in names:
        lent = [line.split() for line in (tmp_path / name).read_text().splitlines()]
        assert {(what, int(size)) for what, size, _ in lent} == own
        assert [(what, size) for what, size, _ in lent] == [(what, reached) for what, _, reached in lent]


@pytest.mark.parametrize("value", [np.nan, -0.0, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_every_bit_of_a_loan_is_compared(kind, value):
    mine = np.zeros((4, 2))
    labels = np.array([np.nan, 0.1])  # no number of float32, which JAX takes here
    assert is_unchanged(labels, guarded_copy(labels, kind, "cpu"), kind)
    lent = guarded_copy(mine, kind, "cpu")
    memory = np.asarray(lent)
    assert is_unchanged(mine, lent, kind)
    changed = memory.copy()
    changed[2, 1] = value
    ctypes.memmove(memory.ctypes.data, changed.ctypes.data, changed.nbytes)
    assert not is_unchanged(mine, lent, kind)
