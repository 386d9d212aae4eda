"""Tasks and problems: prefixes, streams, identity, laziness, errors."""

from dataclasses import replace

import numpy as np
import pytest

from bfc_bench.errors import UsageError
from bfc_bench.seeds import BLOCK
from bfc_bench.tasks.inputs.uniform import Hypercube, Sphere, Uniform
from bfc_bench.tasks.labels import Clean, Noise
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.teacher_task import TeacherProblem, TeacherTask

D = 5
TARGET = QuadraticDensenet(widths=(3, 2), alphas=(1.0, 0.3))
TASK = TeacherTask("noisy", Uniform(), TARGET, labels=Noise(sd=0.1), unlabeled=30)


def problem(task=TASK, seed=0, d=D, replicate=0, test_size=500):
    return task.problem(seed, d, replicate, test_size)


def test_a_smaller_training_set_is_a_bitwise_prefix():
    grown, fresh = problem(), problem()
    whole = fresh.train(2 * BLOCK + 7)
    for n in (1, 10, BLOCK, BLOCK + 1, 2 * BLOCK + 7, 300):
        part = grown.train(n)
        assert part.x.shape == (n, D)
        assert part.y.shape == (n,)
        assert np.array_equal(part.x, whole.x[:n])
        assert np.array_equal(part.y, whole.y[:n])


def test_what_is_drawn_does_not_depend_on_the_order_of_asking():
    forward, backward = problem(), problem()
    questions = [
        lambda p: p.train(100).y,
        lambda p: p.test_y,
        lambda p: p.unlabeled_inputs(0),
        lambda p: p.labelling.deviation,
        lambda p: p.drawn(np.ones((1, D))),
    ]
    first = [ask(forward) for ask in questions]
    last = [ask(backward) for ask in reversed(questions)]
    assert all(map(np.array_equal, first, reversed(last)))


def test_training_test_and_unlabeled_points_are_different_points():
    p = problem()
    points = np.concatenate([p.train(500).x, p.test_x, p.unlabeled_inputs(0)])
    assert len(np.unique(points, axis=0)) == 500 + 500 + 30


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"replicate": 1}, {"task": replace(TASK, name="other")}], ids=["seed", "replicate", "name"]
)
def test_seed_replicate_and_task_change_teacher_and_points(change):
    one, other = problem(), problem(**change)
    assert one.sample != other.sample
    assert not np.any(one.train(50).x == other.train(50).x)
    assert not np.any(one.test_x == other.test_x)
    x = np.ones((1, D))
    assert one.drawn(x) != other.drawn(x)


def test_the_size_of_the_test_set_changes_nothing_else():
    small, large = problem(test_size=10), problem(test_size=3 * BLOCK)
    assert small.sample == large.sample
    assert np.array_equal(small.train(50).y, large.train(50).y)
    assert np.array_equal(small.test_x, large.test_x[:10])
    assert large.test_x.shape == (3 * BLOCK, D)
    assert large.test_y.shape == (3 * BLOCK,)


def test_an_outline_is_known_before_anything_is_drawn(monkeypatch):
    p = problem()
    monkeypatch.setattr(TeacherProblem, "_stream", lambda *_: pytest.fail("a stream was opened"))
    spec = p.spec(123)
    assert (spec.sample, spec.n, spec.d, spec.kind) == (p.sample, 123, D, "real")
    monkeypatch.undo()
    train = p.train(123)
    assert (train.sample, train.n, train.d, train.kind) == (spec.sample, 123, D, "real")


def test_the_identity_of_a_sample_follows_its_definition():
    target = QuadraticDensenet(widths=(3, 2), alphas=(1, 0.3), skips=((1,), (2, 0)))
    same = TeacherTask("noisy", Uniform(), target, labels=Noise(sd=0.1), unlabeled=30)
    assert problem().sample == problem(same).sample
    others = [
        replace(TASK, inputs=Sphere()),
        replace(TASK, target=QuadraticDensenet(widths=(3, 2), alphas=(1.0, 0.2))),
        replace(TASK, labels=Noise(sd=0.2)),
        replace(TASK, labels=Clean()),
    ]
    assert len({problem(task).sample for task in [TASK, *others]} | {problem(d=D + 1).sample}) == len(others) + 2


def test_the_oracle_gets_what_it_asks_for_and_nothing_else():
    p = problem()
    assert p.facts({"alphas"}) == {"alphas": [1.0, 0.3]}
    assert p.facts(set()) == {}
    with pytest.raises(UsageError, match=r"target 'quadratic-densenet' has no fact 'alpha'.*'alphas'"):
        p.facts({"alpha"})


@pytest.mark.parametrize(
    ("inputs", "d", "reason"), [(Sphere(), 1, "sphere inputs"), (Uniform(), 2, "widths"), (Hypercube(), D, "x.2 is")]
)
def test_tasks_that_do_not_exist_say_why(inputs, d, reason):
    with pytest.raises(UsageError, match=f"task 'noisy': {reason}"):
        problem(replace(TASK, inputs=inputs), d=d)
    assert TASK.check(D) is None
