"""Layers of a quadratic DenseNet fitted in turn by exact least squares, corrected through the identity link alone.

With the terms of all other layers fixed, the term of layer l is a quadratic form z^T Q z of its inputs z, and the best
one is a linear least squares problem. Layers are fitted forward, each to what those below leave of the labels. Then
rounds fit each layer again, the lowest first, to the labels less the terms of all others. A layer below hears of those
above through their terms in the output alone, which is the identity link of BFC footnote 5; no derivative passes them.

Letters in shapes: n points, q_l inputs and k_l features of layer l.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from bfc_plugins.quadratic.net import Params, QuadraticNet
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.skips import default_skips
from pydantic import Field, PositiveInt

from bfc_bench.learner import Context, Cost, Data, Learner
from bfc_bench.seeds import stream
from bfc_bench.toolkit.square_features import square_mean

ROUNDING = 1e-28
"""Mean squared residual over the variance of the labels that is rounding."""
SINGULAR = 1e-10
"""Smaller parts of a least squares problem are 0: products of the squares of k features are linearly dependent."""


class AlternatingLeastSquares(Learner):
    """Alternating least squares over the layers of a quadratic DenseNet, J_2 = {1}, J_3 = {0, 2}, J_l = {0, l-1}.

    Below the top, layer l keeps the k_l largest directions of its form, in the norm of the data, and passes on the
    squares of k_l (k_l + 1) / 2 random combinations of them, which span all of their products. Stages are ``layer2``,
    ``layer3``, ... of the forward pass, and ``round1``, ``round2``, ``round4``, ... The learner is told E x^2 of the
    input law.
    """

    name: ClassVar[str] = "alternating-least-squares"
    smoke: ClassVar[Mapping[str, Any]] = {"features": (2,), "rounds": 2}

    features: Annotated[tuple[Annotated[int, Field(ge=1, le=16)], ...], Field(min_length=1)] = (4,)
    """k_2..k_{L-1}, the numbers of features of the layers below the top."""
    top: PositiveInt | None = None
    """k_L, the number of squares of the top layer; None leaves its form as it is, with directions of either sign."""
    rounds: Annotated[int, Field(ge=0)] = 40
    """Largest number of rounds after the forward pass; they end when the residuals are rounding."""

    def fit(self, train: Data, ctx: Context) -> QuadraticPredictor:
        """Fit to x (n, d) and y (n,)."""
        x, y = np.asarray(train.x, np.float64), np.asarray(train.y, np.float64)
        scale, spread = float(np.sqrt(np.mean(x**2))) or 1.0, float(y.std()) or 1.0
        x, y, mean = x / scale, (y - y.mean()) / spread, np.asarray(square_mean(train.x, ctx)) / scale**2
        frames = {
            layer: np.linalg.qr(stream(ctx.seed, self.name, layer).standard_normal((k * (k + 1) // 2, k)))[0]
            for layer, k in enumerate(self.features, start=2)
        }
        fit = _Fit(x, y, mean, frames, self.top)

        def predictor(**extras: Any) -> QuadraticPredictor:
            """The network of the layers that have had a turn."""
            top, widths = max(fit.weights), tuple(len(rows) for rows in fit.weights.values())
            params: Params = {f"W{layer}": rows for layer, rows in fit.weights.items()}
            params |= {"log_alpha": np.zeros(len(widths)), "square_mean": mean}
            params["constant"] = np.mean(fit.residuals()) + train.y.mean() / spread
            net, signs = QuadraticNet(train.d, widths, default_skips(top)), {top: fit.signs[top]}
            return QuadraticPredictor(
                net, params, x * scale, y_scale=spread, input_scale=1 / scale, readouts=signs, **extras
            )

        depth = len(frames) + 2
        stages = {}
        for layer in range(2, depth + 1):
            fit.turn(layer)
            stages[f"layer{layer}"] = predictor()
        errors = [float(np.var(fit.residuals()))]
        while len(errors) <= self.rounds and errors[-1] > ROUNDING:
            for layer in range(2, depth + 1):
                fit.turn(layer)
            errors.append(float(np.var(fit.residuals())))
            if (done := len(errors) - 1) & (done - 1) == 0:
                stages[f"round{done}"] = predictor()
        return predictor(stages=stages, info={"rounds": len(errors) - 1, "train_errors": errors})

    def cost(self, n: int, d: int) -> Cost:
        """A QR decomposition for each layer and round."""
        inputs = [d, *(d + k * (k + 1) // 2 for k in self.features)]
        columns = [q * (q + 1) // 2 + 1 for q in inputs]
        turns = self.rounds + 1
        flops = turns * sum(2.0 * n * p * min(n, p) for p in columns)
        return Cost(flops, 24.0 * n * max(columns), work="products", seconds=2e-3 * turns * len(inputs))


@dataclass
class _Fit:
    """The layers of one fit that have had a turn, each with its term at the training points."""

    x: np.ndarray
    y: np.ndarray
    square_mean: np.ndarray
    frames: Mapping[int, np.ndarray]
    """Orthonormal columns (m_l, k_l) by layer below the top: with W_l = frame A_l, |W_l z|^2 = |A_l z|^2."""
    top: int | None
    weights: dict[int, np.ndarray] = field(default_factory=dict)
    """W_l, (m_l, q_l)."""
    signs: dict[int, np.ndarray] = field(default_factory=dict)
    """Signs (m_l,) of the units of W_l."""
    terms: dict[int, np.ndarray] = field(default_factory=dict)
    """Values (n,) at the training points."""

    def inputs(self, layer: int) -> np.ndarray:
        """z of a layer at the training points, (n, q_l)."""
        if layer == 2:
            return np.asarray(self.x**2 - self.square_mean)
        units = self.inputs(layer - 1) @ self.weights[layer - 1].T
        return np.hstack([self.x, units**2])

    def turn(self, layer: int) -> None:
        """Fit a layer to the labels less the terms of all others."""
        rest = self.y - sum(term for other, term in self.terms.items() if other != layer)
        z = self.inputs(layer)
        frame = self.frames.get(layer)
        directions, sizes = _quadratic_form(z, rest, self.top if frame is None else frame.shape[1])
        rows = np.sqrt(np.abs(sizes))[:, None] * directions
        self.weights[layer] = rows if frame is None else frame[:, : len(rows)] @ rows
        self.signs[layer] = np.sign(sizes) if frame is None else np.ones(len(frame))
        self.terms[layer] = (z @ rows.T) ** 2 @ np.sign(sizes)

    def residuals(self) -> np.ndarray:
        """The labels less the terms of all layers, at the training points, (n,)."""
        return np.asarray(self.y - sum(self.terms.values()))


def _quadratic_form(z: np.ndarray, y: np.ndarray, count: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Rows a_i (k, q), and sizes s (k,) of the least squares fit of c + sum_i s_i (a_i z)^2 to y (n,) at z (n, q).

    Of all such fits the one of least norm. At the points, E (a_i z)^2 = 1 and E (a_i z)(a_j z) = 0. The ``count``
    largest sizes, those below 0 as 0, or all.
    """
    from scipy.linalg import lstsq

    values, vectors = np.linalg.eigh(z.T @ z / len(z))
    kept = values > SINGULAR * values[-1]
    whiten = (vectors[:, kept] / np.sqrt(values[kept])).T
    u = z @ whiten.T
    rows, columns = np.triu_indices(u.shape[1])
    design = np.hstack([np.ones((len(u), 1)), u[:, rows] * u[:, columns]])
    solution = lstsq(design, y, SINGULAR, lapack_driver="gelsy")[0]
    form = np.zeros((u.shape[1], u.shape[1]))
    form[rows, columns] = solution[1:] / 2
    sizes, turned = np.linalg.eigh(form + form.T)
    if count is not None:
        sizes, turned = np.maximum(sizes[::-1][:count], 0.0), turned[:, ::-1][:, :count]
    return turned.T @ whiten, sizes
