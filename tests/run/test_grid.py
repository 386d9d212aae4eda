"""The parts of a suite that a run takes, by the names that a user gives."""

import pytest
from small_tasks import SMALL, grid_from, plan_from

from bfc_bench import UsageError

TASK = {**SMALL, "d": [4, 5]}
SUITE = {
    "name": "s",
    "task": [TASK, {**TASK, "name": "u", "n": [40]}],
    "learner": [
        {"name": "kernel-ridge", "label": "wide", "options": {"gamma": 0.1}, "tune": {}},
        {"name": "kernel-ridge", "label": "narrow", "tune": {}},
        {"name": "random-features", "tune": {}},
    ],
}


def cells(**chosen):
    return {(cell.task, cell.label) for cell in grid_from(SUITE, **chosen).cells()}


@pytest.mark.parametrize(
    ("learners", "labels"),
    [
        ([], {"wide", "narrow", "random-features"}),
        (["wide"], {"wide"}),
        (["kernel-ridge"], {"wide", "narrow"}),
        (["narrow", "random-features"], {"narrow", "random-features"}),
        (["wide", "ntk-raw"], {"wide", "ntk-raw"}),
    ],
)
def test_learners_are_chosen_by_label_or_by_name_and_others_are_added(learners, labels):
    assert cells(learners=learners) == {(task, label) for task in "tu" for label in labels}


def test_tasks_are_chosen_by_name_and_unknown_names_are_errors():
    assert cells(tasks=["u"], learners=["wide"]) == {("u", "wide")}
    for chosen, message in (({"tasks": ["uu"]}, "--task uu"), ({"learners": ["wider"]}, "--learner wider")):
        with pytest.raises(UsageError, match=f"{message}: the suite has no such"):
            cells(**chosen)


def test_an_option_that_the_suite_fixes_is_not_searched_by_default():
    fixed = {"name": "kernel-ridge", "options": {"ridge": 0.25}}
    entry = grid_from({**SUITE, "learner": [fixed]}).entries["kernel-ridge"]
    assert len({learner.gamma for learner in entry.candidates}) > 1
    assert {learner.ridge for learner in entry.candidates} == {0.25}


@pytest.mark.parametrize(
    ("claim", "unplanned"),
    [
        ({"d": 4, "n": 20}, []),
        ({"d": 4, "n": 40}, ["claim c: n = 40 is not among those of task t: [10, 20]."]),
        ({"d": 7, "n": 10}, ["claim c: d = 7 is not among those of task t: [4, 5]."]),
    ],
)
def test_a_claim_about_a_size_that_its_task_does_not_have_is_told_of(claim, unplanned):
    reaches = {"id": "c", "kind": "reaches", "label": "wide", "task": "t", "at_most": 0.1, **claim}
    assert plan_from({**SUITE, "claim": [reaches]}).cautions == unplanned


def test_only_cells_up_to_a_bound_of_a_learner_are_planned_with_the_ids_that_they_had():
    def planned(**bounds):
        learner = {"name": "kernel-ridge", "tune": {}, **bounds}
        return {(cell.d, cell.n, cell.id) for cell in grid_from({"task": [TASK], "learner": [learner]}).cells()}

    every = planned()
    assert {(d, n) for d, n, _ in every} == {(4, 10), (4, 20), (5, 10), (5, 20)}
    assert planned(max_n=20) == planned(max_d=5) == every
    assert planned(max_n=10) == planned(max_n=19) == {cell for cell in every if cell[1] == 10}
    assert planned(max_d=4, max_n=10) == {cell for cell in every if cell[:2] == (4, 10)}
    for key, value, least in (("max_n", 9, 10), ("max_d", 3, 4)):
        with pytest.raises(UsageError, match=rf"{key} must be at least {least}, .* task 't'\. Got {value}"):
            planned(**{key: value})
