"""Trains many small models at once: the whole training loop is one compiled program.

Members of an ensemble share the shapes of their parameters, their minibatch size and their number of steps, and may
differ in everything else: seed, initial values, learning rates, teacher, sample and training size. Compiled programs
are reused for every ensemble of equal shapes, also between processes, through a cache on disk.

The result of a member does not depend on the other members: its minibatches are keyed by (seed, stream, step), every
reduction (loss, gradient norm, divergence) is its own, and a member whose gradient is not finite is frozen. The members
that one program trains in parallel are its lanes. Another number of lanes is another program, which rounds differently.
On a GPU this number follows from a member's shapes and the GPU's memory, never from the number of members, so that a
continued run uses the same programs.

Letters in shapes: n points, N points after padding, B minibatch, E members, P parameters of one member.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bfc_bench.toolkit.gpu import jax_memory
from bfc_bench.toolkit.groups import in_groups
from bfc_bench.toolkit.precision import MATMUL_PRECISION, prepare_jax

Tree: TypeAlias = Any
"""A nest of dicts, lists and tuples of arrays."""

MIN_POINTS = 1024
"""Samples are padded to a power of two, at least this, so that few programs are compiled."""
WARMUP = 0.05
"""Share of training in which the learning rate grows to its peak."""
DRAWN = 64
"""Steps whose minibatches are drawn together: a draw for one step costs as much as a small product."""
GPU_LANES = 128
"""Largest number of lanes on a GPU."""
GPU_FLOPS = 6e9
"""Largest work of a step of all lanes on a GPU. It takes about as long as starting the kernels of a step, .1 to .2 ms,
so fewer lanes would save no time, and more would take longer."""
GPU_SAMPLES = 2**31
"""Most bytes of padded samples that are put on a GPU together, since they are assembled in the host's memory."""
NUMBERS = ("clip", "momentum", "beta2", "weight_decay", "strength", "noise")
"""Numbers of a member that steps need."""
UNKNOWN_MEMORY = 2**32
"""Assumed bytes of GPU memory for JAX if the driver does not report its size."""


def square_loss(prediction: Array, y: Array) -> Array:
    """(F - y)^2, (B,)."""
    return (prediction - y) ** 2


def weighted_square_loss(prediction: Array, y: Array) -> Array:
    """(F - y)^2 / (1 + y^2), (B,): bounded influence of the heavy tail of a high-degree target. For clean labels."""
    return (prediction - y) ** 2 / (1.0 + y * y)


def cross_entropy_loss(prediction: Array, y: Array) -> Array:
    """log(1 + exp(-y z)) at margins z, (B,): CE(Y, v z) for labels y = v Y, Y in {-1, +1} (BFC line 430)."""
    return jax.nn.softplus(-y * prediction)


def softmax_loss(scores: Array, y: Array) -> Array:
    """-log softmax(scores)_y, (B,), at scores (B, C) of classes y in {0, ..., C - 1}, given as floats."""
    score = jnp.take_along_axis(scores, y.astype(int)[:, None], axis=1)[:, 0]
    return jax.nn.logsumexp(scores, axis=1) - score


def warmup_cosine(progress: Array) -> Array:
    """Factor of the learning rate at ``progress`` in [0, 1): linear warm-up over ``WARMUP``, then a cosine to 0."""
    decay = jnp.clip((progress - WARMUP) / (1.0 - WARMUP), 0.0, 1.0)
    return jnp.minimum(progress / WARMUP, 1.0) * 0.5 * (1.0 + jnp.cos(jnp.pi * decay))


@dataclass(frozen=True)
class Recipe:
    """What is compiled; equal recipes share one program.

    Its functions must be hashable by value: module functions, or frozen dataclasses with ``__call__``.
    """

    apply: Callable[[Tree, Tree], Array]
    """``apply(params, inputs)``: predictions (B,) from a member's parameters and leaves of ``inputs`` (B, ...)."""
    batch_size: int
    """Points of a step, drawn with replacement."""
    loss: Callable[[Array, Array], Array] = square_loss
    """``loss(predictions, y)``: one value per point, (B,)."""
    optimizer: Literal["adam", "sgd"] = "adam"
    schedule: Callable[[Array], Array] = warmup_cosine
    """Factor of the learning rate at each share of training in [0, 1)."""
    penalty: Callable[[Tree, Array], Array] | None = None
    """``penalty(params, strength)`` is added to the mean loss, with a member's ``strength``; None: nothing."""
    noisy: bool = False
    """Whether members' ``noise`` is added to gradients."""


