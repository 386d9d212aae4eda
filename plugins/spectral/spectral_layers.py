"""Layers of spectral features, fitted forward and corrected backward without gradients.

Source: "Neural LoFi with Backward Coupling" (2026, repository IdePHICS/BackLoFi-theory); its forward pass is that of
arXiv 2605.13612.

Shapes: n and m points, d input dimension; q inputs z, K directions and p units of a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from math import comb
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from bfc_plugins.spectral.blocks import LARGE, Activation, Block, moment_directions, regression_directions
from bfc_plugins.spectral.penalties import PENALTIES, RidgePath
from bfc_plugins.spectral.rounds import Rounds, Signal
from pydantic import Field, PositiveInt, model_validator

from bfc_bench.errors import Diverged
from bfc_bench.learner import Capabilities, Context, Cost, Data, Learner, Predictor
from bfc_bench.seeds import stream
from bfc_bench.toolkit.held_out import EVERY, held_out
from bfc_bench.toolkit.square_features import square_mean, with_squares

Reads: TypeAlias = Literal["last", "all", "directions"]
DEGREE = 4
"""Degree of the polynomial of the first block's coordinates that ``read = "directions"`` fits."""


class SpectralLayers(Learner):
    """F = a . z^L + a_0, z^l = s(R_l^T V_l^T z^(l-1) / c_l + b_l) / sqrt p, z^0 = x or (x, x^2 - E x^2).

    Forward, block by block: V_l has v_0 = E[y z] / |E[y z]| and the k eigenvectors of largest |eigenvalue| of
    E[y z z^T] off v_0, for labels y of mean 0 and variance 1; the lifts R_l are standard normal, and
    c_l^2 = E |V_l^T z|^2. The read-out a is fitted by ridge regression.

    Each of ``rounds`` goes backward through the boundaries between blocks, from the top (``rounds.py``). The singular
    vectors of E[y g^(l+1) z^(l-1)T], g the derivative of F by the units of a block, say what block l should read and
    where the block above should write it. ``update = "replace"`` puts them in the place of the least important
    directions of both blocks, as published; ``append`` adds what is read to block l, off the directions that are there,
    and fits the blocks above anew. Then the read-out is fitted again.

    Every fifth point chooses the number of rounds, among them 0, and the penalty, unless ``held_out = false``. Stages
    are ``forward``, ``round1``, ... As published: ``with_squares = false, biases = false, read = "last", held_out =
    false, update = "replace", signal = "first-order", residuals = false, share = .02`` to ``.25``, where ``width`` is
    5000 and k is 32 to 2048.
    """

    name: ClassVar[str] = "spectral-layers"
    capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"real", "binary"}))
    smoke: ClassVar[Mapping[str, Any]] = {"k": 2, "width": 16, "rounds": 1}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"k": [4, 8], "activation": ["relu", "square"]}

    k: PositiveInt = 4
    """k, the number of quadratic directions of each block; v_0 comes on top."""
    width: PositiveInt = 256
    """p, the number of units of each block."""
    depth: Annotated[int, Field(ge=2)] = 3
    """L, the number of blocks."""
    with_squares: bool = True
    """Whether the input is (x, x^2 - E x^2) instead of x."""
    activation: Activation = "relu"
    """s, max(h, 0) or h^2."""
    biases: bool = True
    """Whether b_l is standard normal instead of 0."""
    weights: Literal["labels", "regression"] = "labels"
    """What weighs the moments of the first block: the labels, or the dual coefficients of a quadratic kernel ridge
    regression."""
    rounds: Annotated[int, Field(ge=0)] = 4
    """Largest number of backward rounds; 0 is the forward pass alone."""
    update: Literal["append", "replace"] = "append"
    """What becomes of the directions that are there."""
    share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """New directions of a round over k."""
    signal: Signal = "chain"
    """g: ``chain``, the derivative of F; ``first-order``, below the top boundary the mean of the derivative plus what
    the directions found above make of it; ``local``, s'(h) of the block alone."""
    residuals: bool = True
    """Whether the labels of new directions are the residuals of the read-out."""
    read: Reads = "all"
    """What the read-out reads: the last block, all blocks, or the monomials of degree 1 to 4 of the first block's
    coordinates."""
    held_out: bool = True
    """Whether held-out points choose rounds and penalty; else all rounds are made, and generalised cross-validation
    chooses the penalty."""

    @model_validator(mode="after")
    def _directions_have_no_chain(self) -> Self:
        if self.read == "directions" and (self.signal != "local" or self.update != "append"):
            raise ValueError("read = 'directions' must go with signal = 'local' and update = 'append'.")
        return self

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit blocks and read-outs to x (n, d) and y (n,). Raises ``Diverged`` for features that are not finite."""
        mean = square_mean(train.x, ctx) if self.with_squares else None
        centre, spread = train.y.mean(), train.y.std() or 1.0
        z, y = with_squares(train.x, mean), (train.y - centre) / spread
        penalties: list[int] = []
        out = held_out(train.n)
        if self.held_out and train.n >= EVERY:
            tried = self._networks(z[~out], y[~out], self.rounds, ctx.seed)
            errors = np.array([each.errors(z[out], y[out]) for each in tried])
            best = int(np.argmin(errors.min(axis=1)))
            penalties = errors.argmin(axis=1)[: best + 1].tolist()
        rounds = len(penalties) - 1 if penalties else self.rounds
        layers = self._networks(z, y, rounds, ctx.seed, penalties)
        stages = [SpectralPredictor(each, mean, float(centre), float(spread)) for each in layers]
        names = ["forward", *(f"round{number}" for number in range(1, rounds + 1))]
        info = {
            "rounds": rounds,
            "directions": [block.directions.shape[1] for block in layers[-1].blocks],
            "penalty": float(PENALTIES[layers[-1].penalty]),
        }
        return replace(stages[-1], info=info, stages=dict(zip(names, stages, strict=True)))

    def _networks(
        self, z: np.ndarray, y: np.ndarray, rounds: int, seed: int, penalties: Sequence[int] = ()
    ) -> list[Network]:
        """The network after the forward pass and after each round; without ``penalties`` by their own scores."""
        rng = stream(seed, self.name)
        biases = [rng.standard_normal(self.width) * self.biases for _ in range(self.depth)]

        def forward(level: int, z: np.ndarray, k: int) -> Block:
            find = regression_directions if level == 0 and self.weights == "regression" else moment_directions
            directions = find(z, y, k)
            scale = float(np.sqrt(np.mean(np.sum((z @ directions) ** 2, axis=1)))) or 1.0
            lifts = rng.standard_normal((directions.shape[1], self.width))
            return Block(directions, lifts, np.ones(len(lifts), bool), biases[level], scale, self.activation)

        rule = Rounds(self._count, self.signal, self.update == "append", forward, rng)
        blocks: list[Block] = []
        values = [z]
        for level in range(self.depth):
            blocks.append(forward(level, values[-1], self.k))
            values.append(blocks[-1](values[-1]))
        networks: list[Network] = []
        for number in range(rounds + 1):
            if number:
                last = networks[-1]
                residual = y - last.output(values) if self.residuals else y
                blocks = rule.round(blocks, values, residual, y, last.weights_of_blocks())
                values = outputs(blocks, z)
            if not np.isfinite(values[-1]).all():
                raise Diverged(f"{self.name}: features are not finite after {number} rounds.")
            path = RidgePath.of(read(blocks, values, self.read), y)
            networks.append(Network(tuple(blocks), self.read, path, penalties[number] if penalties else path.best))
        return networks

    @property
    def _count(self) -> int:
        """The number of new directions of a round."""
        return max(1, round(self.share * self.k))

    def _features(self, d: int, rounds: int) -> int:
        """The largest number of features that the read-out has after so many rounds."""
        if self.read != "directions":
            return self.width * (self.depth if self.read == "all" else 1)
        inputs = 2 * d if self.with_squares else d
        return comb(min(self.k + 1 + rounds * self._count, inputs) + DEGREE, DEGREE) - 1

    def cost(self, n: int, d: int) -> Cost:
        """A read-out's eigenvalues and the blocks' products in each round, 1.8 times as much with held-out points."""
        p, fits = self.width, (1.8 if self.held_out else 1.0) * (self.rounds + 1)
        r = min(p, max(n, LARGE))  # columns of ``span``
        reads = [self._features(d, rounds) for rounds in range(self.rounds + 1)]
        ridge = sum(2.0 * n * q * (min(n, q) + 50) + 10.0 * min(n, q) ** 3 for q in reads) / len(reads)
        products = 4 * reads[-1] if self.read == "directions" else 0
        blocks = self.depth * (4.0 * n * p * r + 10.0 * r**3)
        bytes = 8.0 * n * (p * (4 * self.depth + 4) + products) + 24.0 * reads[-1] ** 2 + 2.0**24
        return Cost(fits * (ridge + blocks), bytes, work="products", seconds=1e-2 * fits, parameters=reads[-1] + 1)


@dataclass(frozen=True)
class Network:
    """Blocks, and ridge regression on what they make of z."""

    blocks: tuple[Block, ...]
    reads: Reads
    path: RidgePath
    penalty: int
    """Number of the penalty in the path."""

    def output(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """The output, (m,), of z^0, ..., z^L."""
        weights, offset = self.path.weights[:, self.penalty], self.path.offsets[self.penalty]
        return np.asarray(read(self.blocks, values, self.reads) @ weights + offset)

    def errors(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Mean squared error of each penalty, (50,), at z (m, q) with labels y (m,)."""
        return self.path.errors(read(self.blocks, outputs(self.blocks, z), self.reads), y)

    def weights_of_blocks(self) -> list[np.ndarray]:
        """The read-out's weights of the outputs of each block, (p,); 0 where it does not read them."""
        weights, unread = self.path.weights[:, self.penalty], [np.zeros(len(block.biases)) for block in self.blocks]
        if self.reads == "all":
            return np.split(weights, len(self.blocks))
        return [*unread[:-1], weights] if self.reads == "last" else unread


