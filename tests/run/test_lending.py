"""Learners are lent copies: one that changes them is found out, and nobody else's numbers change."""

import numpy as np
import pytest

from bfc_bench import read_results, run_suite
from bfc_bench.run.lending import Loans

CHANGED = {"x": "inputs", "y": "labels", "test": "test inputs", "test-in-hidden": "test inputs"}


def numbers(rows):
    return {(row.label, row.n): (row.status, row.nmse, row.train_nmse, row.dtype, row.part_errors) for row in rows}


def test_a_learner_that_changes_its_arrays_fails_and_harms_nobody(faulty, suite_file, tmp_path):
    honest = [{"name": "linear-ridge"}, {"name": "mean"}, {"name": "together", "options": {"how": "raise", "at": 5}}]
    vandals = [
        {"name": "vandal", "label": f"{what}:{together}", "options": {"what": what, "together": together}}
        for what in CHANGED
        for together in (True, False)
    ]
    alone = suite_file(name="alone", learner=honest)
    run_suite(alone, store=tmp_path / "a", executor="serial")
    expected = numbers(read_results(alone, store=tmp_path / "a"))
    beside = suite_file(name="alone", learner=[*vandals, *honest])
    session = run_suite(beside, store=tmp_path / "b", executor="serial")
    rows = read_results(beside, store=tmp_path / "b")
    found = numbers(rows)
    assert {key: found[key] for key in expected} == expected
    assert session.exit_code == 1
    for row in rows:
        if row.learner == "vandal":
            what, _, spared = row.reason.removeprefix("vandal has changed arrays that it was lent: ").partition(". ")
            assert row.status == ("failed" if row.n == 20 else "ok"), row
            assert (CHANGED[row.label.partition(":")[0]] in what.split(" and ")) == (row.n == 20), row.reason
            assert spared == ("Copy what you change." if row.n == 20 else "")


def test_facts_of_the_context_are_each_fits_own(faulty, suite_file, tmp_path):
    learners = [
        {"name": "vandal", "options": {"what": "square_mean"}},
        {"name": "spy", "options": {"path": str(tmp_path)}},
    ]
    assert run_suite(suite_file(learner=learners), store=tmp_path / "s", executor="serial").exit_code == 0
    assert all((np.load(file)["square_mean"] == 1).all() for file in tmp_path.glob("*.npz"))


def test_a_prediction_is_kept_though_its_memory_is_written_again(faulty, suite_file, tmp_path):
    path = suite_file(learner=[{"name": "forgetful"}, {"name": "mean"}])
    run_suite(path, store=tmp_path / "s", executor="serial")
    errors = {(row.label, row.n): row.nmse for row in read_results(path, store=tmp_path / "s")}
    assert all(errors["forgetful", n] == errors["mean", n] for n in (10, 20))


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_a_loan_shows_its_own_points_only_and_is_shared_by_equals(kind):
    mine = np.random.default_rng(0).standard_normal((1024, 3))
    loans = Loans(kind, "cpu")
    lent = loans.lend("inputs", "s", mine[:10])
    assert lent is loans.lend("inputs", "s", mine[:10])
    assert lent is not loans.lend("inputs", "s", mine[:11])
    assert lent is not loans.lend("inputs", "t", mine[:10])
    np.testing.assert_array_equal(np.asarray(lent), mine[:10])
    if kind == "numpy":
        assert lent.base is None
        assert not lent.flags.writeable
    else:
        assert lent.untyped_storage().nbytes() == mine[:10].nbytes
    assert loans.changed() == []


@pytest.mark.parametrize("value", [np.nan, -0.0, 1.0])
def test_every_bit_of_a_loan_is_compared(value):
    mine = np.zeros((4, 2))
    loans = Loans("torch", "cpu")
    loans.lend("inputs", "s", mine)[2, 1] = value
    loans.lend("labels", "s", np.array([np.nan, 1.0]))
    assert loans.changed() == ["inputs"]