@dataclass(frozen=True)
class Member:
    """One model to train."""

    params: Tree
    """Initial parameters."""
    inputs: Tree
    """Training inputs, leaves (n, ...)."""
    y: np.ndarray
    """Training labels, (n,)."""
    seed: int
    """First key of the minibatches."""
    lr: float
    multipliers: Tree = None
    """Factors of ``lr``, a tree like ``params`` of numbers or arrays, where 0 freezes; None: 1 everywhere."""
    stream: int = 0
    """Second key of the minibatches, for another training with the same seed."""
    clip: float = math.inf
    """Bound on the norm of the gradient of all parameters that are not frozen."""
    momentum: float = 0.9
    """Momentum of SGD, or Adam's beta_1."""
    beta2: float = 0.99
    """Adam's beta_2."""
    weight_decay: float = 0.0
    """Decoupled weight decay: a step of rate ``lr`` also subtracts this times ``lr`` times every trained parameter."""
    strength: float = 0.0
    """Second argument of the recipe's penalty."""
    noise: float = 0.0
    """Standard deviation of the normal noise that a noisy recipe adds to every entry of a clipped gradient."""


@dataclass(frozen=True)
class Trained:
    """One trained model."""

    params: Tree
    """Final parameters, NumPy float32; the last finite ones if training diverged."""
    loss: float
    """Mean loss over the n training points."""
    finite: bool
    """False if a gradient or the final loss was not finite."""
    checkpoints: Mapping[int, Tree] = field(default_factory=dict)
    """Parameters by number of steps."""


def train(
    recipe: Recipe,
    members: Sequence[Member],
    steps: int,
    *,
    device: str = "cpu",
    checkpoints: Sequence[int] = (),
    lanes: int | None = None,
) -> list[Trained]:
    """Train ``members`` in float32; results are in the same order.

    With one lane on a CPU a model's state stays in the core's cache, and results do not depend on the other members,
    bit for bit. More lanes there save up to a quarter for small models, cost as much or more for large ones, and give
    results that are equal up to rounding.

    Args:
        recipe: What is compiled.
        members: The models to train.
        steps: Number of steps of each member.
        device: ``cpu`` or ``cuda``.
        checkpoints: Step counts below ``steps`` at which parameters are kept too.
        lanes: Number of members trained in parallel; None: 1 on a CPU, ``gpu_lanes`` of a member's shapes on a GPU.

    Raises:
        ValueError: Members' parameters differ in shape.
    """
    if not members:
        return []
    layout = ParameterLayout.of(members[0].params)
    numbers = sum(math.prod(shape) for shape in layout.shapes)
    stops = [*sorted(step for step in set(checkpoints) if 0 < step < steps), steps]
    target = prepare_jax(device)

    def lanes_of(member: Member) -> int:
        if lanes or device == "cpu":
            return lanes or 1
        row = sum(math.prod(np.shape(leaf)[1:]) for leaf in jax.tree.leaves(member.inputs))
        return gpu_lanes(numbers, row, padded_length(len(member.y)), recipe.batch_size)

    def train_alike(alike: list[Member]) -> list[Trained]:
        size, length = lanes_of(alike[0]), padded_length(max(len(member.y) for member in alike))
        trained: list[Trained] = []
        for first in range(0, len(alike), size):
            chunk = alike[first : first + size]
            # Repeat a member in a short last chunk, because another number of lanes is another program.
            padded_chunk = chunk + [chunk[-1]] * (size - len(chunk))
            state, data = jax.device_put(_pack(layout, padded_chunk, length), target)
            trained += _train_chunk(recipe, layout, state, data, stops)[: len(chunk)]
        return trained

    with jax.default_matmul_precision(MATMUL_PRECISION):
        return in_groups(members, lanes_of, train_alike)


