"""Grids of suite files: their members, what these share, and what is refused."""

import tomllib

import numpy as np
import pytest
from small_tasks import grid_from

from bfc_bench.errors import UsageError
from bfc_bench.suite.axes import family, member_name, value_text
from bfc_bench.suite.changes import changed
from bfc_bench.suite.model import Suite
from bfc_bench.tasks.task import learner_seed

STAIRS = {
    "name": "stairs",
    "inputs": {"kind": "sphere"},
    "target": {"kind": "staircase"},
    "labels": {"kind": "noise"},
    "grid": {"degree": [1, 2], "labels.sd": [0.1, 0.35]},
    "d": [6, 9],
    "n": [20, 40],
}
PLAIN = {
    "name": "plain",
    "inputs": {"kind": "sphere"},
    "target": {"kind": "staircase", "degree": 1},
    "d": [6],
    "n": [9],
}
NET = {"name": "random-features", "label": "net", "grid": {"features": [8, 16], "map": ["relu"]}}
MEMBERS = ["stairs:degree1:sd0.1", "stairs:degree1:sd0.35", "stairs:degree2:sd0.1", "stairs:degree2:sd0.35"]


def values(*, task=(), learner=(), **others):
    tasks, learners = [*task] or [STAIRS, PLAIN], [*learner] or [NET, {"name": "kernel-ridge"}]
    return {"name": "s", "replicates": 2, "test_size": 300, "task": tasks, "learner": learners, **others}


def grid(chosen=None, **parts):
    return grid_from(values(**parts), **(chosen or {}))


def refused(**parts):
    with pytest.raises(UsageError) as error:
        grid(**parts)
    return str(error.value)


def test_a_grid_stands_for_all_combinations_with_their_axes():
    suite = grid().suite
    assert [task.name for task in suite.task] == [*MEMBERS, "plain"]
    assert suite.task[1].axes == {"degree": 1, "sd": 0.35}
    assert (suite.task[1].target, suite.task[1].labels["sd"]) == ({"kind": "staircase", "degree": 1}, 0.35)
    assert [entry.label for entry in suite.learner] == [
        "net:features8:map-relu",
        "net:features16:map-relu",
        "kernel-ridge",
    ]
    assert suite.learner[1].options == {"features": 16, "map": "relu"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2, "2"),
        (2.0, "2"),
        (0.35, "0.35"),
        (-1, "-1"),
        (1e-9, "1e-09"),
        ("relu", "-relu"),
        (True, "-true"),
        ([4, 2], "4+2"),
        ([-1, 1], "-1+1"),
        (["a", "b"], "a+b"),
        ("!", "@3d76f2c2"),
        ([[0], [0, 1]], None),
    ],
)
def test_names_say_the_value_and_follow_the_rule_of_names(value, text):
    name = member_name("grid:x", {"m": value, "L": 3})
    assert Suite.parse(values(task=[{**PLAIN, "name": name}]), "s.toml").task[0].name == name
    assert text is None or text.startswith("@") or value_text(value) == text
    assert family(name, "m", value) == "grid:x:L3"
    assert family(family(name, "L", 3), "m", value) == "grid:x"
    assert family(name, "k", 3) == name
    assert family(member_name(name, {"m": value}), "m", value) == name, "the grid itself is a member of another"


def test_the_definition_is_read_back_without_a_second_expansion():
    suite = grid().suite
    again = Suite.parse(suite.definition(), "store")
    assert again.definition() == suite.definition()
    assert grid_from(suite.definition()).task_digests == grid().task_digests
    tasks = {task["name"]: task for task in suite.definition()["task"]}
    assert tasks[MEMBERS[0]]["grid"] == "stairs"
    assert "grid" not in tasks["plain"]


@pytest.mark.parametrize(("task", "count"), [("stairs", 4), (MEMBERS[2], 1)])
@pytest.mark.parametrize(("learner", "labels"), [("net", 2), ("net:features8:map-relu", 1)])
def test_a_name_on_the_command_line_is_a_grid_or_a_member(task, count, learner, labels):
    cells = list(grid({"tasks": [task], "learners": [learner]}).cells())
    assert len({cell.task for cell in cells}) == count
    assert len({cell.label for cell in cells}) == labels
    assert len(cells) == count * labels * 2 * 2 * 2


def test_learners_and_teachers_may_name_a_grid():
    found = grid(
        task=[STAIRS, {**PLAIN, "name": "same", "teacher": "stairs"}, {**PLAIN, "name": "one", "teacher": MEMBERS[0]}],
        learner=[{"name": "kernel-ridge", "tasks": ["stairs", "one"]}],
    )
    assert found.entries["kernel-ridge"].tasks == (*MEMBERS, "one")
    assert {task.streams for task in found.tasks.values()} == {"stairs"}


