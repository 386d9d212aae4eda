"""The options that all quadratic Taylor models have, and what follows from them before anything is trained.

"Benefits of Neural Representations" (NR), model Quad-h.

Shapes: n points, d input dimension, D features, m units.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from bfc_bench.learner import (
    BatchLearner,
    Capabilities,
    Context,
    Cost,
    DataSpec,
    LabelKind,
    TaskFacts,
)

if TYPE_CHECKING:
    from bfc_plugins.quadratic_taylor.model import LossName, Representation
    from torch import Tensor

RUNTIME_BYTES = 2**28
"""Libraries and their compilers, the floor of a fit's memory."""
LBFGS_FLOPS = 1e7
"""What an iteration takes besides its products, in their flops: half a millisecond of calls, for a direction from 20
earlier steps and its line search."""


class QuadraticTaylorOptions(BatchLearner):
    """A quadratic Taylor model of some representation h as it is described; ``base.py`` says how it is trained."""

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
    """sigma'': 1{t >= 0} is the paper's; constant = 1/2, its mean, makes f_W a quadratic form in h."""
    loss: Literal["square", "logistic", "soft-hinge"] | None = None
    """None is square for real labels and logistic for binary ones; the last two need binary labels."""
    regularization: Annotated[float, Field(ge=0)] = 1e-5
    """lambda."""
    regularization_path: tuple[Annotated[float, Field(gt=0)], ...] = (1e-2, 1e-3, 1e-4)
    """Values of lambda through which L-BFGS comes down to ``regularization``; smaller ones than that are left out."""
    optimizer: Literal["lbfgs", "adam", "noisy-sgd"] = "lbfgs"
    """L-BFGS on all points in float64, the others on minibatches in float32; all predict in float64."""
    iterations: Annotated[int, Field(ge=1)] = 60
    """Of L-BFGS at each lambda, at most."""
    tolerance: Annotated[float, Field(ge=0)] = 1e-2
    """L-BFGS leaves a lambda when ten iterations lower the regularised risk by less than this share."""
    steps: Annotated[int, Field(ge=1)] = 3000
    """Of Adam and noisy SGD, with linear warm-up, then a cosine to 0."""
    batch_size: Annotated[int, Field(ge=1)] = 256
    """Points of a minibatch, of Adam and noisy SGD."""
    lr: Annotated[float, Field(gt=0)] | None = None
    """Peak learning rate; None is .01 for Adam and .3 for noisy SGD."""
    noise: Annotated[float, Field(ge=0)] = 1e-4
    """Standard deviation of what noisy SGD adds to every entry of the gradient."""
    init_scale: Annotated[float, Field(gt=0)] = 0.6
    """Entries of W start as N(0, init_scale^2 / D), since W = 0 is a stationary point."""

    @abstractmethod
    def dimension(self, d: int) -> int:
        """D at input dimension d."""

    @abstractmethod
    def represent(self, x: Tensor, scale: float, ctx: Context) -> Representation:
        """h, for training inputs x (n, d) of typical norm 1 / ``scale``. Raises ``BenchError`` where it cannot be."""

    def batch_key(self, train: DataSpec) -> Hashable:
        """All lambdas and sizes of one sample share a representation; an ensemble may have any samples."""
        shared = (self.name, *self.model_dump(exclude={"regularization"}).items(), train.d, train.kind)
        return (*shared, train.sample) if self.optimizer == "lbfgs" else shared

    def libraries(self) -> frozenset[str]:
        """Steps on minibatches are compiled by JAX."""
        return super().libraries() | (frozenset() if self.optimizer == "lbfgs" else {"jax"})

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Logistic and soft hinge losses need binary labels."""
        return self.mismatch(task.kind)

    def cost(self, n: int, d: int) -> Cost:
        """Two products with the features per evaluation, and whitening on some 10 D points; memory is features,
        coefficients and search directions. The jobs of a sample share the representation and, of L-BFGS, each lambda
        that their schedules have come to in the same way.
        """
        size = self.dimension(d)
        shared: dict[Hashable, float] = {"representation": 20.0 * size**3}
        flops = point = self.width * (4.0 * size + 20)
        if self.optimizer == "lbfgs":
            schedule = self.schedule()
            stage = 1.2 * self.iterations * (n * point + LBFGS_FLOPS)
            shared |= {(n, schedule[:k]): stage for k in range(1, len(schedule) + 1)}
        else:
            flops = (1.5 * self.steps * self.batch_size + n) * point
        numbers = n * (size + 4 * self.width) + 24 * self.width * size + 6 * size**2 + 2048 * (size + 2 * self.width)
        return Cost(flops + sum(shared.values()), bytes=8.0 * numbers + RUNTIME_BYTES, shared=shared, work="steps")

    def schedule(self) -> tuple[float, ...]:
        """The lambdas that L-BFGS goes through, the last of them ``regularization``."""
        before = sorted({value for value in self.regularization_path if value > self.regularization}, reverse=True)
        return *before, self.regularization

    def loss_for(self, kind: LabelKind) -> LossName:
        """The loss for labels of a kind."""
        return self.loss or ("logistic" if kind == "binary" else "square")

    def mismatch(self, kind: LabelKind) -> str | None:
        """Why the loss does not go with labels of a kind, or None."""
        loss = self.loss_for(kind)
        if kind == "binary" or loss == "square":
            return None
        return f"loss = {loss!r} needs binary labels; these are real numbers: use loss = 'square'"
