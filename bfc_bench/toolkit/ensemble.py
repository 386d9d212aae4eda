"""Train many small models at once: the whole training loop is one compiled program.

Members of an ensemble share the shapes of their parameters, their minibatch size and their number of steps, and may
differ in everything else: seed, initial values, learning rates, teacher, sample and training size. Compiled programs
are reused for every ensemble of equal shapes, also between processes, through a cache on disk.

What a member becomes does not depend on who it was trained with: its minibatches are keyed by (seed, stream, step),
every reduction (loss, gradient norm, divergence) is its own, and a member that leaves the finite numbers is frozen. How
many advance together is another program, which rounds differently; on a GPU that number follows from a member's shapes
and the memory of the GPU, never from how many members there are, so that a run that goes on uses the same programs.

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
from bfc_bench.toolkit.precision import MATMUL_PRECISION, prepare_jax

Tree: TypeAlias = Any
"""A nest of dicts, lists and tuples of arrays."""

MIN_POINTS = 1024
"""Samples are padded to a power of two, at least this, so that few programs are compiled."""
GPU_LANES = 128
"""Most members that advance together on a GPU."""
GPU_FLOPS = 6e9
"""Work of a step of all members that advance together on a GPU, at most: so much takes about as long there as starting
the kernels of a step, .1 to .2 ms, so that fewer lanes would save nothing, and more would be waited for."""
GPU_SAMPLES = 2**31
"""Bytes of padded samples that are put on a GPU together, at most: they are put together in the host's memory."""
UNKNOWN_MEMORY = 2**32
"""Assumed bytes that JAX may take of a GPU's memory, where the driver does not tell its size."""


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
    given = jnp.take_along_axis(scores, y.astype(int)[:, None], axis=1)[:, 0]
    return jax.nn.logsumexp(scores, axis=1) - given


@dataclass(frozen=True)
class WarmupCosine:
    """Linear warm-up over a ``share`` of training, then a cosine to 0."""

    share: float = 0.05

    def __call__(self, progress: Array) -> Array:
        """Factor of the learning rate at ``progress`` in [0, 1)."""
        decay = jnp.clip((progress - self.share) / (1.0 - self.share), 0.0, 1.0)
        warmup = jnp.minimum(progress / self.share, 1.0) if self.share > 0 else 1.0
        return warmup * 0.5 * (1.0 + jnp.cos(jnp.pi * decay))


@dataclass(frozen=True)
class Recipe:
    """What is compiled. Its functions must be hashable by value (module functions, frozen dataclasses with
    ``__call__``): equal recipes then share one program.
    """

    apply: Callable[[Tree, Tree], Array]
    """``apply(params, inputs)``: predictions (B,) from a member's parameters and leaves of ``inputs`` (B, ...)."""
    batch_size: int | None
    """Points of a step, drawn with replacement; None is all of them."""
    loss: Callable[[Array, Array], Array] = square_loss
    """``loss(predictions, y)``: one value per point, (B,)."""
    optimizer: Literal["adam", "sgd"] = "adam"
    schedule: Callable[[Array], Array] = field(default_factory=WarmupCosine)
    penalty: Callable[[Tree, Array], Array] | None = None
    """``penalty(params, strength)``: what is added to the mean loss, for a member's ``strength``; None is nothing."""
    noisy: bool = False
    """Whether members' ``noise`` is added."""


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
    """Factors of ``lr``, a tree like ``params`` of numbers or arrays; 0 freezes. None is 1 everywhere."""
    stream: int = 0
    """Second key of the minibatches, for another training with the same seed."""
    clip: float = math.inf
    """Bound on the norm of the gradient of all parameters that are not frozen."""
    momentum: float = 0.9
    """Momentum of SGD, or Adam's beta_1."""
    beta2: float = 0.99
    """Adam's beta_2."""
    weight_decay: float = 0.0
    """Decoupled weight decay: a step of rate ``lr`` also takes this times ``lr`` off every trained parameter."""
    strength: float = 0.0
    """Second argument of the recipe's penalty."""
    noise: float = 0.0
    """Standard deviation of the normal number that a noisy recipe adds to every entry of every clipped gradient."""


@dataclass(frozen=True)
class Trained:
    """One trained model."""

    params: Tree
    """Final parameters, NumPy float32; the last finite ones when training diverged."""
    loss: float
    """Mean loss over the n training points."""
    finite: bool
    """False when a gradient or the final loss was not finite."""
    checkpoints: Mapping[int, Tree] = field(default_factory=dict)
    """Parameters after so many steps."""


