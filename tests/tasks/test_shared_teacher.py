"""Tasks that share a teacher: equal draws bit for bit, and only what an option changes differs."""

from dataclasses import replace

import numpy as np
import pytest
from small_tasks import SMALL, grid_from

from bfc_bench.errors import UsageError
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels import Agnostic, Clean, Noise, Sign
from bfc_bench.tasks.targets.hard_densenets import HardKernel
from bfc_bench.tasks.targets.index_model import IndexModel
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.targets.staircase import Staircase
from bfc_bench.tasks.targets.toys import SlideDensenet
from bfc_bench.tasks.teacher_task import TeacherTask

D = 6
ROOT = TeacherTask(
    "root", Uniform(), QuadraticDensenet(widths=(3, 2), alphas=(1.0, 0.3)), labels=Noise(sd=0.1), unlabeled=20
)


def paired(**changes):
    return replace(ROOT, name="other", teacher="root", **changes)


def problem(task, d=D, replicate=1):
    return task.problem(5, d, replicate, 300)


def test_alphas_change_nothing_that_is_drawn():
    one, other = problem(ROOT), problem(paired(target=QuadraticDensenet(widths=(3, 2), alphas=(1.0, 0.1))))
    for layer, same in zip(one.drawn.weights, other.drawn.weights, strict=True):
        assert all(np.array_equal(layer[j], same[j]) for j in layer)
    assert np.array_equal(one.test_x, other.test_x)
    assert np.array_equal(one.unlabeled_inputs(1), other.unlabeled_inputs(1))
    a, b = one.train(200), other.train(200)
    assert np.array_equal(a.x, b.x)
    # Per unit of the target's deviation the noise is the same draw.
    noise = [(p.train(200).y - p.drawn(p.train(200).x)) / p.labelling.deviation for p in (one, other)]
    assert np.allclose(*noise, atol=1e-12)
    # S_2 as the paper writes it is the same, and G_3 enters with a third.
    assert np.array_equal(one.test_hidden["S2"], other.test_hidden["S2"])
    assert np.allclose(one.test_hidden["S3"] ** 2 / 3, other.test_hidden["S3"] ** 2)
    assert a.sample != b.sample


def test_the_size_of_the_noise_scales_one_draw():
    one, other = problem(ROOT), problem(paired(labels=Noise(sd=0.4)))
    clean = problem(paired(labels=Clean())).train(200).y
    assert np.array_equal(one.test_y, other.test_y)
    assert np.allclose(4 * (one.train(200).y - clean), other.train(200).y - clean, atol=1e-12)


def test_labellings_of_other_kinds_have_the_same_points_and_target():
    clean = problem(paired(labels=Clean()))
    gaussian = problem(paired(labels=Agnostic(opt=0.01)))
    assert np.array_equal(gaussian.train(50).y, problem(ROOT).train(50).y)
    signs = problem(paired(labels=Sign()))
    assert np.array_equal(signs.train(50).x, clean.train(50).x)
    assert np.array_equal(signs.train(50).y, np.where(clean.train(50).y >= clean.labelling.mean, 1, -1))


def test_a_deeper_teacher_has_the_same_layers_below():
    deep = paired(target=QuadraticDensenet(widths=(3, 2, 2), alphas=(1.0, 0.3, 0.1)))
    one, other = problem(ROOT).drawn, problem(deep).drawn
    assert len(other.weights) == 3
    for layer, same in zip(one.weights, other.weights, strict=False):
        assert all(np.array_equal(layer[j], same[j]) for j in layer)


