"""Options of all quadratic Taylor models, with costs and checks that need no training.

Shapes: n points, d input dimension, D features, m units.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat

from bfc_bench.learner import BatchLearner, Capabilities, Context, Cost, DataSpec, LabelKind, TaskFacts

if TYPE_CHECKING:
    from bfc_plugins.quadratic_taylor.model import LossName, Representation
    from torch import Tensor

RUNTIME_BYTES = 2**28
"""Memory of the libraries and their compilers, in bytes; every fit takes at least this."""
PATH = (1e-2, 1e-3, 1e-4)
"""Values of lambda that L-BFGS minimises at first, as warm starts for smaller ones."""
LBFGS_FLOPS = 1e7
"""Overhead of an L-BFGS iteration, about half a millisecond of calls, expressed in floating-point operations."""


class QuadraticTaylorOptions(BatchLearner):
    """Options of a quadratic Taylor model of a representation h; ``base.py`` trains it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        labels=frozenset({"real", "binary"}),
        arrays=("torch",),
        devices=frozenset({"cpu", "cuda"}),
        precision="float64 or float32",
    )
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"regularization": [1e-2, 1e-3, 1e-4, 1e-5]}

    width: Annotated[int, Field(ge=1)]
    """Number of units, m."""
    gate: Literal["indicator", "relu", "constant"]
    """sigma'': ``indicator`` is the paper's 1{t >= 0}; ``constant`` is its mean 1/2, which makes f_W quadratic in h."""
    loss: Literal["square", "logistic", "soft-hinge"] | None = None
    """Loss; None is square for real labels and logistic for binary ones; the last two need binary labels."""
    regularization: NonNegativeFloat = 1e-5
    """Strength lambda of the regulariser."""
    optimizer: Literal["lbfgs", "adam", "noisy-sgd"] = "lbfgs"
    """L-BFGS on all points in float64, or Adam or noisy SGD on minibatches in float32; all predict in float64."""
    iterations: Annotated[int, Field(ge=1)] = 60
    """Largest number of L-BFGS iterations at each lambda."""
    tolerance: NonNegativeFloat = 1e-2
    """L-BFGS stops at a lambda when ten iterations lower the regularised risk by less than this fraction."""
    steps: Annotated[int, Field(ge=1)] = 3000
    """Number of steps of Adam and noisy SGD, with a linear warm-up and then a cosine to 0."""
    batch_size: Annotated[int, Field(ge=1)] = 256
    """Size of a minibatch of Adam and noisy SGD."""
    lr: PositiveFloat | None = None
    """Peak learning rate; None is .01 for Adam and .3 for noisy SGD."""
    noise: NonNegativeFloat = 1e-4
    """Standard deviation of the noise that noisy SGD adds to every entry of the gradient."""
    init_scale: PositiveFloat = 0.6
    """Initial entries of W are N(0, init_scale^2 / D), not 0, because W = 0 is a stationary point."""

    @abstractmethod
    def dimension(self, d: int) -> int:
        """D at input dimension d."""

    @abstractmethod
    def represent(self, x: Tensor, scale: float, ctx: Context) -> Representation:
        """Compute the representation h."""

    def batch_key(self, train: DataSpec) -> Hashable:
        """L-BFGS batches all lambdas and sizes of one sample; an ensemble may mix samples."""
        shared = (self.name, *self.model_dump(exclude={"regularization"}).items(), train.d, train.kind)
        return (*shared, train.sample) if self.optimizer == "lbfgs" else shared

    def libraries(self) -> frozenset[str]:
        """Training on minibatches needs JAX."""
        return super().libraries() | (frozenset() if self.optimizer == "lbfgs" else {"jax"})

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip real labels with a logistic or soft hinge loss."""
        return self.mismatch(task.kind)

    def cost(self, n: int, d: int) -> Cost:
        """Two products with the features per evaluation, and whitening on about 10 D points."""
        size = self.dimension(d)
        parts = [20.0 * size**3]  # of the representation, then of each stage
        flops = point = self.width * (4.0 * size + 20)
        if self.optimizer == "lbfgs":
            parts += [1.2 * self.iterations * (n * point + LBFGS_FLOPS)] * len(self.schedule())
        else:
            flops = (1.5 * self.steps * self.batch_size + n) * point
        numbers = n * (size + 4 * self.width) + 24 * self.width * size + 6 * size**2 + 2048 * (size + 2 * self.width)
        bytes, weights = 8.0 * numbers + RUNTIME_BYTES, self.width * size
        return Cost(flops + sum(parts), bytes, work="steps", parameters=weights)

    def schedule(self) -> tuple[float, ...]:
        """The lambdas that L-BFGS minimises at, ending with ``regularization``."""
        return *(value for value in PATH if value > self.regularization), self.regularization

    def loss_for(self, kind: LabelKind) -> LossName:
        """The loss for labels of this kind."""
        return self.loss or ("logistic" if kind == "binary" else "square")

    def mismatch(self, kind: LabelKind) -> str | None:
        """Why the loss cannot be used with labels of this kind, or None."""
        loss = self.loss_for(kind)
        if kind == "binary" or loss == "square":
            return None
        return f"loss = {loss!r} needs binary labels; these are real numbers: use loss = 'square'"
