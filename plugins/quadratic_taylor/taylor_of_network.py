"""Gradient descent on a two-layer network, or on its linear or quadratic Taylor model around the initial weights.

Bai et al. 2020, "Taylorized Training" (arXiv 2002.04010); "Benefits of Neural Representations" (NR), section 3.

Shapes: n and m points, d input dimension, k units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field, PositiveFloat

from bfc_bench.errors import Diverged
from bfc_bench.learner import Context, Cost, Data, Learner, Predictor
from bfc_bench.seeds import stream
from bfc_bench.toolkit.square_features import nominal_square_norm, square_mean

Expansion: TypeAlias = Literal["network", "linear", "quadratic"]
Activation: TypeAlias = Literal["relu2", "tanh"]


class TaylorOfNetwork(Learner):
    """``f(x) = k^-1/2 sum_r a_r sigma(w_r.x)``, or its Taylor model in (W, a), trained by gradient descent.

    Initially a_r = +1 and -1 in turn, and w_r ~ N(0, I). Inputs are scaled to a typical norm of 1, labels are
    standardised. The network and its models begin at the same weights. Rows have ``chosen.info.distance``, how far the
    predictions are from those of the network after as many steps: the mean square difference, over the mean square of
    what the network has learned, on the task's inputs without labels, or on the training inputs if it has none.
    """

    name: ClassVar[str] = "taylor-of-network"
    smoke: ClassVar[Mapping[str, Any]] = {"width": 12, "steps": 20}

    model: Expansion = "quadratic"
    """What is trained: the network itself, or its Taylor polynomial of degree 1 or 2."""
    width: Annotated[int, Field(ge=1)] = 256
    """Number of units k."""
    activation: Activation = "relu2"
    """sigma: ``relu2`` is the paper's relu(t)^2/2."""
    steps: Annotated[int, Field(ge=1)] = 1000
    """Number of steps."""
    lr: PositiveFloat = 0.5
    """Learning rate, for half the mean square error."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit to the n training points. Raises ``Diverged`` if a weight is not finite."""
        scale = (nominal_square_norm(square_mean(train.x, ctx), squares=False) or 1.0) ** -0.5
        offset, unit = float(train.y.mean()), float(train.y.std()) or 1.0
        x, y = scale * train.x, (train.y - offset) / unit
        normal = stream(ctx.seed, self.name).standard_normal((train.d, self.width))
        signs = 1.0 - 2.0 * (np.arange(self.width) % 2)
        start = TaylorModel("network", self.activation, normal, signs, normal, signs)
        network = self._descend(start, x, y)
        fitted = network if self.model == "network" else self._descend(replace(start, kind=self.model), x, y)
        at = x if ctx.unlabeled is None else scale * ctx.unlabeled
        learned = np.mean((network(at) - start(at)) ** 2) or 1.0
        distance = float(np.mean((fitted(at) - network(at)) ** 2) / learned)
        return TaylorPredictor(fitted, scale, unit, offset, {"distance": distance})

    def _descend(self, model: TaylorModel, x: np.ndarray, y: np.ndarray) -> TaylorModel:
        """The model after the steps, on scaled points (n, d) and labels (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(self.steps):
                model = model.after_step(x, y, self.lr)
        if not (np.isfinite(model.W).all() and np.isfinite(model.a).all()):
            raise Diverged(f"{self.name}: weights of the {model.kind} model are not finite. Use an lr below {self.lr}.")
        return model

    def cost(self, n: int, d: int) -> Cost:
        """Two trainings; a step takes three products with the points and about 40 operations per point and unit."""
        flops = (1 if self.model == "network" else 2) * self.steps * n * self.width * (6.0 * d + 40)
        weights = self.width * (d + 1)
        return Cost(flops, 8.0 * (n * (d + 12 * self.width) + 8 * weights), work="steps", parameters=weights)


@dataclass(frozen=True)
class TaylorModel:
    """A network, or its Taylor polynomial around (W_0, a_0), as a function of scaled points."""

    kind: Expansion
    activation: Activation
    W0: np.ndarray
    a0: np.ndarray
    W: np.ndarray
    """(d, k)."""
    a: np.ndarray
    """(k,)."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """(m,) at x (m, d)."""
        return np.asarray(self._units(x)[0].sum(1) * len(self.a) ** -0.5)

    def after_step(self, x: np.ndarray, y: np.ndarray, lr: float) -> TaylorModel:
        """One step of gradient descent on half the mean square error of x (n, d), y (n,)."""
        values, by_a, by_product = self._units(x)
        slopes = (values.sum(1) * len(self.a) ** -0.5 - y) * (lr / len(y) * len(self.a) ** -0.5)
        W = self.W - x.T @ (slopes[:, None] * by_product)
        return replace(self, W=W, a=self.a - slopes @ by_a)

    def _units(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Each unit's term at each point, and its derivatives in a_r and in the product w_r.x, (n, k) each."""
        if self.kind == "network":
            s, s1, _ = _derivatives(self.activation, x @ self.W)
            return self.a * s, s, self.a * s1
        s, s1, s2 = _derivatives(self.activation, x @ self.W0)
        moved = x @ (self.W - self.W0)
        if self.kind == "linear":
            return self.a * s + self.a0 * s1 * moved, s, self.a0 * s1
        curved = self.a0 * s2 * moved
        return self.a * (s + s1 * moved) + 0.5 * curved * moved, s + s1 * moved, self.a * s1 + curved


def _derivatives(activation: Activation, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """sigma, sigma' and sigma'' at t."""
    if activation == "relu2":
        positive = np.maximum(t, 0)
        return positive**2 / 2, positive, (t > 0).astype(t.dtype)
    value = np.tanh(t)
    slope = 1 - value**2
    return value, slope, -2 * value * slope


@dataclass(frozen=True)
class TaylorPredictor(Predictor):
    """``unit * model(scale * x) + offset``."""

    model: TaylorModel
    scale: float
    unit: float
    offset: float
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Predictions (m,) at x (m, d)."""
        return self.unit * self.model(self.scale * x) + self.offset