@dataclass(frozen=True)
class ParameterLayout:
    """How a tree of parameters lies in one vector (P,), so that an optimiser step is one operation."""

    treedef: Any
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tree: Tree) -> ParameterLayout:
        """The layout of ``tree``."""
        leaves, treedef = jax.tree.flatten(tree)
        return cls(treedef, tuple(np.shape(leaf) for leaf in leaves))

    def flatten(self, tree: Tree) -> np.ndarray:
        """The vector (P,), float32, of a tree whose leaves broadcast to this layout, else ``ValueError``."""
        leaves = jax.tree.leaves(tree)
        parts = [np.broadcast_to(leaf, shape).ravel() for leaf, shape in zip(leaves, self.shapes, strict=True)]
        return np.concatenate(parts).astype(np.float32)

    def unflatten(self, vector: np.ndarray | Array) -> Tree:
        """The tree of ``vector`` (P,)."""
        leaves, start = [], 0
        for shape in self.shapes:
            size = math.prod(shape)
            leaves.append(vector[start : start + size].reshape(shape))
            start += size
        return jax.tree.unflatten(self.treedef, leaves)


def gpu_lanes(numbers: int, row: int, length: int, batch_size: int) -> int:
    """Number of lanes on a GPU: a power of two, from 1 to ``GPU_LANES``.

    A step, 6 B P flops per member, stays within ``GPU_FLOPS``. The data on the GPU stay within the memory that JAX may
    take: samples; parameters, two moments, and a step's new values of them, with rates and gradient; activations, for a
    minibatch those kept for the gradient, for all points those of the final loss. Units are estimated as 4 sqrt(P),
    those of 16 layers of equal width, and the inputs. Checkpoints are in the host's memory.

    Args:
        numbers: P.
        row: Numbers in one input point.
        length: N, a member's points after padding.
        batch_size: B.
    """
    units = row + 4 * math.sqrt(numbers)
    samples = 4.0 * length * (row + 1)
    memory = samples + 4.0 * (10 * numbers + max(4 * batch_size, 2 * length) * units)
    fit = min(
        GPU_FLOPS / (6.0 * batch_size * numbers),
        GPU_SAMPLES / samples,
        (jax_memory() or UNKNOWN_MEMORY) / memory,
        GPU_LANES,
    )
    return 1 << max(0, int(fit).bit_length() - 1)


def _pack(layout: ParameterLayout, members: Sequence[Member], length: int) -> tuple[Tree, dict[str, Any]]:
    """Initial states (parameters, two moments, finite), and all that members are trained with: leaves (E, ...)."""

    def stack(values: list[Any], dtype: Any = np.float32) -> np.ndarray:
        return np.stack(values).astype(dtype, copy=False)

    rates = [1.0 if member.multipliers is None else layout.flatten(member.multipliers) for member in members]
    start = stack([layout.flatten(member.params) for member in members])
    state = (start, np.zeros_like(start), np.zeros_like(start), np.ones(len(start), bool))
    return state, {
        "lr": stack(
            [np.full(start.shape[1], member.lr * rate, np.float32) for member, rate in zip(members, rates, strict=True)]
        ),
        "inputs": jax.tree.map(
            lambda *leaves: stack([padded(leaf, length) for leaf in leaves]), *[member.inputs for member in members]
        ),
        "y": stack([padded(member.y, length) for member in members]),
        "n": stack([len(member.y) for member in members], np.int32),
        "seed": stack([member.seed for member in members], np.uint32),
        "stream": stack([member.stream for member in members], np.uint32),
        **{name: stack([getattr(member, name) for member in members]) for name in NUMBERS},
    }


def _train_chunk(
    recipe: Recipe, layout: ParameterLayout, state: Tree, data: Tree, stops: Sequence[int]
) -> list[Trained]:
    parameters: list[np.ndarray] = []
    done = 0
    for stop in stops:
        state, loss = _advance(recipe, layout, state, data, (done, stop, stops[-1]))
        parameters.append(np.asarray(state[0]))
        done = stop
    finite = np.asarray(state[3] & jnp.isfinite(loss))
    return [
        Trained(
            params=layout.unflatten(parameters[-1][lane]),
            loss=float(loss[lane]),
            finite=bool(finite[lane]),
            checkpoints={
                step: layout.unflatten(vectors[lane]) for step, vectors in zip(stops[:-1], parameters, strict=False)
            },
        )
        for lane in range(len(finite))
    ]


def _advance_members(recipe: Recipe, layout: ParameterLayout, state: Tree, data: Tree, span: Tree) -> Tree:
    """States after step ``stop``, and mean training losses (E,); ``span`` is (start, stop, steps)."""
    return in_lanes(partial(_advance_one, recipe, layout, span), state, data)


