"""Tasks with a joint law of (x, y), and with classes: samples, labels, what is measured, what learners are told."""

from typing import ClassVar

import numpy as np
import pytest

from bfc_bench import JointLaw, PointSource, Target, Teacher
from bfc_bench.errors import UsageError
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.joint_task import JointTask
from bfc_bench.tasks.labels import Clean, Flip, Noise
from bfc_bench.tasks.labels.threshold import BeyondThreshold
from bfc_bench.tasks.laws.random_hierarchy import RandomHierarchy
from bfc_bench.tasks.targets.staircase import Staircase
from bfc_bench.tasks.teacher_task import TeacherTask


class HiddenCoin(JointLaw):
    """y = x_1 + ``size`` b with Gaussian x and a fair coin b = -1, +1 that no learner sees."""

    kind: ClassVar[str] = "hidden-coin"
    size: float = 0.5
    told: bool = True
    """Whether the framework is told E[y | x]."""
    swept: ClassVar[frozenset[str]] = frozenset({"size", "told"})

    def draw(self, rng, d):
        return Coins(d, self.size, self.told)


class Coins(PointSource):
    """x_1 and a coin."""

    def __init__(self, d, size, told):
        self.d, self.size, self.told = d, size, told

    def sample(self, rng, m):
        x, coin = rng.standard_normal((m, self.d)), rng.choice([-1.0, 1.0], size=m)
        return x, x[:, 0] + self.size * coin

    def expected(self, x):
        return x[:, 0].copy() if self.told else None


class Intervals(Target):
    """The interval in which x_1 lies, as a class."""

    kind: ClassVar[str] = "intervals"
    classes: ClassVar[int] = 4

    def draw(self, rng, law):
        return InIntervals()


class InIntervals(Teacher):
    """The number of thresholds -1, 0 and 1 that x_1 exceeds."""

    def __call__(self, x):
        return np.digitize(x[:, 0], [-1.0, 0.0, 1.0]).astype(float)


def grammar(levels=2, labels=None):
    law = RandomHierarchy(vocabulary=4, synonyms=2, branching=2, levels=levels, classes=3)
    return JointTask("t", law, labels=labels or Clean())


def coin(labels=None, teacher="", **options):
    return JointTask("t", HiddenCoin(**options), labels=labels or Clean(), teacher=teacher)


def test_samples_are_nested_and_labels_are_class_numbers():
    made = grammar()
    assert (made.kind, made.classes, made.dimension, made.check(16), made.shape(16)) == ("class", 3, 16, None, (4, 4))
    assert "d must be 16" in made.check(12)
    problem = made.problem(0, 16, 0, 2000)
    small, large = problem.train(100), problem.train(1500)
    assert (small.kind, small.classes, small.shape, small.sample) == ("class", 3, (4, 4), large.sample)
    assert np.array_equal(large.x[:100], small.x)
    assert np.array_equal(large.y[:100], small.y)
    assert set(large.y) == {0.0, 1.0, 2.0}
    others = (large.x[1024:1124], made.problem(0, 16, 1, 2000).train(100).x, problem.test_x[:100])
    assert not any(np.array_equal(other, small.x) for other in others)


def test_flipped_labels_are_measured_against_the_classes():
    problem = TeacherTask("t", Uniform(), Intervals(), labels=Flip(rate=0.2)).problem(0, 16, 0, 20_000)
    wrong = np.mean(problem.test_labels != problem.test_y)
    assert abs(wrong - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 20_000)
    assert set(problem.test_labels) == {0.0, 1.0, 2.0, 3.0}
    assert np.array_equal(problem.test_y, problem.drawn(problem.test_x))


class Three(Intervals):
    """Intervals that are more than the classes."""

    classes: ClassVar[int] = 3


def test_values_that_are_no_class_are_refused():
    with pytest.raises(UsageError, match=r"task 't': values must be the numbers 0 \.\.\. 2 of its classes\. Got 3"):
        TeacherTask("t", Uniform(), Three(), labels=Clean()).problem(0, 16, 0, 2000).train(50)


def test_errors_are_measured_against_what_is_expected_or_the_labels_drawn():
    told, untold = (coin(told=told).problem(0, 5, 0, 200) for told in (True, False))
    assert np.array_equal(told.test_y, told.test_x[:, 0])
    np.testing.assert_allclose(np.abs(untold.test_y - untold.test_x[:, 0]), 0.5, rtol=1e-12)


@pytest.mark.parametrize(
    ("task", "d", "reason"),
    [
        (grammar(labels=Noise(sd=0.1)), 16, "not class ones"),
        (coin(BeyondThreshold()), 5, "law of inputs"),
        (coin(Noise(sd=0.1)), 5, ""),
    ],
)
def test_labels_that_do_not_go_with_classes_or_with_a_law_are_refused(task, d, reason):
    assert reason in (task.check(d) or "")
    assert (task.check(d) is None) == (not reason)


def test_learners_are_told_the_options_with_defaults_and_cannot_change_them():
    facts = coin().facts(5)
    assert (facts.law, facts.target, facts.inputs) == ("hidden-coin", "", "")
    assert facts.options == {"size": 0.5, "told": True}
    with pytest.raises(TypeError):
        facts.options["size"] = 2
    assert hash(facts) == hash(coin().facts(5))


def test_paired_laws_give_the_same_points_with_another_coin():
    one, other = (coin(size=size, teacher="root").problem(0, 5, 0, 200).train(50) for size in (0.5, 0.1))
    assert np.array_equal(one.x, other.x)
    np.testing.assert_allclose(one.y - one.x[:, 0], 5 * (other.y - other.x[:, 0]), atol=1e-12)
    assert "same levels" in grammar(levels=1).check_teacher(grammar())
    target = TeacherTask("other", Uniform(), Staircase(degree=2), labels=Clean())
    assert grammar().check_teacher(target) == "both need a joint law; the other has a target"