def train(
    recipe: Recipe,
    members: Sequence[Member],
    steps: int,
    *,
    device: str = "cpu",
    checkpoints: Sequence[int] = (),
    lanes: int | None = None,
) -> list[Trained]:
    """Train ``members`` for ``steps`` steps each, in float32; results in the order given.

    ``checkpoints`` are step counts below ``steps`` at which parameters are kept too. ``lanes`` is how many members
    advance together. By default one after another on a CPU, where a model's state then stays in the core's cache and
    results do not depend on the other members, bit for bit; on a GPU ``gpu_lanes`` of a member's own shapes.
    More lanes on a CPU save up to a quarter for small models, cost as much or more for large ones, and are another
    program: equal up to rounding. Raises ``ValueError`` when members' shapes differ.
    """
    if not members:
        return []
    layout = ParameterLayout.of(members[0].params)
    where = prepare_jax(device)
    stops = [*sorted(step for step in set(checkpoints) if 0 < step < steps), steps]
    trained: dict[int, Trained] = {}
    with jax.default_matmul_precision(MATMUL_PRECISION):
        for (width, _), places in _companies(recipe, layout, members, device, lanes).items():
            longest = max(len(members[place].y) for place in places)
            length = padded_length(longest) if recipe.batch_size else full_length(longest)
            for first in range(0, len(places), width):
                chunk = places[first : first + width]
                # A short last chunk is filled up, because another number of lanes would be another program.
                filled = [members[place] for place in chunk + [chunk[-1]] * (width - len(chunk))]
                state, data = jax.device_put(_pack(layout, filled, length), where)
                trained |= zip(chunk, _train_chunk(recipe, layout, state, data, stops), strict=False)
    return [trained[place] for place in range(len(members))]


@dataclass(frozen=True)
class ParameterLayout:
    """How a tree of parameters lies in one vector (P,): one vector per member makes an optimiser step one operation."""

    treedef: Any
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tree: Tree) -> ParameterLayout:
        """The layout of ``tree``."""
        leaves, treedef = jax.tree.flatten(tree)
        return cls(treedef, tuple(np.shape(leaf) for leaf in leaves))

    def flatten(self, tree: Tree) -> np.ndarray:
        """The vector (P,), float32, of a tree whose leaves broadcast to this layout; ``ValueError`` where not."""
        leaves, treedef = jax.tree.flatten(tree)
        if treedef != self.treedef:
            raise ValueError(
                f"Parameters of all members must have one structure: expected {self.treedef}, got {treedef}."
            )
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


def _companies(
    recipe: Recipe, layout: ParameterLayout, members: Sequence[Member], device: str, lanes: int | None
) -> dict[tuple[int, int], list[int]]:
    """Places of the members that may be trained together, by lanes and, of steps on all points on a GPU, by length.

    Those steps add up over the length, which is then a member's own; of minibatches it is only where points lie.
    """
    if lanes or device == "cpu":
        return {(lanes or 1, 0): list(range(len(members)))}
    numbers = sum(math.prod(shape) for shape in layout.shapes)
    found: dict[tuple[int, int], list[int]] = {}
    for place, member in enumerate(members):
        n = len(member.y)
        length = padded_length(n) if recipe.batch_size else full_length(n)
        row = sum(math.prod(np.shape(leaf)[1:]) for leaf in jax.tree.leaves(member.inputs))
        width = gpu_lanes(numbers, row, length, recipe.batch_size)
        found.setdefault((width, 0 if recipe.batch_size else length), []).append(place)
    return found


def gpu_lanes(numbers: int, row: int, length: int, batch_size: int | None) -> int:
    """How many members advance together on a GPU: a power of two, ``GPU_LANES`` at most, at least 1.

    By a member's P = ``numbers`` parameters, its ``length`` points after padding, of ``row`` numbers each, and its
    minibatch (None: all points). A step, 6 B P flops of each member, stays within ``GPU_FLOPS``, and what is on the GPU
    within what JAX may take of it: samples; parameters, two moments, and what a step makes of them, with rates and
    gradient; for a minibatch what is kept of each layer until its gradient, for all points what passes through the
    layers in the end. Units are estimated as 4 sqrt(P), those of 16 layers of equal width, and the inputs. Parameters
    after some steps, which are kept too, lie in the host's memory.
    """
    batch = batch_size or length
    units = row + 4 * math.sqrt(numbers)
    samples = 4.0 * length * (row + 1)
    memory = samples + 4.0 * (10 * numbers + max(4 * batch, 2 * length) * units)
    fit = min(
        GPU_FLOPS / (6.0 * batch * numbers), GPU_SAMPLES / samples, (jax_memory() or UNKNOWN_MEMORY) / memory, GPU_LANES
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
        "clip": stack([member.clip for member in members]),
        "momentum": stack([member.momentum for member in members]),
        "beta2": stack([member.beta2 for member in members]),
        "weight_decay": stack([member.weight_decay for member in members]),
        "strength": stack([member.strength for member in members]),
        "noise": stack([member.noise for member in members]),
    }