def test_members_share_inputs_noise_and_learner_seeds():
    tasks = grid().tasks
    a, b, c = (tasks[name].problem(0, 6, 1, 300) for name in (MEMBERS[0], MEMBERS[1], MEMBERS[2]))
    assert np.array_equal(a.train(40).x, b.train(40).x)
    assert np.array_equal(a.train(40).x, c.train(40).x)  # also where the target differs
    assert np.array_equal(a.test_x, c.test_x)
    clean = a.drawn(a.train(40).x)
    assert np.allclose((a.train(40).y - clean) / 0.1, (b.train(40).y - clean) / 0.35, atol=1e-12)
    others = grid(task=[{**STAIRS, "name": "others"}]).tasks["others:degree1:sd0.1"]
    assert not np.array_equal(a.train(40).x, others.problem(0, 6, 1, 300).train(40).x)
    seeds = {learner_seed(0, task.streams, 6, 1) for task in map(tasks.get, MEMBERS)}
    assert len(seeds) == 1
    assert learner_seed(0, others.streams, 6, 1) not in seeds


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"degre": [1], "labels.sd": [1]}, "task 'stairs:degre1:sd1': target (staircase): unknown option 'degre'"),
        ({"degree": [1], "labels.sigma": [1]}, "labels (noise): unknown option 'sigma'. Known: sd."),
        ({"degree": 2}, "s.toml: task[0] 'stairs': grid.degree must be a list of at least 1 value. Got 2."),
        ({"degree": [2, 2]}, "grid.degree must hold different values. Got [2, 2]."),
        ({"d": [6, 9]}, "'stairs': grid.d: d is no axis of a grid; write d = [...] in the task."),
        ({"n": [6, 9]}, "'stairs': grid.n: n is no axis of a grid; write n = [...] in the task"),
        ({"teacher": ["a"]}, "grid.teacher: teacher cannot be an axis"),
        ({"labels": [{}]}, "grid.labels must name an option of labels"),
        ({"inputs.sd": [1], "labels.sd": [1]}, "two keys of the grid name one axis, 'sd'"),
        ({}, "grid must have at least 1 key"),
        ({"target.kind": ["toy"]}, "kind is fixed, at 'staircase', and in the grid; leave out one of the two."),
        ({"degree": list(range(1, 200)), "labels.sd": list(range(200))}, "39,800 combinations; at most 1,000"),
        ({"coefficients_" + "x" * 60: [1]}, "at most 80 in all"),
    ],
)
def test_a_wrong_grid_is_refused_with_entry_key_and_hint(part, said):
    assert said in refused(task=[{**STAIRS, "grid": part}])


def test_a_wrong_grid_of_learners_is_refused():
    assert "learner 'net:width1': options: unknown option 'width'." in refused(
        learner=[{**NET, "grid": {"width": [1]}}]
    )
    fixed = {**NET, "options": {"features": 8}}
    assert "'net': features is fixed, at 8, and in the grid" in refused(learner=[fixed])
    clash = refused(learner=[{"name": "kernel-ridge", "grid": {"degree": [1, 2]}}])
    assert (
        "the axis 'degree' is one of task 'stairs' and one of learner 'kernel-ridge'; write 'options.degree'" in clash
    )
    named = grid(learner=[{"name": "kernel-ridge", "grid": {"options.degree": [1, 2]}}]).suite.learner
    assert [(entry.label, entry.options) for entry in named] == [
        ("kernel-ridge:options.degree1", {"degree": 1}),
        ("kernel-ridge:options.degree2", {"degree": 2}),
    ]
    assert "'stairs' appears more than once" in refused(task=[STAIRS, {**PLAIN, "name": "stairs"}])
    assert "unknown task 'stair'. Did you mean 'stairs'?" in refused(
        learner=[{"name": "kernel-ridge", "tasks": ["stair"]}]
    )
    assert "axes are filled in by the program" in refused(task=[{**PLAIN, "axes": {"m": 1}}])


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ("task.stairs.grid.degree=[2, 3]", ["degree2:sd0.1", "degree2:sd0.35", "degree3:sd0.1", "degree3:sd0.35"]),
        ("task.stairs.grid.labels.sd=[1]", ["degree1:sd1", "degree2:sd1"]),
        ("task.stairs.grid={degree = [4], labels.sd = [2]}", ["degree4:sd2"]),
    ],
)
def test_a_change_is_applied_before_the_expansion(change, names):
    raw = tomllib.loads(
        "name = 's'\n[[task]]\nname = 'stairs'\ninputs = { kind = 'sphere' }\ntarget = { kind = 'staircase' }\n"
        "labels = { kind = 'noise' }\ngrid = { degree = [1, 2], labels.sd = [0.1, 0.35] }\nd = [6]\nn = [9]\n"
        "[[learner]]\nname = 'kernel-ridge'\n"
    )
    suite = Suite.parse(changed(raw, [change]), "s")
    assert [task.name for task in suite.task] == [f"stairs:{name}" for name in names]
    quoted = changed(values(task=[STAIRS]), ["task.stairs.grid.labels.sd=[1]"])
    assert quoted["task"][0]["grid"]["labels.sd"] == [1]
    STAIRS["grid"]["labels.sd"] = [0.1, 0.35]