def in_lanes(advance: Callable[[Tree, Tree], Tree], state: Tree, data: Tree) -> Tree:
    """What ``advance`` makes of each lane of ``state`` and ``data``, whose leaves are (E, ...)."""
    if state[0].shape[0] > 1:
        return jax.vmap(advance)(state, data)
    # With a batch axis the products of a single lane would be slower, and rounded in another order.
    advanced = advance(*jax.tree.map(lambda leaf: leaf[0], (state, data)))
    return jax.tree.map(lambda leaf: leaf[None], advanced)


_advance = jax.jit(_advance_members, static_argnums=(0, 1))


def _advance_one(recipe: Recipe, layout: ParameterLayout, span: Tree, state: Tree, data: Tree) -> tuple[Tree, Array]:
    start, stop, steps = span
    n: Array = data["n"]
    lr, beta1, beta2 = data["lr"], data["momentum"], data["beta2"]
    key = jax.random.fold_in(jax.random.key(data["seed"]), data["stream"])
    is_point = jnp.arange(len(data["y"])) < n

    def mean_over_points(points: Array) -> Array:
        return jnp.sum(jnp.where(is_point, points, 0.0)) / n

    def losses(params: Tree, inputs: Tree, y: Array) -> Array:
        return recipe.loss(recipe.apply(params, inputs), y)

    def objective(params: Tree, inputs: Tree, y: Array) -> Array:
        risk = jnp.mean(losses(params, inputs, y))
        return risk if recipe.penalty is None else risk + recipe.penalty(params, data["strength"])

    def step(t: Array, state: Tree, points: Tree) -> Tree:
        params, first, second, finite = state
        inputs, y = points
        leaves = jax.tree.leaves(jax.grad(objective)(layout.unflatten(params), inputs, y))
        # Without the barrier XLA computes every entry of the vector by itself, and looks where it lies.
        gradient = jnp.concatenate([leaf.ravel() for leaf in jax.lax.optimization_barrier(leaves)])
        gradient = jnp.where(lr > 0, gradient, 0.0)
        norm = jnp.sqrt(jnp.sum(gradient**2))
        finite = finite & jnp.isfinite(norm)
        gradient = gradient * jnp.minimum(1.0, data["clip"] / norm)
        if recipe.noisy:
            noise = jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, t), 1), gradient.shape)
            gradient = gradient + jnp.where(lr > 0, data["noise"] * noise, 0.0)
        if recipe.optimizer == "adam":
            first = beta1 * first + (1 - beta1) * gradient
            second = beta2 * second + (1 - beta2) * gradient**2
            update = (first / (1 - beta1 ** (t + 1.0))) / (jnp.sqrt(second / (1 - beta2 ** (t + 1.0))) + 1e-8)
        else:
            first = beta1 * first + gradient
            update = first
        moved = params - lr * recipe.schedule(t / steps) * (update + data["weight_decay"] * params)
        return jnp.where(finite, moved, params), first, second, finite

    def draw(t: Array) -> Array:
        return minibatch(jax.random.fold_in(key, t), recipe.batch_size, n)

    def at(rows: Array) -> Tree:
        return jax.tree.map(lambda leaf: leaf.at[rows].get(mode="promise_in_bounds"), (data["inputs"], data["y"]))

    def block(index: Array, state: Tree) -> Tree:
        first = start + DRAWN * index
        rows = jax.vmap(draw)(first + jnp.arange(DRAWN))
        last = jnp.minimum(first + DRAWN, stop)
        return jax.lax.fori_loop(first, last, lambda t, state: step(t, state, at(rows[t - first])), state)

    state = jax.lax.fori_loop(0, (stop - start + DRAWN - 1) // DRAWN, block, state)
    return state, mean_over_points(losses(layout.unflatten(state[0]), data["inputs"], data["y"]))


def padded_length(n: int) -> int:
    """The length to which a sample of n points is padded."""
    return max(MIN_POINTS, 1 << (n - 1).bit_length())


def padded(leaf: np.ndarray, length: int) -> np.ndarray:
    """``leaf`` (n, ...) as float32 (length, ...), padded by NaN so that any use of the padding shows."""
    points = np.full((length, *leaf.shape[1:]), np.nan, np.float32)
    points[: len(leaf)] = leaf
    return points


def minibatch(key: Array, size: int, n: Array) -> Array:
    """Random indices in [0, n), drawn with replacement, (size,); they depend on ``key`` and n alone."""
    uniform = jax.random.uniform(key, (size,))
    return jnp.minimum((uniform * n).astype(jnp.int32), n - 1)