def _train_chunk(
    recipe: Recipe, layout: ParameterLayout, state: Tree, data: Tree, stops: Sequence[int]
) -> list[Trained]:
    kept: list[np.ndarray] = []
    done = 0
    for stop in stops:
        state, loss = _advance(recipe, layout, state, data, (done, stop, stops[-1]))
        kept.append(np.asarray(state[0]))
        done = stop
    finite = np.asarray(state[3] & jnp.isfinite(loss))
    return [
        Trained(
            params=layout.unflatten(kept[-1][lane]),
            loss=float(loss[lane]),
            finite=bool(finite[lane]),
            checkpoints={
                step: layout.unflatten(vectors[lane]) for step, vectors in zip(stops[:-1], kept, strict=False)
            },
        )
        for lane in range(len(finite))
    ]


def _advance_members(
    recipe: Recipe, layout: ParameterLayout, state: Tree, data: Tree, span: Tree
) -> tuple[Tree, Array]:
    """States after step ``stop``, and the members' mean training losses (E,); ``span`` is (start, stop, steps)."""
    advance = partial(_advance_one, recipe, layout, span)
    if state[0].shape[0] > 1:
        return jax.vmap(advance)(state, data)
    # One lane is compiled without a batch axis, whose products are slower and rounded in another order.
    state, loss = advance(*jax.tree.map(lambda leaf: leaf[0], (state, data)))
    return jax.tree.map(lambda leaf: leaf[None], state), loss[None]


_advance = jax.jit(_advance_members, static_argnums=(0, 1))


def _advance_one(recipe: Recipe, layout: ParameterLayout, span: Tree, state: Tree, data: Tree) -> tuple[Tree, Array]:
    start, stop, steps = span
    n: Array = data["n"]
    lr, beta1, beta2 = data["lr"], data["momentum"], data["beta2"]
    key = jax.random.fold_in(jax.random.key(data["seed"]), data["stream"])
    inside = jnp.arange(len(data["y"])) < n

    def total(points: Array) -> Array:
        return jnp.sum(jnp.where(inside, points, 0.0)) / n

    if recipe.batch_size is None:  # points beyond n must be numbers, for the gradient of what is left out of a sum
        everything = jax.tree.map(
            lambda leaf: jnp.where(inside.reshape(-1, *[1] * (leaf.ndim - 1)), leaf, 0.0), (data["inputs"], data["y"])
        )

    def losses(params: Array, inputs: Tree, y: Array) -> Array:
        return recipe.loss(recipe.apply(layout.unflatten(params), inputs), y)

    def objective(params: Array, inputs: Tree, y: Array) -> Array:
        points = losses(params, inputs, y)
        risk = jnp.mean(points) if recipe.batch_size else total(points)
        return risk if recipe.penalty is None else risk + recipe.penalty(layout.unflatten(params), data["strength"])

    def step(t: Array, state: Tree) -> Tree:
        params, first, second, finite = state
        step_key = jax.random.fold_in(key, t)
        if recipe.batch_size is None:
            inputs, y = everything
        else:
            rows = minibatch(step_key, recipe.batch_size, n)
            inputs, y = jax.tree.map(
                lambda leaf: leaf.at[rows].get(mode="promise_in_bounds"), (data["inputs"], data["y"])
            )
        gradient = jax.grad(objective)(params, inputs, y)
        gradient = jnp.where(lr > 0, gradient, 0.0)
        norm = jnp.sqrt(jnp.sum(gradient**2))
        finite = finite & jnp.isfinite(norm)
        gradient = gradient * jnp.minimum(1.0, data["clip"] / norm)
        if recipe.noisy:
            noise = jax.random.normal(jax.random.fold_in(step_key, 1), gradient.shape)
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

    state = jax.lax.fori_loop(start, stop, step, state)
    return state, total(losses(state[0], data["inputs"], data["y"]))


def padded_length(n: int) -> int:
    """The length that a sample of n points is padded to."""
    return max(MIN_POINTS, 1 << (n - 1).bit_length())


def full_length(n: int) -> int:
    """The same for steps on all points, whose cost is this length: at most an eighth more."""
    unit = 1 << max(0, n.bit_length() - 4)
    return -(-n // unit) * unit


def padded(leaf: np.ndarray, length: int) -> np.ndarray:
    """``leaf`` (n, ...) as float32 (length, ...), with NaN, so that a point beyond n could not be used unnoticed."""
    points = np.full((length, *leaf.shape[1:]), np.nan, np.float32)
    points[: len(leaf)] = leaf
    return points


def minibatch(key: Array, size: int, n: Array) -> Array:
    """``size`` indices in [0, n), with replacement, that depend on ``key`` and n alone."""
    uniform = jax.random.uniform(key, (size,))
    return jnp.minimum((uniform * n).astype(jnp.int32), n - 1)
