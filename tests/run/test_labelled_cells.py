"""Cells on noisy and on binary labels: what is measured, and what a learner is told."""

import pytest
from small_tasks import SMALL, plan_from

from bfc_bench.run.work_units import CellFit

TARGET = {"kind": "lowrank-poly", "degree": 1, "form": "monomial"}
TASK = {**SMALL, "inputs": {"kind": "gaussian"}, "target": TARGET, "n": [400]}


def rows(labels, learner, rows_of):
    return rows_of(learner=[learner], task=[{**TASK, "labels": labels}], test_size=16384)


@pytest.mark.parametrize(
    "labels",
    [
        {"kind": "noise", "sd": 0.5},
        {"kind": "agnostic", "opt": 0.25},
        {"kind": "agnostic", "opt": 0.25, "noise": "adversarial"},
    ],
    ids=["noise", "gaussian", "adversarial"],
)
def test_noisy_labels_are_measured_beside_the_clean_error(faulty, labels, rows_of):
    (row,) = rows(labels, {"name": "linear-ridge", "options": {"ridge": 1e-6}, "tune": {}}, rows_of)
    assert row.status == "ok", row.reason
    measured = row.chosen["measured"]
    assert measured["opt"] == pytest.approx(0.25, rel=0.05)
    if labels.get("noise") == "adversarial":
        # A linear adversary pulls a linear learner off the target and below OPT.
        assert row.nmse > 0.05
        assert measured["label_nmse"] < 0.98 * measured["opt"]
    else:
        assert row.nmse < 0.02
        # The cross term 2 E (F - G*)(G* - Y) has a deviation of at most 2 sqrt(.02 * .25 / 16384).
        assert measured["label_nmse"] == pytest.approx(measured["opt"] + row.nmse, abs=0.01)


def test_errors_in_parts_of_the_target_have_a_column_of_their_own(faulty, rows_of):
    """A linear learner has the part of degree 1 of a staircase and none of degree 2; estimates are not clipped."""
    task = {"name": "t", "inputs": {"kind": "sphere"}, "target": {"kind": "staircase", "degree": 2}, "d": [4]}
    learner = {"name": "linear-ridge", "options": {"ridge": 1e-9}, "tune": {}}
    (row,) = rows_of(learner=[learner], task=[task | {"n": [4000]}], test_size=4096)
    assert row.status == "ok", row.reason
    assert list(row.part_errors) == ["degree1", "degree2"]
    assert row.part_errors["degree1"] == pytest.approx(0, abs=0.05)
    assert row.part_errors["degree2"] == pytest.approx(1, abs=0.2)
    assert row.feature_errors == {}


@pytest.mark.parametrize("form", ["coordinate", "direction"])
def test_a_binary_task_has_a_column_more_and_an_error_rate(faulty, form, rows_of):
    """The margin x_0 + G* is linear here, so a linear learner gets nearly all signs right."""
    learner = {"name": "kernel-ridge", "options": {"kernel": "poly", "degree": 1, "with_squares": False}}
    (row,) = rows({"kind": "threshold", "form": form}, learner, rows_of)
    assert row.status == "ok", row.reason
    assert row.d == 4
    assert row.nmse is None
    assert row.error_rate < 0.05


@pytest.mark.parametrize(
    ("labels", "column"),
    [({"kind": "threshold"}, 0), ({"kind": "threshold", "form": "direction"}, None), ({"kind": "clean"}, None)],
    ids=["coordinate", "direction", "clean"],
)
def test_a_learner_is_told_the_column_of_the_offset(labels, column):
    task = {**TASK, "n": [10], "labels": labels, "unlabeled": 30}
    plan = plan_from({"task": [task], "learner": [{"name": "kernel-ridge"}], "test_size": 200})
    work = CellFit.prepare(plan.batch(plan.todo[:1]), plan.todo[0], {})
    told = work.job(work.learner, work.train).ctx
    assert told.margin_column == column
    d = work.train.d
    assert d == work.train.x.shape[1] == told.unlabeled.shape[1] == len(told.square_mean)
    assert d == (4 if labels["kind"] == "clean" else 5)
