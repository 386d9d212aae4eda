"""What a learner says of its results is printed once and stays with its rows."""

import json

import pytest
from small_tasks import SMALL, grid_from

TEXT = "parity trap: kernel-ridge with kernel = 'nngp' on x alone has no part of degree 3, which the target"
OPTIONS = {"kernel": "nngp", "with_squares": False, "ridge": 1e-6}


def task(name, degree):
    target = {"kind": "lowrank-poly", "degree": degree}
    return {"name": name, "inputs": {"kind": "sphere"}, "target": target, "d": [4], "n": [10, 20]}


SUITE = {
    "task": [task("odd", 3), task("also-odd", 3), task("even", 4)],
    "learner": [
        {"name": "kernel-ridge", "label": "trapped", "options": OPTIONS},
        {"name": "kernel-ridge", "label": "free", "options": {**OPTIONS, "bias_variance": 1.0}},
    ],
}


def test_rows_of_trapped_learners_are_ok_with_a_reason(rows_of):
    rows = rows_of(**SUITE)
    assert {row.status for row in rows} == {"ok"}
    for row in rows:
        trapped = row.label == "trapped" and row.task != "even"
        assert row.reason.startswith(TEXT) if trapped else row.reason == ""


def test_plan_and_run_print_a_caution_once_with_its_tasks(suite_file, tmp_path, cli):
    path = suite_file(**SUITE)
    line = f"caution: trapped on odd, also-odd: {TEXT}"
    plan = cli("plan", path, "--store", tmp_path / "s").stdout
    run = cli("run", path, "--store", tmp_path / "s", "--executor", "serial").stdout
    for text in (plan, run):
        assert text.count(line) == text.count("caution:") == 1
    answer = json.loads(cli("plan", path, "--store", tmp_path / "s", "--format", "json").stdout)
    assert [text.partition(":")[0] for text in answer["cautions"]] == ["trapped on odd, also-odd"]
    page = (tmp_path / "s" / "reports" / "tiny@1" / "report.html").read_text()
    assert "parity trap: kernel-ridge" in page


def test_the_chosen_candidate_is_the_one_whose_caution_a_row_has(rows_of):
    """Without a bias, which is tuned here, degree 3 cannot be learned at all, so that it is chosen at n = 300."""
    learner = {"name": "kernel-ridge", "options": OPTIONS, "tune": {"bias_variance": [0.0, 1.0]}}
    (row,) = rows_of(task=[{**task("odd", 3), "n": [300]}], learner=[learner])
    assert row.chosen["tuned"] == {"bias_variance": 1.0}
    assert row.reason == ""


def test_a_plan_says_what_may_cost_more_and_a_row_what_its_fit_found(suite_file, rows_of, tmp_path, cli):
    """A hundred steps are too few for a network that could learn this target, which only the fit can tell."""
    teacher = {"kind": "quadratic-densenet", "widths": [3, 2], "alphas": [1.0, 0.3]}
    learner = {"name": "quad-densenet", "label": "hasty", "options": {"widths": [6, 4], "steps": 100}}
    task = {"name": "t", "inputs": {"kind": "uniform"}, "target": teacher, "d": [6], "n": [400]}
    path = suite_file(task=[task], learner=[learner])
    assert cli("plan", path, "--store", tmp_path / "store").stdout.count("hasty: planned as 4 trainings") == 1
    (row,) = rows_of(task=[task], learner=[learner], jobs=1)
    assert row.status == "ok"
    assert row.reason.startswith("quad-densenet ended too early")
    assert "hasty:" not in cli("plan", path, "--store", tmp_path / "store").stdout, "nothing is left to run"


@pytest.mark.parametrize(
    ("inputs", "target", "degrees"),
    [
        ("sphere", {"kind": "lowrank-poly", "degree": 4}, (4,)),
        ("sphere", {"kind": "lowrank-poly", "degree": 4, "form": "monomial"}, (2, 4)),
        ("sphere", {"kind": "lowrank-poly", "degree": 5, "form": "monomial"}, (1, 3, 5)),
        ("sphere", {"kind": "lowrank-poly", "degree": 1, "form": "monomial"}, (1,)),
        ("gaussian", {"kind": "lowrank-poly", "degree": 4, "form": "monomial"}, ()),
        ("sphere", {"kind": "toy-rich"}, ()),
    ],
)
def test_learners_may_know_the_degrees_of_targets_on_the_sphere(inputs, target, degrees):
    task = {**SMALL, "inputs": {"kind": inputs}, "target": target}
    assert grid_from({"task": [task], "learner": [{"name": "kernel-ridge"}]}).tasks["t"].facts(6).degrees == degrees