@pytest.mark.parametrize(
    ("target", "other"),
    [
        (SlideDensenet(widths=(3, 2), alphas=(1.0, 0.3)), SlideDensenet(widths=(3, 2), alphas=(0.5, 0.1))),
        (IndexModel(terms=((1,), (2,))), IndexModel(terms=((1,), (2,)), coefficients=(0.6, -0.8))),
    ],
    ids=lambda target: target.kind,
)
def test_what_a_target_says_is_swept_leaves_the_draws_alone(target, other):
    inputs = Uniform() if target.kind == "slide-densenet" else Gaussian()
    tasks = [
        TeacherTask("root", inputs, target, labels=Clean()),
        TeacherTask("other", inputs, other, labels=Clean(), teacher="root"),
    ]
    assert tasks[1].check_teacher(tasks[0]) is None
    one, two = (problem(task).drawn for task in tasks)
    if target.kind == "slide-densenet":
        assert all(np.array_equal(a[j], b[j]) for a, b in zip(one.weights, two.weights, strict=True) for j in a)
        assert all(map(np.array_equal, one.readouts, two.readouts))
    else:
        assert np.array_equal(one.directions, two.directions)


TARGET = {"kind": "quadratic-densenet", "widths": [3, 2], "alphas": [1.0, 0.3]}
TABLE = {**SMALL, "name": "root", "target": TARGET, "d": [4, 6], "n": [20]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([{"teacher": "rot"}], "task 't0': teacher names an unknown task 'rot'. Did you mean 'root'?"),
        ([{}, {"teacher": "t0"}], "teacher names 't0', which has the teacher 'root' itself; name 'root' here"),
        ([{"d": [5, 6]}], "task 't0': teacher: d must be among those of task 'root', [4, 6]. Got [5] besides"),
        (
            [{"target": {**TARGET, "kind": "slide-densenet"}}],
            "one kind of target, not 'slide-densenet' and 'quadratic-dens",
        ),
        ([{"target": {**TARGET, "widths": [2, 2]}}], "the same widths and skips in the layers that both have."),
    ],
    ids=["unknown", "not-its-own", "d", "kind", "widths"],
)
def test_what_cannot_be_shared_is_an_error_of_one_line(changes, message):
    tasks = [{**TABLE, "name": f"t{i}", "teacher": "root", **change} for i, change in enumerate(changes)]
    with pytest.raises(UsageError) as caught:
        grid_from({"task": [TABLE, *tasks], "learner": [{"name": "kernel-ridge", "tune": {}}]})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value).strip()


def test_options_that_change_draws_are_named():
    asked, named = Staircase(degree=3), Staircase(degree=2)
    one, other = IndexModel(terms=((1,),)), IndexModel(terms=((2,),))
    assert asked.check_teacher(named) == "both need the same degree of 'staircase'"
    assert one.check_teacher(other) == "both need the same terms of 'index-model'; only coefficients may differ"


def test_a_support_of_another_size_is_another_draw():
    one, other, deep = (HardKernel(alphas=alphas) for alphas in ((1.0, 0.09), (1.0, 0.3), (1.0, 0.3, 0.09)))
    assert other.check_teacher(one) is None
    assert deep.check_teacher(one) == (
        "both need the same number of alphas, which decides the size of the support. Got 3 and 2"
    )
    supports = [
        problem(TeacherTask("root", Uniform(), target, labels=Clean()), d=9).drawn.facts["support"]
        for target in (one, other, deep)
    ]
    assert supports[0] == supports[1] != supports[2]


def test_learners_are_paired_too(rows_of):
    """Tasks that differ in nothing but their names give equal rows where one names the other, seeds included."""
    table = {**TABLE, "d": [4]}
    tasks = [table, {**table, "name": "same", "teacher": "root"}, {**table, "name": "own"}]
    learner = {"name": "random-features", "options": {"features": 30}, "tune": {}}
    rows = {row.task: row for row in rows_of(task=tasks, learner=[learner])}
    assert {row.status for row in rows.values()} == {"ok"}
    assert (rows["same"].seed, rows["same"].nmse) == (rows["root"].seed, rows["root"].nmse)
    assert rows["own"].seed != rows["root"].seed
    assert rows["own"].nmse != rows["root"].nmse
