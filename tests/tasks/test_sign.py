"""Binary labels that are the sign of the target."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bfc_bench import load_learner
from bfc_bench.learner import Context
from bfc_bench.tasks.inputs.uniform import Sphere
from bfc_bench.tasks.labels import Sign
from bfc_bench.tasks.metrics import error_rate
from bfc_bench.tasks.targets.lowrank_poly import LowrankPoly
from bfc_bench.tasks.teacher_task import TeacherTask

D = 6


@pytest.mark.parametrize("form", ["gegenbauer", "monomial"])
def test_labels_are_the_signs_of_the_centred_target_and_both_classes_are_seen(form):
    p = TeacherTask("sign", Sphere(), LowrankPoly(degree=2, form=form), labels=Sign()).problem(0, D, 0, 20_000)
    values = p.drawn(p.test_x) - p.labelling.mean
    assert np.array_equal(p.test_y[values != 0], np.sign(values[values != 0]))
    assert 0.25 < np.mean(p.test_y > 0) < 0.75
    assert p.spec(10).kind == p.train(10).kind == p.task.facts(D).kind == "binary"


def test_a_quadratic_model_learns_the_sign_of_a_quadratic_target():
    p = TeacherTask("sign", Sphere(), LowrankPoly(degree=2), labels=Sign(), unlabeled=2000).problem(0, D, 0, 4000)
    train, context = p.train(1000), Context(square_mean=p.square_mean, unlabeled=torch.tensor(p.unlabeled_inputs(0)))
    train = replace(train, x=torch.tensor(train.x), y=torch.tensor(train.y))
    wrong = {}
    for name in ("quad-neural", "ntk-raw"):
        predictor = load_learner(name).fit(train, context)
        wrong[name] = error_rate(predictor.predict(torch.tensor(p.test_x)).numpy(), p.truth)
    assert max(wrong.values()) < 0.1, wrong