@dataclass(frozen=True)
class SpectralPredictor(Predictor):
    """A network of the inputs, in the units of the labels."""

    network: Network
    square_mean: np.ndarray | None
    """E x^2, (d,), if the network is given squares."""
    centre: float
    spread: float
    info: Mapping[str, Any] = field(default_factory=dict)
    stages: Mapping[str, Predictor] = field(default_factory=dict)
    """``forward``, then ``round1``, ``round2``, ... up to the last one that was made."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Predictions (m,) at x (m, d)."""
        values = outputs(self.network.blocks, with_squares(x, self.square_mean))
        return self.network.output(values) * self.spread + self.centre

    def hidden(self, x: np.ndarray) -> Mapping[str, np.ndarray]:
        """{"S2": V_1^T z^0, "S3": V_2^T z^1, ...}, each (m, K), what each block reads; only the span has a meaning."""
        values = outputs(self.network.blocks, with_squares(x, self.square_mean))
        blocks = zip(self.network.blocks, values, strict=False)
        return {f"S{layer}": z @ block.directions for layer, (block, z) in enumerate(blocks, 2)}


def outputs(blocks: Sequence[Block], z: np.ndarray) -> list[np.ndarray]:
    """z^0 (m, q), which is given, then z^1, ..., z^L, each (m, p)."""
    values = [z]
    for block in blocks:
        values.append(block(values[-1]))
    return values


def read(blocks: Sequence[Block], values: Sequence[np.ndarray], reads: Reads) -> np.ndarray:
    """What the read-out reads, (m, D), of z^0, ..., z^L."""
    if reads == "directions":
        return monomials(values[0] @ blocks[0].directions / blocks[0].scale)
    return values[-1] if reads == "last" else np.hstack(values[1:])


def monomials(z: np.ndarray) -> np.ndarray:
    """The products of 1 to 4 coordinates of z (m, K), (m, C(K + 4, 4) - 1)."""
    columns = [z[:, list(chosen)].prod(axis=1) for degree in range(1, DEGREE + 1)
               for chosen in combinations_with_replacement(range(z.shape[1]), degree)]  # fmt: skip
    return np.column_stack(columns)
