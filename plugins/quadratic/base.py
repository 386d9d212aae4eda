"""Base class of the learners that train a quadratic DenseNet: options, defaults and the set-up of a fit."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from bfc_plugins.quadratic import recipe as default
from bfc_plugins.quadratic.low_rank import Factored, factored, less_constant, multiplied
from bfc_plugins.quadratic.net import Backward, Params, QuadraticNet
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.ranks import HELD_OUT, RATE, STEPS, Outcome, Train, trainings, with_selected_ranks
from bfc_plugins.quadratic.recipe import First, Optimizer
from bfc_plugins.quadratic.setup import Setup, with_linear_term
from bfc_plugins.quadratic.skips import check_skips, default_skips, supposed_form, unshareable
from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from bfc_bench.errors import UsageError
from bfc_bench.learner import BatchLearner, Capabilities, Context, Cost, Data, DataSpec, Job, LabelKind, TaskFacts
from bfc_bench.seeds import stream
from bfc_bench.toolkit.networks import ENSEMBLE_CAPABILITIES, PROGRAM_BYTES, STEP_SECONDS, label_scale
from bfc_bench.toolkit.square_features import input_scale, square_mean

if TYPE_CHECKING:
    from bfc_bench.toolkit.ensemble import Member, Trained

MAY_DIFFER = {"steps", "passes", "batch_size", "lr", "lr_layers", "clip", "v", "init_scale"}
"""Options in which learners that are trained together may differ, if their numbers of steps and points are equal."""


class QuadraticLearner(BatchLearner):
    """A quadratic DenseNet (BFC section 2.1), over-parameterised: m_l units where the target has k_l.

    Each layer has one trainable output scale alpha_l, initially equal. Labels are divided by the 90th percentile of
    |y - median(y)|, inputs by the root of the mean E[x_i^2]. The only bias is one output constant: a bias in a layer
    would make the layer below it non-identifiable.

    Binary labels are fitted by their cross entropy (BFC section 3.2, Theorem 4). The prediction is the margin
    x_c + F(the other columns) if ``Context.margin_column`` gives c, and otherwise F(x) + w.x with trained w.
    """

    capabilities: ClassVar[Capabilities] = ENSEMBLE_CAPABILITIES

    widths: Annotated[tuple[Annotated[int, Field(ge=1, le=4096)], ...], Field(min_length=1)] = (20, 12)
    """Widths m_2..m_L of the layers."""
    first: First = "squares"
    """First layer: ``squares`` gives G_1 = x^2 - E x^2, as in the paper; ``learned`` drops G_1, and layer 2 is the
    first layer of Li's talk, G_2 = (W_{2,0} x)^2."""
    skips: tuple[tuple[Annotated[int, Field(ge=0)], ...], ...] | None = None
    """Layers J_2..J_L that each layer reads; None is J_2 = {1}, J_3 = {0, 2}, J_l = {0, l-1}, or J_2 = {0}, J_3 = {2},
    J_l = {0, l-1} with a learned first layer. The paper's theory is about sets without l-2 that have a skip link from
    l = 3 on (footnote 4)."""
    share_skips: bool = False
    """Whether W_{l,l-1} = W_{l,l-3}, as in a ResNet (BFC footnote 4). Needs l-3 and l-1 in each J_l from l = 3 on, and
    equal widths of the two: m_2 = d for l = 3."""
    backward: Backward = "all"
    """``identity`` stops gradients from the layers above, so that a layer learns from its own term alpha_l Sum(G_l)
    alone; by BFC footnote 5 most of the correction passes there."""
    steps: Annotated[int, Field(ge=1)] | None = None
    """Number of steps. Here and below, None is the default recipe's value for d and L (``recipe.py``)."""
    passes: Annotated[int, Field(ge=1)] | None = None
    """Number of passes through the points instead of ``steps``, so that the operations grow with n."""
    batch_size: Annotated[int, Field(ge=1)] | None = None
    """Size of a minibatch."""
    optimizer: Optimizer = "adam"
    """Adam with beta = (.9, .99), or SGD with momentum .9."""
    lr: PositiveFloat | None = None
    """Peak learning rate, after a linear warm-up over a twentieth of the steps and before a cosine to 0."""
    lr_layers: tuple[NonNegativeFloat, ...] | None = None
    """Factors of ``lr`` for W_2..W_L."""
    clip: PositiveFloat | None = None
    """Bound on the global gradient norm."""
    loss: Literal["weighted", "square"] = "weighted"
    """Loss of scaled real labels: ``weighted`` = (F - y)^2 / (1 + y^2), for clean labels; ``square`` = (F - y)^2, for
    noisy ones, where E[y|x] does not minimise the weighted loss."""
    v: PositiveFloat = 100.0
    """Factor v in the loss of binary labels, CE(y, v z) = log(1 + exp(-y v z)) with margin z; about 1 / (the error you
    aim at)."""
    init_scale: PositiveFloat | tuple[PositiveFloat, ...] | None = None
    """Initial entries of W_{l,j} are N(0, 1) init_scale_l / sqrt(m_l dim(G_j)); one number, or one per layer."""
    ranks: Literal["given", "selected"] = "given"
    """``given`` lets every W_l have full rank. ``selected``, for noisy labels, chooses ranks by the error on a held-out
    quarter of the points (``ranks.py``); the network of full rank competes, trained with ``loss``."""
    truncate: PositiveFloat | None = None
    """B' of the truncated quadratic activation in training, or None; the learned network is truly quadratic."""

    @model_validator(mode="after")
    def _one_per_layer(self) -> QuadraticLearner:
        layers = f"{len(self.widths)} for widths {self.widths}"
        for key in ("skips", "lr_layers", "init_scale"):
            value = getattr(self, key)
            if isinstance(value, tuple) and len(value) != len(self.widths):
                raise ValueError(f"{key} must have one entry per layer, {layers}. Got {value}.")
        check_skips(self.connections, self.first == "squares")
        if self.share_skips and (reason := unshareable(self.connections, self.widths)):
            raise ValueError(reason)
        if self.passes and self.steps:
            raise ValueError(f"passes go without steps. Got passes = {self.passes} and steps = {self.steps}.")
        return self

    @property
    def connections(self) -> tuple[tuple[int, ...], ...]:
        """J_2..J_L."""
        return default_skips(len(self.widths) + 1, self.first == "squares") if self.skips is None else self.skips

    @property
    def depth(self) -> int:
        """Number of squarings, so that the degree is 2^depth; L if the first squares are given."""
        return len(self.widths) + (self.first == "squares")

    def net(self, d: int) -> QuadraticNet:
        """The network at input dimension d."""
        return QuadraticNet(d, self.widths, self.connections, self.truncate, self.share_skips, self.backward)

    def minibatch(self, d: int) -> int:
        """``batch_size`` with its default filled in."""
        return self.batch_size or default.minibatch(d, self.depth, self.optimizer)

    def rate(self, d: int) -> float:
        """``lr`` with its default filled in."""
        return self.lr or default.learning_rate(d, self.optimizer)

    def length(self, d: int, n: int, kind: LabelKind = "real") -> int:
        """``steps`` with its default filled in, or those of ``passes`` through n points."""
        if self.passes:
            return math.ceil(self.passes * n / self.minibatch(d))
        return self.steps or default.training_steps(d, self.depth, self.optimizer, kind)

    def scales(self) -> tuple[float, ...]:
        """``init_scale`` of each trained layer with its default filled in."""
        if self.init_scale is None:
            return default.init_scales(len(self.widths), self.first)
        return self.init_scale if isinstance(self.init_scale, tuple) else (self.init_scale,) * len(self.widths)

    def train_members(
        self, apply: Any, setup: Setup, members: Sequence[Member], device: str, checkpoints: Sequence[int] = ()
    ) -> list[Trained]:
        """Train members as networks ``apply``; ``setup`` is one of theirs, since all have the same shapes.

        Factored matrices are multiplied, so that every W_l is one matrix again.
        """
        from bfc_bench.toolkit import ensemble

        loss = ensemble.weighted_square_loss if self.loss == "weighted" else ensemble.square_loss
        loss = ensemble.cross_entropy_loss if setup.kind == "binary" else loss
        model, penalty = Factored(apply) if setup.low_rank else apply, less_constant if setup.penalty else None
        recipe = ensemble.Recipe(model, self.minibatch(setup.net.d), loss, self.optimizer, penalty=penalty)
        steps = self.length(setup.net.d, len(setup.y), setup.kind)
        results = ensemble.train(recipe, members, steps, device=device, checkpoints=checkpoints)
        return [replace(result, params=multiplied(result.params)) for result in results]

    def member(self, setup: Setup, params: Params, multipliers: Params, inputs: Any, stream: int = 0) -> Member:
        """One model to train; ``multipliers`` are factors of the learning rate, ``stream`` is that of minibatches."""
        from bfc_bench.toolkit.ensemble import Member

        if setup.low_rank:
            params, multipliers = factored(params, multipliers)
        clip = self.clip or default.gradient_clip(self.optimizer)
        rate, y = self.rate(setup.net.d), setup.y - setup.penalty / 2
        return Member(params, inputs, y, setup.seed, rate, multipliers, stream, clip, strength=setup.penalty)

    def rate_factors(self) -> Params:
        """Factors of the learning rate by parameter: ``lr_layers``, and 0 for parameters that are not trained."""
        factors = self.lr_layers or (1.0,) * len(self.widths)
        weights = {f"W{layer}": factor for layer, factor in enumerate(factors, start=2)}
        return {**weights, "constant": 1.0, "log_alpha": 1.0, "square_mean": 0.0}

    def facts(self, setup: Setup, predictor: QuadraticPredictor) -> dict[str, Any]:
        """Entries of ``Predictor.info`` for every fit."""
        d = setup.net.d
        return {
            "alphas": [float(alpha) for alpha in predictor.alphas.values()],
            "oracle": [],
            "steps": self.length(d, len(setup.y), setup.kind),
            "lr": self.rate(d),
            "batch_size": self.minibatch(d),
        }

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Outcome]:
        """Train all jobs as one ensemble; each result equals that of ``fit``."""
        learners, device = [job.learner for job in jobs], jobs[0].ctx.device
        setups = [learner.setup(job.train, job.ctx) for learner, job in zip(learners, jobs, strict=True)]
        if learners[0].ranks != "selected":
            return cls.train(learners, setups, device)
        return [learner.with_selected_ranks(setup, device) for learner, setup in zip(learners, setups, strict=True)]

    def with_selected_ranks(self, setup: Setup, device: str) -> Outcome:
        """Train with ranks that are selected on held-out points (``ranks.py``), on "cpu" or "cuda"."""
        return with_selected_ranks(
            setup,
            given=self.trained_with(device),
            penalised=self.trained_with(device, loss="square"),
            low_rank=self.trained_at_low_rank(setup, device, STEPS),
        )

    def trained_with(self, device: str, **options: Any) -> Train:
        """Training by this learner with other options."""
        learner = self.model_copy(update=options)
        return lambda setups: self.train([learner] * len(setups), setups, device)

    def trained_at_low_rank(self, setup: Setup, device: str, share: float) -> Train:
        """Training as in step 2 of ``ranks.py`` for a ``share`` of the steps of joint training."""
        steps, rate = share * self.length(setup.net.d, len(setup.y)), RATE * QuadraticLearner.rate(self, setup.net.d)
        return self.trained_with(device, loss="square", steps=math.ceil(steps), passes=None, lr=rate)

    @classmethod
    @abstractmethod
    def train(cls, learners: Sequence[Self], setups: Sequence[Setup], device: str) -> list[Outcome]:
        """Train all setups as one ensemble; each result is the same as if it were trained alone."""

    def setup(self, train: Data, ctx: Context) -> Setup:
        """Scaled data and initial parameters. Raises ``UsageError`` if weights cannot be shared or ranks selected."""
        x, y = np.asarray(train.x, np.float64), np.asarray(train.y, np.float64)
        mean = square_mean(x, ctx)
        x_scale, y_scale = input_scale(mean, ctx.margin_column), label_scale(y)
        net = self.net(train.d)
        if reason := self._refusal(train.kind, train.n, train.d):
            raise UsageError(f"{self.name}: {reason}")
        params = net.init(stream(ctx.seed, "quadratic-net"), self.scales(), x_scale**2 * mean)
        rates = self.rate_factors()
        if train.kind == "binary":
            params, rates = with_linear_term(net, params, rates, ctx.margin_column, x_scale)
            y, y_scale = self.v * y, 1.0
        return Setup(net, params, x_scale * x, y / y_scale, y_scale, x_scale, ctx.seed, train.kind, rates)

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip tasks for which ranks cannot be selected, or weights not shared because widths differ."""
        return self._refusal(task.kind, n, task.d)

    def _refusal(self, kind: LabelKind, n: int, d: int) -> str | None:
        if self.ranks == "selected" and (kind == "binary" or n < HELD_OUT):
            return f"ranks = 'selected' needs real labels and at least {HELD_OUT} points. Got {n} {kind} ones."
        return unshareable(self.connections, self.widths, d) if self.share_skips else None

    def assumes(self) -> dict[str, Any]:
        """L and J_2..J_L, see ``supposed_form``."""
        default_depth = len(type(self).model_fields["widths"].default) + 1
        return supposed_form(self.connections, default_depth, self.first == "squares")

    def trainings(self) -> tuple[float, int]:
        """Number of trainings that a fit amounts to, and largest number of networks in one ensemble."""
        return trainings(self.widths) if self.ranks == "selected" else (1.0, 1)

    def batch_key(self, train: DataSpec) -> Hashable:
        """Everything that a compiled program depends on; seed, ``MAY_DIFFER``, n and teacher may differ."""
        shapes = (self.net(train.d), self.length(train.d, train.n, train.kind), self.minibatch(train.d))
        return (self.name, *shapes, train.kind, *self.model_dump(exclude=MAY_DIFFER).items())

    def cost(self, n: int, d: int) -> Cost:
        """A step costs about three forward passes; memory holds samples, activations and the runtime."""
        net, batch = self.net(d), self.minibatch(d)
        units = sum(self.widths) + sum(sum(net.fan_ins(layer)) for layer in net.layers())
        padded = max(1024, 2 * n)
        count, together = self.trainings()
        return Cost(
            flops=3.0 * net.flops() * batch * self.length(d, n) * count,
            bytes=PROGRAM_BYTES + 16.0 * padded * (d + 1) + 4.0 * units * (padded * together + 4 * batch),
            work="steps",
            seconds=STEP_SECONDS * self.length(d, n) * count,
            parameters=net.weights(),
        )
