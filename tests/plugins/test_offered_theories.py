"""The theories that learners offer: where they are valid; ``test_kernels_on_staircase`` has how kernels follow them."""

import pytest
from bfc_plugins.kernels.kernel_ridge import KernelRidge

from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Sphere
from bfc_bench.tasks.labels.agnostic import Agnostic
from bfc_bench.tasks.labels.pointwise import Clean, Noise, Sign
from bfc_bench.tasks.targets.lowrank_poly import LowrankPoly
from bfc_bench.tasks.targets.staircase import Staircase
from bfc_bench.tasks.teacher_task import TeacherTask


def facts(inputs=None, target=None, labels=None, d=8):
    return TeacherTask("t", inputs or Sphere(), target or LowrankPoly(degree=2), labels=labels or Clean()).facts(d)


RAW = KernelRidge(with_squares=False)


@pytest.mark.parametrize(
    ("learner", "task"),
    [
        (KernelRidge(), facts()),
        (RAW, facts(inputs=Gaussian(), target=LowrankPoly(degree=2, form="monomial"))),
        (RAW, facts(target=LowrankPoly(degree=2, form="monomial"))),
        (RAW, facts(labels=Sign())),
        (RAW, facts(labels=Agnostic(opt=0.1, noise="adversarial"))),
    ],
    ids=["with squares", "not the sphere", "shares unknown", "classes", "labels that depend on x"],
)
def test_where_it_is_not_valid_there_is_no_theory(learner, task):
    assert learner.theory(task) is None


@pytest.mark.parametrize("labels", [Noise(sd=0.5), Agnostic(opt=0.25)])
def test_independent_noise_has_its_term(labels):
    clean, noisy = RAW.theory(facts()), RAW.theory(facts(labels=labels))
    assert clean is not None
    assert noisy is not None
    assert noisy.nmse(30) > clean.nmse(30) + 0.01
    assert noisy.nmse(1e8) < 1e-2


def test_a_staircase_is_the_sum_of_its_degrees():
    task = facts(target=Staircase(degree=3))
    assert (task.degrees, task.shares) == ((1, 2, 3), (1 / 3, 1 / 3, 1 / 3))
    parts = [RAW.theory(facts(target=LowrankPoly(degree=k))) for k in task.degrees]
    whole = RAW.theory(task)
    assert whole is not None
    expected = sum(share * part.nmse(77) for share, part in zip(task.shares, parts, strict=True) if part)
    assert whole.nmse(77) == pytest.approx(expected, rel=1e-9)
