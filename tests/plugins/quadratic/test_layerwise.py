"""Frozen means frozen, and the baseline is given every chance."""

from __future__ import annotations

import numpy as np
import pytest
from bfc_plugins.quadratic.layerwise import Layerwise
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet

from bfc_bench.learner import Context
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels import Clean
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.teacher_task import TeacherProblem, TeacherTask

SMALL = {"widths": (6, 4), "steps": 60, "batch_size": 32}


@pytest.fixture(scope="module")
def problem() -> TeacherProblem:
    return TeacherTask("teacher", Uniform(), QuadraticDensenet(widths=(3, 2), alphas=(1.0, 0.3)), Clean()).problem(
        0, 6, 0, 4096
    )


def fit(learner, problem: TeacherProblem, n: int):
    return learner.fit(problem.train(n), Context(seed=1, square_mean=problem.square_mean))


def nmse(predictor, problem: TeacherProblem) -> float:
    return float(np.mean((predictor.predict(problem.test_x) - problem.test_y) ** 2) / np.var(problem.test_y))


@pytest.mark.parametrize("readout", ["sum", "signed"])
def test_lower_layers_stay_frozen_bitwise(readout, problem):
    fitted = fit(Layerwise(**{**SMALL, "widths": (6, 4, 3)}, readout=readout), problem, 100)
    assert list(fitted.stages) == ["layer2", "layer3", "layer4"]
    for name, stage in fitted.stages.items():
        features = stage.hidden(problem.test_x)
        assert list(features) == [f"S{layer}" for layer in range(2, int(name[5:]) + 1)]
        for layer, value in features.items():
            np.testing.assert_array_equal(value, fitted.hidden(problem.test_x)[layer])
    np.testing.assert_array_equal(fitted.stages["layer4"].predict(problem.test_x), fitted.predict(problem.test_x))


def test_first_stage_is_a_shallow_network_trained_alone(problem):
    deep = fit(Layerwise(**SMALL), problem, 100)
    shallow = fit(Layerwise(**{**SMALL, "widths": (6,)}), problem, 100)
    np.testing.assert_allclose(
        deep.stages["layer2"].predict(problem.test_x), shallow.predict(problem.test_x), rtol=1e-4
    )


def test_each_stage_improves_and_signed_readouts_help(problem):
    options = {"widths": (10, 6), "steps": 1500}
    plain, signed = (fit(Layerwise(**options, readout=readout), problem, 500) for readout in ("sum", "signed"))
    assert nmse(plain.stages["layer2"], problem) > nmse(plain, problem) > nmse(signed, problem)
    # Stage 2 knows nothing of read-outs: both variants share it.
    np.testing.assert_array_equal(
        plain.stages["layer2"].predict(problem.test_x), signed.stages["layer2"].predict(problem.test_x)
    )
    assert len(plain.info["stage_losses"]) == 2
    assert plain.info["final_loss"] == plain.info["stage_losses"][-1]


@pytest.mark.slow
@pytest.mark.parametrize("readout", ["sum", "signed"])
def test_training_longer_does_not_close_the_gap_to_joint(readout):
    task = TeacherTask("teacher", Uniform(), QuadraticDensenet(widths=(4, 2), alphas=(1.0, 0.3)), Clean())
    p = task.problem(0, 10, 0, 8192)
    errors = [
        nmse(fit(Layerwise(readout=readout, steps=steps, lr=lr), p, 800), p)
        for steps in (3000, 10_000)
        for lr in (1e-3, 2e-3)
    ]
    assert min(errors) >= 1e-3
    assert nmse(fit(QuadDenseNet(), p, 800), p) <= 1e-5
