"""Scaled data and initial parameters of one fit of a quadratic DenseNet, and predictors in the data's units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from bfc_plugins.quadratic.net import Params, QuadraticNet
from bfc_plugins.quadratic.predictor import QuadraticPredictor, weight_alignment, weight_correlation

from bfc_bench.learner import LabelKind


@dataclass(frozen=True)
class Setup:
    """Scaled data, initial parameters and their rates."""

    net: QuadraticNet
    params: Params
    x: np.ndarray
    """Scaled inputs, (n, d), float64."""
    y: np.ndarray
    """Scaled labels, (n,), float64; v y for binary ones."""
    y_scale: float
    input_scale: float
    seed: int
    kind: LabelKind
    rates: Params
    """Factors of the learning rate, in the structure of ``params``; 0 if not trained."""
    low_rank: bool = False
    """Whether each W_l is trained as a product of two factors, so that its rank never exceeds that of ``params``."""
    penalty: float = 0.0
    """Factor of the mean of F - constant in the objective."""

    def part(self, rows: np.ndarray) -> Setup:
        """The same fit on the points selected by booleans (n,)."""
        return replace(self, x=self.x[rows], y=self.y[rows])

    def squared_errors(self, predictor: QuadraticPredictor) -> np.ndarray:
        """(F - y)^2, (n,), at the points of this fit, for scaled labels."""
        return np.asarray((predictor.predict(self.x / self.input_scale) / self.y_scale - self.y) ** 2)

    def predictor(self, net: QuadraticNet, params: Params, **extras: Any) -> QuadraticPredictor:
        """The predictor of a trained network, in the units of the data."""
        return QuadraticPredictor(net, params, self.x / self.input_scale, self.y_scale, self.input_scale, **extras)

    def corrections(self, final: QuadraticPredictor) -> dict[str, dict[str, dict[str, float]]]:
        """Similarity of the initial and each stage's weights to the final ones: {measure: {stage: {"W2": ...}}}."""
        states = {"start": self.params, **{name: stage.params for name, stage in final.stages.items()}}
        return {
            measure.__name__: {
                name: {key: measure(value, final.params[key]) for key, value in params.items() if key.startswith("W")}
                for name, params in states.items()
            }
            for measure in (weight_correlation, weight_alignment)
        }


def with_linear_term(
    net: QuadraticNet, params: Params, rates: Params, column: int | None, input_scale: float
) -> tuple[Params, Params]:
    """Parameters and factors of their learning rates with a linear term ``linear`` (d,), which makes F a margin.

    Y(x_0, x) = sgn(x_0 + G*(x)) (BFC section 3.2, lines 395-445) is fitted by sgn(x_0 + F(x)).

    With a column c the margin is x_c + F(the other columns): the linear term stays x_c, and weights that read x_c stay
    zero. Without it, F reads all columns, and the linear term is trained from zero.
    """
    if column is None:
        return {**params, "linear": np.zeros(net.d)}, {**rates, "linear": 1.0}
    params, rates = {**params, "linear": np.eye(net.d)[column] / input_scale}, {**rates, "linear": 0.0}
    for layer in net.layers():
        used = ~net.reads(layer, column)
        params[f"W{layer}"], rates[f"W{layer}"] = params[f"W{layer}"] * used, rates[f"W{layer}"] * used
    return params, rates
