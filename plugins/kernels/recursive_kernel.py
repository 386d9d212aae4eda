"""Recursive feature machines: kernel ridge regression whose metric is learned from the gradients of its own fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bfc_plugins.kernels.leave_one_out_learner import LeaveOneOutLearner
from pydantic import Field

from bfc_bench.learner import Context, Cost, Data, Predictor

if TYPE_CHECKING:
    from bfc_plugins.kernels.first_inputs import FirstInputs
    from bfc_plugins.kernels.polynomial import Poly
    from torch import Tensor


class RecursiveKernel(LeaveOneOutLearner):
    """A recursive feature machine (Radhakrishnan et al., Science 383, 2024, Algorithm 1) with a polynomial kernel.

    Rounds of regression with k(M^(1/2) z, M^(1/2) z') on z = (x, x^2 - E x^2). M is the average outer product of the
    gradients of the round before, the identity at first. Leave-one-out errors choose the ridge of each round and the
    round. The learner is told E x^2 of the input law.
    """

    name: ClassVar[str] = "recursive-kernel"
    smoke: ClassVar[Mapping[str, Any]] = {"degree": 2, "ridges": [1e-2]}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"degree": [2, 3, 4]}

    degree: Annotated[int, Field(ge=1)] = 4
    """Degree of the kernel."""
    rounds: Annotated[int, Field(ge=1)] = 9
    """Number of rounds; the first is a kernel without a metric."""

    def fit(self, train: Data, ctx: Context) -> RecursivePredictor:
        """Fit to x (n, d) and y (n,). Raises ``BenchError`` if no ridge makes the kernel matrix positive definite."""
        from bfc_plugins.kernels.first_inputs import FirstInputs
        from bfc_plugins.kernels.polynomial import Poly
        from bfc_plugins.kernels.recursive_features import recursive_rounds

        inputs = FirstInputs(train, ctx, self.with_squares)
        z, y, kernel = inputs(train.x), inputs.like(train.y), Poly(self.degree)
        mean = y.mean()
        rounds = recursive_rounds(z, y - mean, kernel, self.ridges, self.rounds)
        if not rounds:
            raise self.unsolved(train.n)
        number, best = min(enumerate(rounds, 1), key=lambda each: each[1].fit.error)
        info = {"round": number, "ridge": best.fit.ridge}
        return RecursivePredictor(inputs, kernel, best.root, z @ best.root, best.fit.weights, mean, info)

    def cost(self, n: int, d: int) -> Cost:
        """A regression and the inverse of its factor for each round and ridge."""
        return self.cost_of(self.rounds * len(self.ridges), n, matrices=5)


@dataclass(frozen=True)
class RecursivePredictor(Predictor):
    """sum_i w_i k(M^(1/2) z, M^(1/2) z_i) + mean."""

    inputs: FirstInputs
    kernel: Poly
    root: Tensor
    """M^(1/2), (p, p)."""
    centres: Tensor
    """M^(1/2) z_i of the n training points, (n, p)."""
    weights: Tensor
    """w, (n,)."""
    mean: Tensor
    """Mean of the training labels, scalar."""
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: Tensor) -> Tensor:
        """Predictions (m,) at x (m, d)."""
        return self.kernel.matrix(self.inputs(x) @ self.root, self.centres) @ self.weights + self.mean