def sizes(n, **changes):
    suite = grid(task=[{**STAIRS, "n": n, **changes}]).suite
    return {(task.name.removeprefix("stairs:"), d): task.sizes(d) for task in suite.task for d in task.d}


def test_sizes_may_depend_on_d_and_on_axes():
    by_d = {"d": {"6": [10, 20], "9": [30]}}
    assert sizes(by_d)["degree2:sd0.1", 6] == [10, 20]
    assert sizes(by_d)["degree2:sd0.1", 9] == [30]
    by_axis = sizes({"sd": {"0.1": [5], "0.35": by_d}})
    assert (by_axis["degree1:sd0.1", 9], by_axis["degree1:sd0.35", 9]) == ([5], [30])
    formula = sizes({"from": "2*d", "to": "d^1.5 * (degree + 7)", "steps": 4})
    assert formula["degree2:sd0.1", 9] == [18, 43, 102, 243]  # 18 (27 / 2)^(k / 3), rounded
    assert sizes({"from": 1, "to": "max(3, sqrt(9), ceil(2.1), min(9, 3))", "steps": 9})["degree1:sd0.1", 6] == [
        1,
        2,
        3,
    ]


@pytest.mark.parametrize(
    ("n", "said"),
    [
        ({"from": "d.__class__", "to": 9, "steps": 3}, "n.from: 'd.__class__': a formula has numbers, names"),
        ({"from": "__import__('os')", "to": 9, "steps": 3}, "a formula has numbers, names"),
        ({"from": "m*d", "to": 9, "steps": 3}, "n.from: 'm*d': there is no name 'm'."),
        ({"from": "1", "to": "9^9^9^9", "steps": 3}, "has no finite value"),
        ({"from": "1", "to": "(0-1)^0.5", "steps": 3}, "n.to"),
        ({"from": "1", "to": "1/(d-6)", "steps": 3}, "has no finite value"),
        ({"from": "1", "to": "(" * 150 + ")" * 150, "steps": 3}, "n.to must be"),
        ({"from": "90", "to": "d", "steps": 3}, "n: from must be at most to. Got 90 and 6 at d = 6, degree = 1"),
        ({"from": "0", "to": "d", "steps": 3}, "n.from must be from 1 to 1e+12. Got 0"),
        ({"from": "1", "to": "d", "steps": 1}, "n.steps must be an integer from 2 to 1000. Got 1"),
        ({"from": "1", "to": "d"}, "n must have exactly the keys from, to and steps. Got from, to"),
        ({"d": {"6": [9]}}, "n.d has no sizes for d = 9. It has some for: 6"),
        ({"d": {"6": [9, 9], "9": [9]}}, "n.d.6 must be strictly increasing"),
        ({"sdd": {"6": [9]}}, "n.sdd: the task has no axis 'sdd'. Did you mean 'sd'?"),
        ({"d": 5}, "n must have from, to and steps, or one table"),
    ],
)
def test_wrong_sizes_are_refused(n, said):
    assert said in refused(task=[{**STAIRS, "n": n}])


def test_keys_without_a_value_are_not_in_the_definition_but_options_are():
    learner = {"name": "kernel-ridge", "options": {"gamma": None}, "max_d": 6}  # None need not be an option's default
    suite = Suite.parse(values(task=[PLAIN], learner=[learner]), "s")
    assert suite.definition()["task"] == [{**PLAIN, "labels": {"kind": "clean"}, "unlabeled": 0, "axes": {}}]
    assert suite.definition()["learner"] == [{**learner, "label": "kernel-ridge", "axes": {}}]


def test_a_stored_definition_with_keys_without_a_value_is_that_of_the_same_suite():
    suite = Suite.parse(values(looks=[3, 5], locate={"factor": 1.2}), "s")
    stored = suite.model_dump(mode="json")
    assert stored["task"][0]["data"] is stored["learner"][0]["tasks"] is stored["locate"]["levels"] is None
    assert Suite.parse(stored, "store") == suite == Suite.parse(suite.definition(), "store")


def test_bounds_may_leave_no_cell_at_some_d():
    bounded = {"name": "kernel-ridge", "max_n": 20}
    beyond = grid(learner=[bounded], task=[{**STAIRS, "n": {"d": {"6": [9], "9": [50]}}}])
    assert {cell.d for cell in beyond.cells()} == {6}


def test_of_two_entries_whose_names_begin_a_path_the_longer_name_is_meant():
    suite = {"learner": [{"name": "x", "label": "a"}, {"name": "x", "label": "a.b", "options": {}}]}
    _, learner = changed(suite, ["learner.a.b.options.steps=3"])["learner"]
    assert learner == {"name": "x", "label": "a.b", "options": {"steps": 3}}
