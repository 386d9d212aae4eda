"""Finishes the training of a quadratic DenseNet with damped Gauss-Newton steps in float64, from its own weights.

1. Every W_l is cut to its strongest directions and written as a product A_l B_l. At a zero, F is of second order in the
   units that the target does not need, so that with all of them no method of first-order derivatives is fast. A
   direction is kept if it is worth more than ``WORTH`` times the remaining error: if that is the ratio of the standard
   deviation of its term to the root of the mean squared error.
2. With r the residuals of the points and J their derivatives in the P entries of the constant, A_l and B_l, a step
   solves (J^T J + damping s I) step = -J^T r, s the mean of the diagonal of J^T J (Levenberg 1944).
3. Steps 1 and 2 are done without every fourth point, for the ranks of each entry of ``WORTH``, until the loss is
   rounding. The ranks with the least error on these points are fitted to all points, or the trained network, which
   has seen these points, stays as it is.

Letters in shapes: n points, m_l width of layer l, q_l inputs, k_l its rank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from bfc_plugins.quadratic.net import Params, QuadraticNet
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.ranks import Ranks, split
from bfc_plugins.quadratic.setup import Setup

WORTH = (10.0, 3.0, 1.0, 0.3, 0.1)
"""Least worth of a direction that is kept, from few directions to many."""
LARGEST = 4096
"""Number of parameters above which ranks are not tried; neither are they if there are fewer points."""
STEPS = 100
"""Number of steps at most."""
DAMPING, LESS, MORE, MOST = 1e-3, 0.3, 2.0, 1e6
"""Damping of the first step; its factor after a step that lowers the loss, and after another; where steps end."""
ROUNDING = 1e-30
"""Mean squared residual of scaled labels that is rounding."""
SLOW, PATIENCE = 0.99, 10
"""Steps end after ``PATIENCE`` steps with a loss above ``SLOW`` times the one before."""
CHUNK = 1024
"""Number of points whose derivatives are held at once."""
TYPICAL_RANK, TYPICAL_STEPS = 4, 30
"""Ranks and number of steps that are assumed before a fit."""

Factors: TypeAlias = list[np.ndarray]
"""constant (), then A_l (m_l, k_l) and B_l (k_l, q_l) for l = 2..L."""
Weights: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Weights (n,) of points in the loss, from their scaled labels (n,)."""


def finished(setup: Setup, trained: QuadraticPredictor, weights: Weights) -> QuadraticPredictor:
    """The network after these steps, with the stage ``trained`` before them; or the trained one if they are no gain."""
    everything, held_out = LeastSquares(setup, trained, weights), LeastSquares(split(setup)[1], trained, weights)
    least = held_out.mean(trained.params)
    better = [attempt for attempt in attempts(setup, trained, weights, PATIENCE) if attempt.error < least]
    if not better:
        trained.info = {**trained.info, "finish": "no gain"}
        return trained
    best = min(better, key=lambda attempt: attempt.error)
    params = everything.whole(everything.minimised(best.parts))
    after = setup.predictor(setup.net, params, stages={**trained.stages, "trained": trained})
    named = {f"k{layer}": rank for layer, rank in zip(setup.net.layers(), best.ranks, strict=True)}
    facts = {"finish": named, "finish_loss": everything.mean(params), **setup.corrections(after)}
    after.info = {**trained.info, **facts}
    return after


@dataclass(frozen=True)
class Attempt:
    """The network of some ranks, fitted without the held-out points."""

    ranks: Ranks
    parts: Factors
    error: float
    """Weighted mean of squared errors of scaled labels at the held-out points."""


def attempts(setup: Setup, trained: QuadraticPredictor, weights: Weights, patience: int) -> Iterator[Attempt]:
    """Steps 1 and 2 for the ranks of each of ``WORTH``, few first, until the loss is rounding.

    The steps at some ranks end after ``patience`` slow ones.
    """
    most, rest = (LeastSquares(part, trained, weights) for part in split(setup))
    for ranks in candidates(setup, trained):
        if parameters(setup.net, ranks) > min(len(most.setup.y), LARGEST):
            return
        parts = most.minimised(factors(trained.cut(ranks), ranks, setup.net), patience)
        yield Attempt(ranks, parts, rest.mean(rest.whole(parts)))
        if most.mean(most.whole(parts)) < ROUNDING:
            return


def candidates(setup: Setup, trained: QuadraticPredictor) -> Iterator[Ranks]:
    """Ranks k_2..k_L for each of ``WORTH``, without repetitions."""
    error = setup.y_scale * math.sqrt(float(setup.squared_errors(trained).mean()))
    features = trained.hidden(setup.x / setup.input_scale).values()
    terms = [np.std(values**2, axis=0) for values in features]
    yield from dict.fromkeys(tuple(int(np.sum(term > worth * error)) for term in terms) for worth in WORTH)


def factors(params: Params, ranks: Ranks, net: QuadraticNet) -> Factors:
    """The constant, and each W_l at its rank k_l as U S^1/2 (m_l, k_l) and S^1/2 V^T (k_l, q_l)."""
    parts = [np.asarray(params["constant"])]
    for layer, rank in zip(net.layers(), ranks, strict=True):
        u, s, v = np.linalg.svd(params[f"W{layer}"], full_matrices=False)
        root = np.sqrt(s[:rank])
        parts += [u[:, :rank] * root, root[:, None] * v[:rank]]
    return parts


def parameters(net: QuadraticNet, ranks: Ranks) -> int:
    """P."""
    sizes = zip(net.layers(), net.widths, ranks, strict=True)
    return 1 + sum(rank * (width + sum(net.fan_ins(layer))) for layer, width, rank in sizes)


