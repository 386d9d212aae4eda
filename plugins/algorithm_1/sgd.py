"""The inner loop of Algorithm 1 of "Backward Feature Correction" (lines 12-16), many steps compiled into one program.

Several trainings of equal shapes advance together; their results do not depend on each other.
Letters in shapes: E trainings, P parameters of one, n points, d input dimension.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from bfc_plugins.algorithm_1.net import DistilledNet
from bfc_plugins.quadratic.net import Params
from jax import Array

from bfc_bench.toolkit.ensemble import ParameterLayout, in_lanes, minibatch, padded, padded_length
from bfc_bench.toolkit.precision import MATMUL_PRECISION, prepare_jax

Tree: TypeAlias = Any
T = TypeVar("T")


@dataclass(frozen=True)
class Program:
    """The parts of training that are compiled."""

    net: DistilledNet
    batch_size: int
    loss: Callable[[Array, Array], Array]
    """``loss(predictions, y)`` returns one value per point."""


@dataclass(frozen=True)
class TrainingSample:
    """The data and settings of one training that never change."""

    x: np.ndarray
    """(n, d)."""
    y: np.ndarray
    """(n,)."""
    unit: float
    """Divisor of the loss: its mean at the best constant prediction."""
    seed: int
    momentum: float


@dataclass
class Training:
    """The state of one training between two calls of ``advance``, with the settings that may change there."""

    params: Params
    """Trained parameters of the network."""
    fixed: Params
    """Parameters that are not trained."""
    rates: Params
    """Learning rates, in the shapes of ``params``; 0 freezes an entry."""
    noise: float
    """Standard deviation of the noise that a step adds to every entry of W_l, divided by the learning rate of W_l."""
    clip: float
    """Bound on the norm of the gradient of all trained parameters."""
    lambdas: np.ndarray
    """lambda_3..lambda_6 of every layer, (L-1, 4)."""
    velocity: Params = field(init=False)
    loss: float = np.inf
    """Mean loss over the n points, divided by ``TrainingSample.unit``."""
    penalty: float = 0.0
    """Reg(W, K)."""
    finite: bool = True

    def __post_init__(self) -> None:
        self.velocity = {name: np.zeros_like(value) for name, value in self.params.items()}

    @property
    def objective(self) -> float:
        """Obj(Z; W, K)."""
        return self.loss + self.penalty


class Engine:
    """SGD with momentum and clipping; copies of the last training fill the program up to ``lanes`` trainings."""

    def __init__(self, program: Program, samples: Sequence[TrainingSample], device: str, lanes: int = 1) -> None:
        self._lanes, samples = lanes, _filled(samples, lanes)
        self._program, self._layout = program, ParameterLayout.of(program.net.zeros())
        length = padded_length(max(len(sample.y) for sample in samples))
        data = [
            {
                "x": padded(sample.x, length),
                "y": padded(sample.y, length),
                "n": np.int32(len(sample.y)),
                "seed": np.uint32(sample.seed),
                "unit": np.float32(sample.unit),
                "momentum": np.float32(sample.momentum),
            }
            for sample in samples
        ]
        self._device = prepare_jax(device)
        self._samples = jax.device_put(_stacked(data), self._device)

    def advance(self, trainings: Sequence[Training], start: int, stop: int) -> None:
        """Run steps ``start`` to ``stop`` of every training and evaluate its objective, in float32.

        Trainings advance in place. The noise of these steps is added before the first one, a normal number per entry.
        """
        packed = _stacked([self._packed(training, stop - start) for training in _filled(trainings, self._lanes)])
        state, settings = jax.device_put(packed, self._device)
        with jax.default_matmul_precision(MATMUL_PRECISION):
            advanced = _advance(self._program, self._layout, (start, stop), state, {**self._samples, **settings})
        (params, velocity, finite), loss, penalty = jax.tree.map(np.asarray, advanced)
        for lane, training in enumerate(trainings):
            training.params = self._layout.unflatten(params[lane])
            training.velocity = self._layout.unflatten(velocity[lane])
            training.loss, training.penalty = float(loss[lane]), float(penalty[lane])
            training.finite = bool(finite[lane]) and bool(np.isfinite(training.objective))

    def _packed(self, training: Training, steps: int) -> Tree:
        """The state of a training, and the settings of its next ``steps``."""
        flatten, size = self._layout.flatten, training.noise * np.sqrt(steps)
        noise = {name: size * rate if name.startswith("W") else 0.0 for name, rate in training.rates.items()}
        settings = {
            "rates": flatten(training.rates),
            "noise": flatten(noise),
            "clip": np.float32(training.clip),
            "lambdas": training.lambdas.astype(np.float32),
            "fixed": {name: value.astype(np.float32) for name, value in training.fixed.items()},
        }
        return (flatten(training.params), flatten(training.velocity), np.bool_(training.finite)), settings


def _stacked(trees: Sequence[Tree]) -> Tree:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def _filled(items: Sequence[T], count: int) -> list[T]:
    return [*items, *[items[-1]] * (count - len(items))]


def _advance_all(program: Program, layout: ParameterLayout, span: Tree, state: Tree, data: Tree) -> Tree:
    """States, losses (E,) and penalties (E,) after step ``stop``; ``span`` is (start, stop)."""
    return in_lanes(partial(_advance_one, program, layout, span), state, data)


_advance = jax.jit(_advance_all, static_argnums=(0, 1))


def _advance_one(program: Program, layout: ParameterLayout, span: Tree, state: Tree, data: Tree) -> Tree:
    start, stop = span
    net, n, rates = program.net, data["n"], data["rates"]
    unit: Array = data["unit"]
    lambdas: Array = data["lambdas"]
    key = jax.random.key(data["seed"])

    def losses(params: Array, x: Array, y: Array) -> Array:
        return program.loss(net({**layout.unflatten(params), **data["fixed"]}, x.T), y) / unit

    def regulariser(params: Array) -> Array:
        return net.regulariser(layout.unflatten(params), lambdas)

    def step(t: Array, state: Tree) -> Tree:
        params, velocity, finite = state
        rows = minibatch(jax.random.fold_in(key, t), program.batch_size, n)
        x, y = (data[name].at[rows].get(mode="promise_in_bounds") for name in ("x", "y"))
        gradient = jax.grad(lambda p: jnp.mean(losses(p, x, y)) + regulariser(p))(params)
        gradient = jnp.where(rates > 0, gradient, 0.0)
        norm = jnp.sqrt(jnp.sum(gradient**2))
        finite = finite & jnp.isfinite(norm)
        velocity = data["momentum"] * velocity + gradient * jnp.minimum(1.0, data["clip"] / norm)
        return jnp.where(finite, params - rates * velocity, params), velocity, finite

    params, velocity, finite = state
    noise = jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, start), 1), params.shape)
    state = jax.lax.fori_loop(start, stop, step, (params + data["noise"] * noise, velocity, finite))
    points = losses(state[0], data["x"], data["y"])
    return state, jnp.sum(jnp.where(jnp.arange(len(points)) < n, points, 0.0)) / n, regulariser(state[0])
