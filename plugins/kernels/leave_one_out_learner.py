"""Base class of kernels that learn features and choose by leave-one-out errors."""

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field, NonNegativeFloat

from bfc_bench.errors import BenchError
from bfc_bench.learner import Capabilities, Cost, Learner, TaskFacts
from bfc_bench.toolkit.ridge_learner import RidgeLearner

Ridges = Annotated[tuple[NonNegativeFloat, ...], Field(min_length=1)]


class LeaveOneOutLearner(Learner):
    """Kernel regressions, each with the one of several ridges that has the least leave-one-out error."""

    capabilities: ClassVar[Capabilities] = replace(RidgeLearner.capabilities, labels=frozenset({"real", "binary"}))

    ridges: Ridges = (1e-9, 1e-6, 1e-4, 1e-2, 1.0)
    """Ridges from which every regression chooses."""
    with_squares: bool = True
    """Whether the input is (x, x^2 - E x^2) instead of x."""

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip a single point, which has no leave-one-out error."""
        return f"leave-one-out errors need n >= 2; n is {n}" if n < 2 else None

    def unsolved(self, n: int) -> BenchError:
        """The error of a fit to n points for which no ridge makes the kernel matrix positive definite."""
        return BenchError(
            f"{self.name}: the kernel matrix plus one of the ridges {list(self.ridges)} must be positive definite; "
            f"at n = {n} none is in float64. Use a larger ridge, or look for inputs that are not finite."
        )

    def cost_of(self, regressions: float, n: int, matrices: int) -> Cost:
        """Cost of regressions on n points, with the inverses of their factors and ``matrices`` (n, n) in memory."""
        flops = regressions * (2 / 3 * n**3 + 20.0 * n**2)
        return Cost(flops, 8.0 * n**2 * matrices + 2.0**24, work="products", seconds=1e-4 * regressions)
