"""The default recipe of ``quad-densenet`` holds without retuning, from d = 20 to d = 1000 and from L = 3 to L = 5.

No oracle, no tuning, no restart and no choice among seeds: every replicate counts.
"""

import numpy as np
import pytest
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet

from bfc_bench.learner import Context, Failure, Job
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels import Clean
from bfc_bench.tasks.metrics import nmse, nmse_trimmed
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.targets.toys import SlideQuartic
from bfc_bench.tasks.teacher_task import TeacherTask

pytestmark = pytest.mark.slow


def errors(learner, inputs, target, d, n, replicates):
    """NMSE and trimmed NMSE of each replicate on 20,000 fresh points, (replicates, 2)."""
    task = TeacherTask("at-scale", inputs, target, labels=Clean())
    problems = [task.problem(0, d, replicate, 20_000) for replicate in range(replicates)]
    jobs = [Job(learner, p.train(n), Context(seed=p.replicate, square_mean=p.square_mean)) for p in problems]
    fitted = QuadDenseNet.fit_batch(jobs)
    assert not any(isinstance(one, Failure) for one in fitted), fitted
    predictions = [one.predict(p.test_x) for one, p in zip(fitted, problems, strict=True)]
    return np.array([[nmse(f, p.truth), nmse_trimmed(f, p.truth)] for f, p in zip(predictions, problems, strict=True)])


L3 = QuadraticDensenet(widths=(4, 2), alphas=(1.0, 0.3))
L4 = QuadraticDensenet(widths=(4, 2, 2), alphas=(1.0, 0.5, 0.25))
L5 = QuadraticDensenet(widths=(4, 2, 2, 2), alphas=(1.0, 0.5, 0.25, 0.125))
WIDE = QuadraticDensenet(widths=(8, 4), alphas=(1.0, 0.3))
CASES = {
    # the learner's options, the target, d, n, replicates, and the most that the NMSE may be: its mean, or each one
    "adam": ({}, L3, 20, 1000, 5, np.mean, 1e-4),
    "sgd": ({"optimizer": "sgd"}, L3, 20, 1000, 5, np.mean, 1e-3),
    "four layers": ({"widths": (20, 12, 8)}, L4, 20, 2000, 5, np.mean, 1e-3),
    "five layers": ({"widths": (20, 12, 8, 8)}, L5, 20, 8000, 5, np.mean, 1e-3),
    "two hundred dimensions": ({"widths": (24, 8)}, WIDE, 200, 16_000, 3, np.max, 1e-4),
    "a thousand": ({"first": "learned", "widths": (8, 6)}, SlideQuartic(), 1000, 20_000, 3, np.max, 1e-5),
}


@pytest.mark.parametrize("name", CASES)
def test_the_defaults_learn_the_target(name):
    options, target, d, n, replicates, of, bound = CASES[name]
    inputs = Gaussian() if name == "a thousand" else Uniform()
    found = errors(QuadDenseNet(**options), inputs, target, d, n, replicates)
    assert of(found[:, 0]) <= bound, found
    assert name != "five layers" or found[:, 1].mean() <= 1e-4, found
