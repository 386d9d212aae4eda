"""Recursive feature machines: kernel ridge regression that learns the metric of its kernel from its own gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from bfc_bench.errors import BenchError
from bfc_bench.learner import Capabilities, Context, Cost, Data, Learner, Predictor, TaskFacts

if TYPE_CHECKING:
    from bfc_plugins.kernels.first_inputs import FirstInputs
    from bfc_plugins.kernels.gradient_kernels import GradientKernel
    from bfc_plugins.kernels.leave_one_out import RidgeFit
    from bfc_plugins.kernels.recursive_features import RecursiveRound
    from torch import Tensor

CHUNK = 4096
"""Number of points at which predictions are computed at once."""

Ridges = Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(min_length=1)]


class RecursiveFeatureMachine(Learner):
    """Rounds of kernel ridge regression with k(M^(1/2) z, M^(1/2) z'), M from the gradients of the round before.

    Source: Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models", Science 383 (2024), Algorithm 1. M is a multiple of the identity in
    round 1, and then the average outer product of the fit's gradients at the training points, scaled such that
    |M^(1/2) z|^2 is 1 on average. Every round chooses its ridge by the leave-one-out error. float64.

    Stages are ``round1``, ``round2``, ...; the predictor is the last round. The learner is told the law's E x^2 and,
    with ``with_squares``, the first layer of a target of BFC; nothing else about the target.
    """

    name: ClassVar[str] = "recursive-feature-machine"
    capabilities: ClassVar[Capabilities] = Capabilities(
        labels=frozenset({"real", "binary"}), arrays=("torch",), devices=frozenset({"cpu", "cuda"}), max_n=20_000
    )
    smoke: ClassVar[Mapping[str, Any]] = {"rounds": 2, "ridges": (1e-3,)}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"gamma": [0.03, 0.3, 1.0]}

    kernel: Literal["poly", "rbf", "laplace"] = "laplace"
    """Family of the kernel of u = M^(1/2) z, whose mean square norm is 1: ``poly``, ((1 + gamma <u, v>) / (1 +
    gamma))^degree; ``rbf``, exp(-gamma |u - v|^2); ``laplace``, exp(-sqrt(gamma) |u - v|)."""
    degree: Annotated[int, Field(ge=1)] = 4
    """Degree of ``poly``."""
    gamma: Annotated[float, Field(gt=0)] = 1.0
    """Inverse squared length of the kernel."""
    rounds: Annotated[int, Field(ge=1)] = 5
    """Number of rounds. Round 1 is kernel ridge regression."""
    ridges: Ridges = (1e-9, 1e-6, 1e-3, 1.0)
    """Ridges from which every round chooses."""
    with_squares: bool = True
    """Whether z is (x, x^2 - E x^2) instead of x."""
    center: bool = True
    """Whether the mean of the training labels is subtracted before the fit and added to predictions."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit to n points. Raises ``BenchError`` if a round's kernel matrix cannot be factored with any ridge."""
        from bfc_plugins.kernels.first_inputs import FirstInputs
        from bfc_plugins.kernels.gradient_kernels import make_gradient_kernel
        from bfc_plugins.kernels.leave_one_out import ridge_fit
        from bfc_plugins.kernels.recursive_features import recursive_rounds

        inputs = FirstInputs.of(train, ctx, self.with_squares)
        z, y = inputs(train.x), inputs.like(train.y)
        offset = y.mean() if self.center else y.new_zeros(())
        kernel = make_gradient_kernel(self.kernel, self.gamma, self.degree)
        fits: list[RidgeFit] = []

        def fit(root: Tensor) -> Tensor | None:
            u = z @ root
            fits.append(ridge_fit(kernel.matrix(u, u), y - offset, self.ridges))
            return fits[-1].weights if isfinite(fits[-1].error) else None

        rounds = tuple(islice(recursive_rounds(z, kernel, fit, inputs.square_norm), self.rounds))
        if len(rounds) < self.rounds:
            raise BenchError(unsolvable(self.name, self.ridges, train.n))
        info = {"ridges": [each.ridge for each in fits], "leave_one_out": [each.error for each in fits]}
        return RecursivePredictor(inputs, kernel, z, rounds, offset, info)

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip a single point, which has no leave-one-out error."""
        return f"leave-one-out errors need n >= 2; n is {n}" if n < 2 else super().skip(task, n)

    def cost(self, n: int, d: int) -> Cost:
        """Per round a kernel matrix, a factor and its inverse for each ridge, and gradients."""
        p = 2 * d if self.with_squares else d
        one = 4.0 * n**2 * (p + 20) + 4 / 3 * n**3 * len(self.ridges) + 10.0 * p**3
        bytes, seconds = 5 * 8.0 * n**2 + 2.0**24, 1e-3 * self.rounds
        return Cost(self.rounds * one, bytes, work="products", seconds=seconds, parameters=n + p**2)


@dataclass(frozen=True)
class RecursivePredictor(Predictor):
    """The regression of the last round, and the rounds before."""

    inputs: FirstInputs
    kernel: GradientKernel
    z: Tensor
    """Training points, (n, p)."""
    rounds: tuple[RecursiveRound, ...]
    offset: Tensor
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: Tensor) -> Tensor:
        """The last round's predictions, (m,), at x (m, d)."""
        import torch

        last = self.rounds[-1]
        centres, parts = self.z @ last.root, self.inputs(x).split(CHUNK)
        values = [self.kernel.matrix(part @ last.root, centres) @ last.weights for part in parts]
        return torch.cat(values) + self.offset

    @property
    def stages(self) -> Mapping[str, Predictor]:
        """The predictor after each round."""
        return {f"round{k}": replace(self, rounds=self.rounds[:k]) for k in range(1, len(self.rounds) + 1)}


def unsolvable(name: str, ridges: Sequence[float], n: int) -> str:
    """The message where no ridge gives a fit.

    Args:
        name: Name of the learner.
        ridges: The ridges that were tried.
        n: Number of training points.
    """
    return (
        f"{name}: the kernel matrix plus one of the ridges {list(ridges)} must be positive definite; at n = {n} none "
        "is in float64. Use a larger ridge, or look for inputs that are not finite."
    )
