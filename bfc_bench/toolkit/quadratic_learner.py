"""What the learners that train a quadratic DenseNet share: its options, their defaults, and the set-up of a fit."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from bfc_bench.errors import Diverged, UsageError
from bfc_bench.learner import Capabilities, Context, Cost, Data, Failure, Job, Learner, Outline, Predictor
from bfc_bench.seeds import stream
from bfc_bench.toolkit.quadratic_net import Params, QuadraticNet, check_skips, default_skips
from bfc_bench.toolkit.quadratic_predictor import QuadraticPredictor

if TYPE_CHECKING:
    from bfc_bench.toolkit.ensemble import Member, Recipe

Positive = Annotated[float, Field(gt=0)]

PROGRAM_BYTES = 150e6
"""Compiler and runtime of JAX, the floor of a fit's memory."""


class QuadraticLearner(Learner):
    """A quadratic DenseNet (BFC section 2.1), over-parameterised: m_l units where the target has k_l.

    Labels are divided by the 90th percentile of |y - median(y)|, inputs by the root of the mean E[x_i^2]. The only bias
    is one output constant: a bias in a layer would make the layer below it non-identifiable.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        devices=frozenset({"cpu", "cuda"}), oracle=frozenset({"alphas"})
    )

    widths: Annotated[tuple[Annotated[int, Field(ge=1, le=4096)], ...], Field(min_length=1)] = (20, 12)
    """m_2..m_L."""
    skips: tuple[tuple[Annotated[int, Field(ge=0)], ...], ...] | None = None
    """J_2..J_L; None is J_2 = {1}, J_3 = {0, 2}, J_l = {0, l-1}."""
    alphas: Literal["learned", "oracle"] | Annotated[tuple[Positive, ...], Field(min_length=1)] = "learned"
    """alpha_2..alpha_L: one trainable output scale per layer, started equal; or the target's own (BFC footnotes 9 and
    15 allow a grid search for them); or these numbers."""
    steps: Annotated[int, Field(ge=1)] = 3000
    batch_size: Annotated[int, Field(ge=1)] | None = None
    """Minibatch size; None is the power of two nearest 2.5 d, from 128 (256 for L >= 5) to 1024, and 64 for ``sgd``."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """Adam with beta = (momentum, .99), or SGD with momentum, which wants about 8000 steps."""
    lr: Positive | None = None
    """Peak learning rate; None is min(.01, .8 / d), times .3 for L >= 5, and 1 for ``sgd``."""
    lr_layers: tuple[Annotated[float, Field(ge=0)], ...] | None = None
    """Factors of ``lr`` for W_2..W_L."""
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    clip: Positive | None = None
    """Bound on the global gradient norm; None is 1, and .01 for ``sgd``."""
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.05
    """Share of the steps in which ``lr`` rises linearly; a cosine to 0 follows."""
    loss: Literal["weighted", "square"] = "weighted"
    """``weighted`` = (F - y)^2 / (1 + y^2) on scaled labels, for clean ones; ``square`` = (F - y)^2, for noisy ones."""
    init_scale: Positive | tuple[Positive, ...] = 0.6
    """Entries of W_{l,j} start as N(0, 1) init_scale_l / sqrt(m_l dim(G_j)); one number, or one per layer."""
    input_scale: Positive | None = None
    """What inputs are multiplied by; None is 1 / sqrt(mean_i E[x_i^2]), which is 1 for inputs of unit variance."""
    truncate: Positive | None = None
    """B' of the truncated quadratic activation in training, or None; the learned network is truly quadratic."""

    @model_validator(mode="after")
    def _one_per_layer(self) -> QuadraticLearner:
        check_skips(self.connections, self.widths)
        for key in ("alphas", "lr_layers", "init_scale"):
            value = getattr(self, key)
            if isinstance(value, tuple) and len(value) != len(self.widths):
                raise ValueError(
                    f"{key} must have one number per layer, {len(self.widths)} for widths {self.widths}. Got {value}."
                )
        return self

    @property
    def connections(self) -> tuple[tuple[int, ...], ...]:
        """J_2..J_L."""
        return default_skips(self.depth) if self.skips is None else self.skips

    @property
    def depth(self) -> int:
        """L."""
        return len(self.widths) + 1

    def net(self, d: int) -> QuadraticNet:
        """The network at input dimension d."""
        return QuadraticNet(d, self.widths, self.connections, self.truncate)

    def minibatch(self, d: int) -> int:
        """``batch_size`` with its default filled in."""
        if self.batch_size is not None:
            return self.batch_size
        if self.optimizer == "sgd":
            return 64
        return int(min(max(2 ** round(math.log2(2.5 * d)), 256 if self.depth >= 5 else 128), 1024))

    def rate(self, d: int) -> float:
        """``lr`` with its default filled in."""
        if self.lr is not None:
            return self.lr
        return 1.0 if self.optimizer == "sgd" else min(1e-2, 0.8 / d) * (0.3 if self.depth >= 5 else 1.0)

    def recipe(self, apply: Any, d: int) -> Recipe:
        """What is compiled, for a network ``apply``."""
        from bfc_bench.toolkit.ensemble import Recipe, WarmupCosine, square_loss, weighted_square_loss

        loss = weighted_square_loss if self.loss == "weighted" else square_loss
        return Recipe(apply, self.minibatch(d), loss, self.optimizer, WarmupCosine(self.warmup))

    def member(self, setup: Setup, params: Params, multipliers: Params, inputs: Any, stream: int = 0) -> Member:
        """One model to train, from ``params``, on ``inputs``."""
        from bfc_bench.toolkit.ensemble import Member

        clip = self.clip or (0.01 if self.optimizer == "sgd" else 1.0)
        rate = self.rate(setup.net.d)
        return Member(params, inputs, setup.y, setup.seed, rate, multipliers, stream, clip, self.momentum)

    def rate_factors(self) -> Params:
        """Factors of the learning rate by parameter of the network: ``lr_layers``, and 0 for what is not trained."""
        factors = self.lr_layers or (1.0,) * len(self.widths)
        weights = {f"W{layer}": factor for layer, factor in enumerate(factors, start=2)}
        return {**weights, "constant": 1.0, "log_alpha": float(self.alphas == "learned"), "square_mean": 0.0}

    def facts(self, d: int, predictor: QuadraticPredictor) -> dict[str, Any]:
        """What ``Predictor.info`` says of every fit."""
        return {
            "alphas": [float(alpha) for alpha in predictor.alphas.values()],
            "oracle": sorted(self.oracle()),
            "steps": self.steps,
            "lr": self.rate(d),
            "batch_size": self.minibatch(d),
        }

    def setup(self, train: Data, ctx: Context) -> Setup:
        """Scaled data and initial parameters. Raises ``UsageError`` when the target lacks an oracle fact asked for."""
        x, y = np.asarray(train.x, np.float64), np.asarray(train.y, np.float64)
        square_mean = np.mean(x**2, axis=0) if ctx.square_mean is None else ctx.square_mean
        input_scale = self.input_scale or 1.0 / math.sqrt(float(np.mean(square_mean)) or 1.0)
        y_scale = float(np.quantile(np.abs(y - np.median(y)), 0.9)) or 1.0
        net = self.net(train.d)
        scales = self.init_scale if isinstance(self.init_scale, tuple) else (self.init_scale,) * len(self.widths)
        params = net.init(stream(ctx.seed, "quadratic-net"), scales, input_scale**2 * square_mean)
        if self.alphas != "learned":
            params["log_alpha"] = np.log(self._told(ctx) if self.alphas == "oracle" else np.array(self.alphas))
        return Setup(net, params, input_scale * x, y / y_scale, y_scale, input_scale, ctx.seed)

    def _told(self, ctx: Context) -> np.ndarray:
        """alpha_2..alpha_L as the target tells them."""
        alphas = np.array(ctx.oracle.get("alphas", ()), np.float64)
        if len(alphas) != len(self.widths):
            raise UsageError(
                f"{self.name}: alphas = 'oracle' needs a target that tells {len(self.widths)} alphas, one per width. "
                f"Got {len(alphas)}. Give as many widths as the target has layers, or use alphas = 'learned'."
            )
        return alphas

    def oracle(self) -> frozenset[str]:
        """``alphas`` when the options ask for them."""
        return frozenset({"alphas"}) if self.alphas == "oracle" else frozenset()

    def batch_key(self, train: Outline) -> Hashable:
        """Everything that determines compiled shapes. Seed, rates, scales, n and teacher may differ in a batch."""
        shapes = (self.net(train.d), self.steps, self.minibatch(train.d))
        return (self.name, *shapes, self.optimizer, self.loss, self.warmup)

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Train on the n points. Raises ``Diverged`` when a gradient or the final loss is not finite."""
        (fitted,) = self.fit_batch([Job(self, train, ctx)])
        if isinstance(fitted, Failure):
            raise Diverged(fitted.reason)
        return fitted

    def cost(self, n: int, d: int) -> Cost:
        """Forward and backward pass are about three forward passes; memory is samples, activations and the runtime."""
        net, batch = self.net(d), self.minibatch(d)
        units = sum(self.widths) + sum(sum(net.fan_ins(layer)) for layer in net.layers())
        padded = max(1024, 2 * n)
        return Cost(
            flops=3.0 * net.flops() * batch * self.steps,
            bytes=PROGRAM_BYTES + 16.0 * padded * (d + 1) + 4.0 * units * (padded + 4 * batch),
        )


@dataclass(frozen=True)
class Setup:
    """A fit about to start."""

    net: QuadraticNet
    params: Params
    x: np.ndarray
    """Scaled inputs, (n, d), float64."""
    y: np.ndarray
    """Scaled labels, (n,), float64."""
    y_scale: float
    input_scale: float
    seed: int

    def predictor(self, net: QuadraticNet, params: Params, **extras: Any) -> QuadraticPredictor:
        """The trained network in the units of the data."""
        return QuadraticPredictor(
            net, params, self.x / self.input_scale, y_scale=self.y_scale, input_scale=self.input_scale, **extras
        )


def diverged(learner: QuadraticLearner, d: int, loss: float) -> Failure:
    """The result of a fit that left the finite numbers."""
    return Failure(
        "diverged",
        f"{learner.name}: a gradient or the loss was not finite in training (final loss {loss:.3g}, "
        f"lr {learner.rate(d):.3g}). Use a smaller lr or clip.",
    )
