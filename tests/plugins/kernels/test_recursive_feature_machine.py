"""Recursive feature machines: round 1 is kernel ridge regression, later rounds find the directions that matter."""

import numpy as np
import pytest
import torch
from bfc_plugins.kernels.kernel_ridge import KernelRidge
from bfc_plugins.kernels.recursive_feature_machine import RecursiveFeatureMachine

from bfc_bench.errors import BenchError, UsageError
from bfc_bench.learner import Context, Data, TaskFacts
from bfc_bench.testing import check_learner

KERNELS = ["poly", "rbf", "laplace"]


def sample(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d)))


def given(x: torch.Tensor, y: torch.Tensor) -> Data:
    return Data(sample="s", n=len(x), d=x.shape[1], x=x, y=y)


def law(d: int) -> Context:
    return Context(square_mean=np.ones(d))


def test_keeps_the_contract():
    check_learner(RecursiveFeatureMachine)


@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_round_one_is_kernel_ridge(kernel, squares):
    x, test = sample(60, 4), sample(20, 4, 1)
    data = given(x, x[:, 0] * x[:, 1] + 3)
    common = {"kernel": kernel, "degree": 3, "with_squares": squares}
    expected = KernelRidge(ridge=1e-3, **common).fit(data, law(4)).predict(test)
    for rounds in (1, 3):
        fitted = RecursiveFeatureMachine(rounds=rounds, ridges=(1e-3,), **common).fit(data, law(4))
        assert torch.allclose(fitted.stages["round1"].predict(test), expected, rtol=0, atol=1e-9)
        assert torch.equal(fitted.stages[f"round{rounds}"].predict(test), fitted.predict(test))


@pytest.mark.parametrize("kernel", KERNELS)
def test_rounds_find_the_direction_of_a_ridge_function(kernel):
    x, test = sample(300, 12), sample(500, 12, 1)
    u = torch.nn.functional.normalize(sample(1, 12, 2))[0]

    def target(points: torch.Tensor) -> torch.Tensor:
        return (points @ u) ** 2 + points @ u

    learner = RecursiveFeatureMachine(kernel=kernel, with_squares=False, rounds=5)
    fitted = learner.fit(given(x, target(x)), law(12))
    errors = [float(((s.predict(test) - target(test)) ** 2).mean()) for s in fitted.stages.values()]
    assert errors[-1] < errors[0] / 5
    root = fitted.rounds[-1].root
    assert (u @ root).norm() > 0.9 * torch.linalg.matrix_norm(root)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rotated_inputs_give_equal_predictions(kernel):
    x, test = sample(80, 5), sample(30, 5, 1)
    y = x[:, 0] * x[:, 1] + x[:, 2]
    turn = torch.linalg.qr(sample(5, 5, 3)).Q
    learner = RecursiveFeatureMachine(kernel=kernel, with_squares=False, rounds=3, ridges=(1e-3,))
    before = learner.fit(given(x, y), law(5)).predict(test)
    after = learner.fit(given(x @ turn, y), law(5)).predict(test @ turn)
    assert torch.allclose(before, after, rtol=0, atol=1e-8 * float(before.abs().max()))


def test_every_round_has_inputs_of_mean_square_norm_one():
    x = sample(50, 4)
    fitted = RecursiveFeatureMachine(kernel="rbf", rounds=3).fit(given(x, x[:, 0] ** 3), law(4))
    for each in fitted.rounds[1:]:
        u = fitted.z @ each.root
        assert float((u * u).sum(1).mean()) == pytest.approx(1)


def test_constant_labels_are_predicted():
    x = sample(20, 3)
    fitted = RecursiveFeatureMachine(rounds=2).fit(given(x, torch.full((20,), 4.0, dtype=x.dtype)), law(3))
    assert torch.allclose(fitted.predict(x), torch.full((20,), 4.0, dtype=x.dtype))


def test_what_cannot_be_fitted_is_named():
    x = sample(20, 3)
    x[3] = torch.inf
    with pytest.raises(BenchError, match=r"recursive-feature-machine: .* at n = 20 none is in float64"):
        RecursiveFeatureMachine().fit(given(x, x[:, 0]), law(3))
    facts = TaskFacts("t", "uniform", "target", "clean", "real", 4, 0)
    assert RecursiveFeatureMachine().skip(facts, 1) == "leave-one-out errors need n >= 2; n is 1"
    assert RecursiveFeatureMachine().skip(facts, 2) is None
    with pytest.raises(UsageError, match="kernel must be 'poly', 'rbf' or 'laplace'"):
        RecursiveFeatureMachine.parse({"kernel": "gauss"}, "suite: learner")