def typical_parameters(net: QuadraticNet) -> int:
    """P with ranks of ``TYPICAL_RANK``."""
    return parameters(net, tuple(min(TYPICAL_RANK, width) for width in net.widths))


def cost(net: QuadraticNet, n: int) -> tuple[float, float]:
    """Floating-point operations and bytes of the steps on n points."""
    typical = typical_parameters(net)
    most = min(n, LARGEST, parameters(net, net.widths))
    return TYPICAL_STEPS * 2.0 * n * typical**2, 8.0 * most * (3 * most + 2 * CHUNK)


@dataclass(frozen=True)
class LeastSquares:
    """The loss of a network on n points: the mean of omega_i (F(x_i) - y_i)^2."""

    setup: Setup
    """The points."""
    trained: QuadraticPredictor
    """The trained network. The steps change its constant and its W_l, and keep its other parameters."""
    weights: Weights
    """omega."""

    def whole(self, parts: Factors) -> Params:
        """All parameters, with W_l = A_l B_l."""
        constant, *pairs = parts
        products = zip(self.trained.net.layers(), pairs[::2], pairs[1::2], strict=True)
        return {**self.trained.params, "constant": constant, **{f"W{layer}": a @ b for layer, a, b in products}}

    def mean(self, params: Params) -> float:
        """The loss; nan or infinite if it overflows."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.mean(np.concatenate([residuals for _, _, residuals in self._residuals(params)]) ** 2))

    def minimised(self, parts: Factors, patience: int = PATIENCE) -> Factors:
        """The factors after steps that each lower the loss, until it is rounding or ``patience`` steps are slow."""
        damping, slow, loss = DAMPING, 0, self.mean(self.whole(parts))
        for _ in range(STEPS):
            normal, gradient = self.normal_equations(parts)
            scale = float(np.mean(np.diag(normal)))
            before = loss
            while not loss < before and damping < MOST:
                lower = _moved(parts, -_solved(normal, gradient, damping * scale))
                if (reached := self.mean(self.whole(lower))) < before:
                    parts, loss, damping = lower, reached, LESS * damping
                else:
                    damping *= MORE
            slow = slow + 1 if loss > SLOW * before else 0
            if not loss < before or loss < ROUNDING or slow == patience:
                break
        return parts

    def normal_equations(self, parts: Factors) -> tuple[np.ndarray, np.ndarray]:
        """J^T J (P, P) and J^T r (P,)."""
        size = sum(part.size for part in parts)
        normal, gradient = np.zeros((size, size)), np.zeros(size)
        params = self.whole(parts)
        for x, roots, residuals in self._residuals(params):
            derivatives = roots[:, None] * self.derivatives(parts, params, x)
            normal += derivatives.T @ derivatives
            gradient += derivatives.T @ residuals
        return normal, gradient

    def derivatives(self, parts: Factors, params: Params, x: np.ndarray) -> np.ndarray:
        """Derivatives (n, P) of F at x (n, d) in the factors, by backpropagation from the top layer."""
        net, alpha = self.trained.net, np.exp(params["log_alpha"])
        pre, outputs = net.forward(params, x.T)
        by_output = {layer: np.full_like(s, alpha[net.index(layer)]) for layer, s in pre.items()}
        columns: list[np.ndarray] = []
        for layer in reversed(net.layers()):
            a, b = parts[2 * layer - 3], parts[2 * layer - 2]
            by_pre = 2.0 * pre[layer] * by_output[layer]
            inputs = net.joined(outputs, layer)
            columns = [_outer(by_pre, b @ inputs), _outer(a.T @ by_pre, inputs), *columns]
            by_inputs, first = params[f"W{layer}"].T @ by_pre, 0
            for block, dim in zip(net.blocks(layer), net.fan_ins(layer), strict=True):
                for below in block:
                    if below >= 2:
                        by_output[below] += by_inputs[first : first + dim]
                first += dim
        return np.concatenate([np.ones((len(x), 1)), *columns], axis=1)

    def _residuals(self, params: Params) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """x, omega^1/2 and omega^1/2 (F - y), ``CHUNK`` points at a time."""
        net, alpha = self.trained.net, np.exp(params["log_alpha"])
        for first in range(0, len(self.setup.y), CHUNK):
            x, y = (values[first : first + CHUNK] for values in (self.setup.x, self.setup.y))
            pre, _ = net.forward(params, x.T)
            terms = sum(alpha[net.index(layer)] * (s * s).sum(0) for layer, s in pre.items())
            roots = np.sqrt(self.weights(y))
            yield x, roots, roots * (params["constant"] + terms - y)


def _outer(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Products (n, a b) of the columns of (a, n) and (b, n)."""
    return np.asarray((left.T[:, :, None] * right.T[:, None, :]).reshape(left.shape[1], -1))


def _solved(normal: np.ndarray, gradient: np.ndarray, damping: float) -> np.ndarray:
    """(``normal`` + ``damping`` I)^-1 ``gradient``; nan if that is singular."""
    try:
        return np.linalg.solve(normal + damping * np.eye(len(gradient)), gradient)
    except np.linalg.LinAlgError:
        return np.full_like(gradient, math.nan)


def _moved(parts: Sequence[np.ndarray], step: np.ndarray) -> Factors:
    """The factors after a step (P,)."""
    pieces = np.split(step, np.cumsum([part.size for part in parts])[:-1])
    return [part + piece.reshape(part.shape) for part, piece in zip(parts, pieces, strict=True)]
