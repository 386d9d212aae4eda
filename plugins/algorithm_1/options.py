"""Options of Algorithm 1 of "Backward Feature Correction", with the network, schedule and cost they imply."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Annotated, Any, Literal

from bfc_plugins.algorithm_1.net import DistilledNet
from bfc_plugins.algorithm_1.printed import PrintedSchedule
from bfc_plugins.algorithm_1.schedule import LayerSchedule, ThresholdSchedule
from bfc_plugins.quadratic.skips import check_skips, default_skips, supposed_form
from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from bfc_bench.errors import UsageError
from bfc_bench.learner import BatchLearner, Context, Cost, DataSpec, LabelKind
from bfc_bench.toolkit.networks import PROGRAM_BYTES

Count = Annotated[int, Field(ge=1)]

EXPECTED_STEPS = {"weighted": 4000, "square": 8500}
"""Steps until training ends, by the loss: 2,400 to 4,300 on the clean labels of the suite bfc. ``square`` is meant for
noisy labels, whose loss stays level from about 3,400 on, which is noticed when it has done so for as long."""


class Algorithm1Options(BatchLearner):
    """The options of Algorithm 1; ``controller.py`` runs it.

    docs/algorithm-1.md lists every departure from the paper's text, with the options that undo it.
    """

    depth: Annotated[int, Field(ge=2, le=8)] = 3
    """Depth L."""
    skips: tuple[tuple[Annotated[int, Field(ge=0)], ...], ...] | None = None
    """Layers J_2..J_L that each layer reads; None is J_2 = {1}, J_3 = {0, 2}, J_l = {0, l-1}."""
    width: Annotated[int, Field(ge=1, le=4096)] = 32
    """Number of rows m of every W_l."""
    max_rank: Annotated[int, Field(ge=1, le=64)] = 8
    """Largest rank k_l; every K_l is padded to it, so that one compiled program serves all ranks."""
    ranks: Literal["worth", "threshold", "printed"] = "worth"
    """How k_l is chosen. ``threshold``: from W_l once, when K_l joins, in the norm of the layer's inputs. ``worth``:
    K_l starts so, K_L with ``max_rank``; K_l gains features when training stalls (``growth_worth``); when the target
    error is first reached, all K_l are cut to the features above ``cut_worth``, and may regain them if training stalls
    again. ``printed``: INITIAL-DISTILL exactly as in the paper."""
    rank_threshold: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """When K_l joins, k_l counts the singular values that are at least this fraction of the largest; with ``printed``
    it counts those of at least this value, 1 / (10 kappa^2) in the paper."""
    growth_worth: PositiveFloat = 0.15
    """Smallest worth of a feature that is added when training stalls: the root of its variance in the output over the
    mean loss."""
    cut_worth: PositiveFloat = 1.0
    """Smallest worth of a feature that is kept when the target error is reached; 1 keeps features with at least as much
    variance as the remaining error."""
    expansion: Count = 3
    """R_l has this times C(k_l + 1, 2) rows."""
    feature_moment: PositiveFloat | Literal["printed"] = 1.0
    """Second moment of sigma(R_l S_l), to which R_l is scaled (that of x is 1); less if K_l joins before W_l has
    learned anything. ``printed`` draws entries of R_l with variance 1 / k_l^2 and ignores ``feature_floor``."""
    feature_floor: Annotated[float, Field(gt=0, le=1)] = 0.04
    """R_l is a random matrix times E[S_l S_l^T]^{-1/2}, with eigenvalues raised to this fraction of the largest; 1
    leaves the random matrix alone."""
    truncate: PositiveFloat | None = None
    """B' of the truncated quadratic activation in training, or None; the learned network is truly quadratic."""
    schedule: Literal["threshold", "printed"] = "threshold"
    """Thresholds of the objective at which layers join; the paper's own (``printed``) need ``alphas``."""
    alphas: Literal["estimated", "oracle"] = "estimated"
    """alpha_2..alpha_L, used only in the thresholds: the target's own (``oracle``), or ``estimated``. The latter lets
    K_l join when the objective stops falling and takes alpha_{l+1}^2 to be twice the objective there."""
    distillation: tuple[NonNegativeFloat, NonNegativeFloat, NonNegativeFloat] = (1.0, 0.3, 0.1)
    """Strengths lambda_{3..5,l} / alpha_l^2 of the distilling regularisers."""
    decay: NonNegativeFloat = 1e-3
    """Weight decay lambda_6 / eps_0^2 when a layer joins; it is quartered whenever eps_0 is halved."""
    eps: PositiveFloat = 0.00125
    """Training ends when the target error eps_0, at first 4 and halved when Obj < eps_0^2 / 4, falls below this."""
    loss: Literal["weighted", "square"] = "weighted"
    """Loss of real labels: ``weighted`` = (F - y)^2 / (1 + t^2), t = (y - median) / (1.48 MAD), for clean labels;
    ``square`` = (F - y)^2, for noisy ones."""
    v: PositiveFloat = 100.0
    """Factor v in the loss of binary labels, CE(y, v z) = log(1 + exp(-y v z)) with margin z; about 1 / (the error you
    aim at)."""
    lr: PositiveFloat | None = None
    """Constant learning rate eta; None is min(.004, .1 / d)."""
    lr_growth: PositiveFloat = 2.0
    """Growth of the learning rate per layer: eta_l is ``lr`` times this to the power of l - 2."""
    batch_size: Count = 32
    """Size of a minibatch."""
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """Momentum of SGD."""
    clip: PositiveFloat = 0.5
    """Bound on the global gradient norm."""
    clip_eps: PositiveFloat = 4.0
    """Bound on the gradient norm in units of eps_0; without it a single point of a heavy tail can undo small errors."""
    noise: NonNegativeFloat = 3e-4
    """Standard deviation of the noise per step and entry of W_l, divided by the learning rate of W_l."""
    max_steps: Count | None = None
    """Training ends at the first check after this many steps at the latest; None is 40,000, or 120,000 for L >= 4. With
    ``ranks = "worth"`` it ends earlier if the loss stays level."""
    check_every: Count = 100
    """Number of steps between two checks of the objective."""

    @model_validator(mode="after")
    def _fits_the_depth(self) -> Algorithm1Options:
        if len(self.connections) != self.depth - 1:
            raise ValueError(f"skips must have {self.depth - 1} entries for depth {self.depth}. Got {self.skips}.")
        check_skips(self.connections)
        if self.schedule == "printed" and self.alphas == "estimated":
            raise ValueError("alphas must be 'oracle' for schedule 'printed'. Got 'estimated'.")
        return self

    @property
    def connections(self) -> tuple[tuple[int, ...], ...]:
        """J_2..J_L."""
        return default_skips(self.depth) if self.skips is None else self.skips

    @property
    def longest(self) -> int:
        """``max_steps`` with its default filled in."""
        return self.max_steps or (40_000 if self.depth <= 3 else 120_000)

    def net(self, d: int, kind: LabelKind = "real", margin_column: int | None = None) -> DistilledNet:
        """The network."""
        rows, linear = self.expansion * math.comb(self.max_rank + 1, 2), kind == "binary"
        shapes = (d, self.width, self.max_rank, rows, self.connections, self.truncate)
        return DistilledNet(*shapes, linear, margin_column)

    def rate(self, d: int, layer: int = 2) -> float:
        """Learning rate eta_l."""
        return (self.lr or min(0.004, 0.1 / d)) * self.lr_growth ** (layer - 2)

    def layer_schedule(self, ctx: Context, d: int) -> LayerSchedule:
        """A new schedule. Raises ``UsageError`` if the target does not provide the alphas."""
        if self.alphas == "estimated":
            return ThresholdSchedule(self.depth, None)
        alphas = tuple(ctx.oracle.get("alphas", ()))
        if len(alphas) != self.depth - 1:
            raise UsageError(
                f"{self.name}: alphas = 'oracle' needs a target that tells {self.depth - 1} alphas for depth "
                f"{self.depth}. Got {len(alphas)}. Use the target's depth, or alphas = 'estimated'."
            )
        if self.schedule == "printed":
            return PrintedSchedule(self.depth, alphas, d)
        return ThresholdSchedule(self.depth, alphas)

    def assumes(self) -> dict[str, Any]:
        """L and J_2..J_L, see ``supposed_form``."""
        return supposed_form(self.connections, type(self).model_fields["depth"].default)

    def oracle(self) -> frozenset[str]:
        """``alphas`` if the thresholds need the target's own."""
        return frozenset({"alphas"}) if self.alphas == "oracle" else frozenset()

    def batch_key(self, train: DataSpec) -> Hashable:
        """What a compiled program depends on, and the steps between two checks."""
        return (self.name, self.net(train.d), train.kind, self.batch_size, self.loss, self.check_every)

    def cost(self, n: int, d: int) -> Cost:
        """Three forward passes and the regularisers' Gram matrices per step, for the expected number of steps.

        Memory holds the sample, its activations, and the worths of its features in float64.
        """
        net = self.net(d)
        grams = 6.0 * (self.width + self.max_rank) * net.flops()
        steps = min(self.longest, EXPECTED_STEPS[self.loss])
        evaluation = net.flops() * n * steps / self.check_every
        padded = max(1024, 2 * n)
        inputs = sum(sum(net.fan_ins(layer)) for layer in net.layers())
        sample = 4.0 * padded * (4 * d + self.depth * (self.width + net.expansion))
        return Cost(
            flops=(3.0 * net.flops() * self.batch_size + grams) * steps + evaluation,
            bytes=PROGRAM_BYTES + sample + 24.0 * n * inputs,
            work="steps",
            parameters=inputs * (net.width + net.rank) + d * net.linear + 1,
        )
