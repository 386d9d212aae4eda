"""Recursive feature machines: kernel ridge regression whose metric is learned from the gradients of its own fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from bfc_bench.errors import BenchError
from bfc_bench.learner import Capabilities, Context, Cost, Data, Learner, Predictor, TaskFacts
from bfc_bench.toolkit.ridge_learner import RidgeLearner

if TYPE_CHECKING:
    from bfc_plugins.kernels.first_inputs import FirstInputs
    from bfc_plugins.kernels.polynomial import Poly
    from torch import Tensor


class RecursiveKernel(Learner):
    """A recursive feature machine (Radhakrishnan et al., Science 383, 2024, Algorithm 1) with a polynomial kernel.

    Rounds of regression with k(M^(1/2) z, M^(1/2) z') on z = (x, x^2 - E x^2). M is the average outer product of the
    gradients of the round before, the identity at first. Leave-one-out errors choose the ridge of each round and the
    round. The learner is told E x^2 of the input law.
    """

    name: ClassVar[str] = "recursive-kernel"
    capabilities: ClassVar[Capabilities] = replace(RidgeLearner.capabilities, labels=frozenset({"real", "binary"}))
    smoke: ClassVar[Mapping[str, Any]] = {"degree": 2, "ridges": [1e-2]}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"degree": [2, 3, 4]}

    degree: Annotated[int, Field(ge=1)] = 4
    """Degree of the kernel."""
    ridges: Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(min_length=1)] = (1e-9, 1e-6, 1e-4, 1e-2, 1.0)
    """Ridges from which each round chooses."""
    rounds: Annotated[int, Field(ge=1)] = 9
    """Number of rounds; the first is a kernel without a metric."""
    with_squares: bool = True
    """Whether the input is (x, x^2 - E x^2) instead of x."""

    def fit(self, train: Data, ctx: Context) -> RecursivePredictor:
        """Fit to x (n, d) and y (n,). Raises ``BenchError`` if no ridge makes the kernel matrix positive definite."""
        from bfc_plugins.kernels.first_inputs import FirstInputs
        from bfc_plugins.kernels.polynomial import Poly
        from bfc_plugins.kernels.recursive_features import recursive_rounds

        inputs = FirstInputs.of(train, ctx, self.with_squares)
        z, y, kernel = inputs(train.x), inputs.like(train.y), Poly(self.degree)
        mean = y.mean()
        rounds = recursive_rounds(z, y - mean, kernel, self.ridges, self.rounds)
        if not rounds:
            raise BenchError(
                f"{self.name}: the kernel matrix plus one of the ridges {list(self.ridges)} must be positive definite; "
                f"at n = {train.n} none is in float64. Use a larger ridge, or look for inputs that are not finite."
            )
        number, best = min(enumerate(rounds, 1), key=lambda each: each[1].fit.error)
        info = {"round": number, "ridge": best.fit.ridge}
        return RecursivePredictor(inputs, kernel, best.root, z @ best.root, best.fit.weights, mean, info)

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip a single point, which has no leave-one-out error."""
        return f"leave-one-out errors need n >= 2; n is {n}" if n < 2 else None

    def cost(self, n: int, d: int) -> Cost:
        """A regression and the inverse of its factor for each round and ridge."""
        regressions = self.rounds * len(self.ridges)
        return Cost(
            regressions * (2 / 3 * n**3 + 20.0 * n**2),
            40.0 * n**2 + 2.0**24,
            work="products",
            seconds=1e-4 * regressions,
        )


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
