"""Algorithm 1 of "Backward Feature Correction": SGD on the re-parameterised DenseNet, with its own control flow."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from bfc_plugins.algorithm_1.initial_distill import initial_distill
from bfc_plugins.algorithm_1.net import DistilledNet
from bfc_plugins.algorithm_1.predictor import DistilledPredictor, Units
from bfc_plugins.algorithm_1.schedule import (
    LayerSchedule,
    StepSchedule,
    Thresholds,
    ThresholdSchedule,
    joining_order,
)
from bfc_plugins.quadratic.net import Params, check_skips, default_skips, supposed_form
from pydantic import Field, model_validator

from bfc_bench.errors import UsageError
from bfc_bench.learner import BatchLearner, Capabilities, Context, Cost, Data, Failure, Job, Outline, Predictor
from bfc_bench.seeds import stream

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]

PROGRAM_BYTES = 150e6
"""Compiler and runtime of JAX, the floor of a fit's memory."""
LANES = 64
"""Most jobs that advance together on a GPU."""


class WkrDenseNet(BatchLearner):
    """Train W_l and distil K_l from it, layer by layer, none ever frozen (BFC section 4, Algorithm 1, and appendix B).

    W_2 starts; K_2 joins by INITIAL-DISTILL, then W_3, K_3, ..., W_L, K_L, and all that has joined is trained to the
    end. Objective and thresholds are in units of the (weighted) variance of y. The paper's constants are for large d;
    the defaults are for d up to a few hundred. Its per-step noise is added every ``check_every`` steps, in one sum.
    """

    name: ClassVar[str] = "wkr-densenet"
    capabilities: ClassVar[Capabilities] = Capabilities(
        devices=frozenset({"cpu", "cuda"}), precision="float32", oracle=frozenset({"alphas"})
    )
    smoke: ClassVar[Mapping[str, Any]] = {
        "width": 6,
        "max_rank": 3,
        "schedule": "steps",
        "join_steps": (150, 200, 300),
        "max_steps": 400,
        "check_every": 50,
    }

    depth: Annotated[int, Field(ge=2, le=8)] = 3
    """L."""
    skips: tuple[tuple[Annotated[int, Field(ge=0)], ...], ...] | None = None
    """J_2..J_L; None is J_2 = {1}, J_3 = {0, 2}, J_l = {0, l-1}."""
    width: Annotated[int, Field(ge=1, le=4096)] = 32
    """m, rows of every W_l."""
    max_rank: Annotated[int, Field(ge=1, le=64)] = 8
    """Bound on k_l, which is found from W_l. K_l is padded to it, so that one program serves all ranks."""
    rank_threshold: Annotated[float, Field(gt=0, lt=1)] = 0.3
    """k_l is the number of singular values that are at least this share of the largest."""
    expansion: Count = 3
    """R_l has this times C(k_l + 1, 2) rows."""
    feature_moment: Positive = 1.0
    """R_l is scaled so that sigma(R_l S_l) has this second moment. x has 1."""
    truncate: Positive | None = None
    """B' of the truncated quadratic activation in training, or None; the learned network is truly quadratic."""
    schedule: Literal["threshold", "steps"] = "threshold"
    """When layers join: by tests of the objective, or at ``join_steps``."""
    join_steps: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    """Steps at which K_2, W_3, K_3, ..., W_L, K_L join; None is 2000 steps after W_l for K_l, 200 more for W_{l+1}."""
    alphas: Literal["estimated", "oracle"] | Annotated[tuple[Positive, ...], Field(min_length=1)] = "estimated"
    """alpha_2..alpha_L in the thresholds, the only place where they are used (``net.py``). By default
    no oracle: K_l joins when the objective stops falling, and alpha_{l+1}^2 is twice the value at which it does, which
    is what the layers above are worth. Or the target's own, or these numbers."""
    distill_threshold: Positive = 1.2
    """c_1: K_l joins when Obj <= c_1 rho^{l-2} (alpha_{l+1} / alpha_2)^2, for l < L."""
    distill_decay: Annotated[float, Field(gt=0, le=1)] = 0.5
    """rho."""
    join_threshold: Positive = 1.0
    """c_2: W_l joins when Obj <= c_2 (alpha_l / alpha_2)^2."""
    last_threshold: Positive = 0.01
    """K_L joins when Obj <= this times (alpha_L / alpha_2)^2."""
    distillation: tuple[NotNegative, NotNegative, NotNegative] = (1.0, 0.3, 0.1)
    """lambda_{3..5,l} / alpha_l^2."""
    decay: NotNegative = 1e-3
    """lambda_6 / eps_0^2 when a layer joins; it is quartered whenever eps_0 is halved."""
    eps_start: Positive = 4.0
    """First target error eps_0, halved when Obj < eps_0^2 / 4."""
    eps: Positive = 0.00125
    """Training ends when eps_0 is below."""
    loss: Literal["weighted", "square"] = "weighted"
    """``weighted`` = (F - y)^2 / (1 + t^2), t = (y - median) / (1.48 MAD), for clean labels; ``square`` = (F - y)^2
    for noisy ones."""
    lr: Positive | None = None
    """eta, constant; None is min(.004, .1 / d)."""
    lr_growth: Positive = 2.0
    """eta_l is ``lr`` times this to the power of l - 2."""
    batch_size: Count = 32
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    clip: Positive = 0.5
    """Bound on the global gradient norm."""
    clip_eps: Positive = 4.0
    """The bound is also at most this times eps_0: else one point of a heavy tail undoes what small errors have won."""
    noise: NotNegative = 3e-4
    """Standard deviation of the noise per step and entry of W_l, over its learning rate."""
    max_steps: Count = 40_000
    """Training ends at the first check after so many steps, whatever eps_0 is then."""
    check_every: Count = 100
    """Steps between two looks at the objective."""

    @model_validator(mode="after")
    def _one_per_layer(self) -> WkrDenseNet:
        wanted = {"skips": self.depth - 1, "alphas": self.depth - 1, "join_steps": 2 * self.depth - 3}
        for key, count in wanted.items():
            value = getattr(self, key)
            if isinstance(value, tuple) and len(value) != count:
                raise ValueError(f"{key} must have {count} entries for depth {self.depth}. Got {value}.")
        check_skips(self.connections, (1,) * (self.depth - 1))
        if isinstance(self.alphas, tuple) and any(above > below for below, above in pairwise(self.alphas)):
            raise ValueError(f"alphas must not increase (alpha_2 >= alpha_3 >= ...). Got {self.alphas}.")
        if any(later < sooner for sooner, later in pairwise(self.join_steps or ())):
            raise ValueError(f"join_steps must not decrease: layers join in the order given. Got {self.join_steps}.")
        return self

    @property
    def connections(self) -> tuple[tuple[int, ...], ...]:
        """J_2..J_L."""
        return default_skips(self.depth) if self.skips is None else self.skips

    @property
    def joining(self) -> dict[str, int]:
        """What joins after W_2, in order, each with its step of the ``steps`` schedule."""
        names = joining_order(self.depth)
        steps = self.join_steps or tuple(2000 + 2200 * (i // 2) + 200 * (i % 2) for i in range(len(names)))
        return dict(zip(names, steps, strict=True))

    def net(self, d: int) -> DistilledNet:
        """The network at input dimension d."""
        rows = self.expansion * math.comb(self.max_rank + 1, 2)
        return DistilledNet(d, self.width, self.max_rank, rows, self.connections, self.truncate)

    def rate(self, d: int, layer: int = 2) -> float:
        """eta_l."""
        return (self.lr or min(0.004, 0.1 / d)) * self.lr_growth ** (layer - 2)

    def layer_schedule(self, ctx: Context) -> LayerSchedule:
        """A fresh schedule. Raises ``UsageError`` when the target lacks the oracle fact asked for."""
        if self.schedule == "steps":
            return StepSchedule(self.joining)
        thresholds = Thresholds(self.distill_threshold, self.distill_decay, self.join_threshold, self.last_threshold)
        alphas = None if self.alphas == "estimated" else self.alphas
        if alphas == "oracle":
            alphas = tuple(ctx.oracle.get("alphas", ()))
            if len(alphas) != self.depth - 1:
                raise UsageError(
                    f"{self.name}: alphas = 'oracle' needs a target that tells {self.depth - 1} alphas for depth "
                    f"{self.depth}. Got {len(alphas)}. Use the target's depth, or alphas = 'estimated'."
                )
        return ThresholdSchedule(self.depth, thresholds, alphas)

    def supposes(self) -> dict[str, Any]:
        """L and J_2..J_L, see ``supposed_form``."""
        return supposed_form(self.connections, type(self).model_fields["depth"].default)

    def oracle(self) -> frozenset[str]:
        """``alphas`` when the thresholds ask for them."""
        return frozenset({"alphas"}) if self.alphas == "oracle" and self.schedule == "threshold" else frozenset()

    def batch_key(self, train: Outline) -> Hashable:
        """What is compiled, and the steps between two checks. On a CPU jobs run one after another all the same."""
        return (self.name, self.net(train.d), self.batch_size, self.loss, self.check_every)

    def cost(self, n: int, d: int) -> Cost:
        """At most ``max_steps`` steps of about three forward passes, and the regularisers' Gram matrices."""
        net = self.net(d)
        grams = 6.0 * (self.width + self.max_rank) * net.flops()
        evaluation = net.flops() * n * self.max_steps / self.check_every
        padded = max(1024, 2 * n)
        return Cost(
            flops=(3.0 * net.flops() * self.batch_size + grams) * self.max_steps + evaluation,
            bytes=PROGRAM_BYTES + 4.0 * padded * (4 * d + self.depth * (self.width + net.expansion)),
        )

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Run all jobs, each through the control flow of its own; together on a GPU, one by one on a CPU."""
        from bfc_plugins.algorithm_1.sgd import Engine

        runs = [_Run(job.learner, job.train, job.ctx) for job in jobs]
        device, every = jobs[0].ctx.device, runs[0].learner.check_every
        lanes = 1 if device == "cpu" else LANES
        for group in (runs[first : first + lanes] for first in range(0, len(runs), lanes)):
            engine = Engine(group[0].program, [run.sample for run in group], device)
            step = 0
            while not all(run.ended for run in group):
                # A run that has ended takes part until all have, with rates of 0, and is not looked at again.
                engine.advance([run.training for run in group], step, step + every)
                step += every
                for run in group:
                    if not run.ended:
                        run.check(step)
        return [run.result() for run in runs]


class _Run:
    """One job on its way through Algorithm 1: what is decided between two chunks of SGD steps."""

    def __init__(self, learner: WkrDenseNet, train: Data, ctx: Context) -> None:
        from bfc_plugins.algorithm_1.sgd import Program, Training, TrainingSample

        from bfc_bench.toolkit.ensemble import square_loss, weighted_square_loss

        self.learner, self.seed, self.net = learner, ctx.seed, learner.net(train.d)
        self.schedule = learner.layer_schedule(ctx)
        self.x, y = np.asarray(train.x, np.float64), np.asarray(train.y, np.float64)
        square_mean = np.mean(self.x**2, axis=0) if ctx.square_mean is None else ctx.square_mean
        median = float(np.median(y))
        spread = 1.4826 * float(np.median(np.abs(y - median))) or float(np.std(y)) or 1.0
        x_scale = 1.0 / math.sqrt(float(np.mean(square_mean)) or 1.0)
        self.units = Units(x_scale, median, spread)
        t = (y - median) / spread
        weights = 1.0 / (1.0 + t * t) if learner.loss == "weighted" else np.ones_like(t)
        unit = float(np.mean(weights * (t - np.average(t, weights=weights)) ** 2)) or 1.0
        loss = weighted_square_loss if learner.loss == "weighted" else square_loss
        self.program = Program(self.net, learner.batch_size, loss)
        self.sample = TrainingSample(x_scale * self.x, t, unit, ctx.seed, learner.momentum)
        self.training = Training(
            # F starts at 0 in the units of the labels.
            params={**self.net.zeros(), "constant": np.array(-median / spread)},
            fixed={**self.net.expansions(), "square_mean": x_scale**2 * square_mean},
            rates={**dict.fromkeys(self.net.zeros(), 0.0), "constant": learner.rate(train.d)},
            noise=learner.noise,
            clip=learner.clip,
            lambdas=np.zeros((learner.depth - 1, 4)),
        )
        self.eps = learner.eps_start
        self.step, self.ended = 0, False
        self.joined: dict[str, int] = {}
        self.ranks: dict[int, int] = {}
        self.stages: dict[str, DistilledPredictor] = {}
        self._start("W2")

    def check(self, step: int) -> None:
        """Lines 3-11 and 18 after so many steps: lower the target error, and let in what is due."""
        self.step = step
        objective = self.training.objective
        while objective < self.eps**2 / 4 and self.eps >= self.learner.eps:
            self.eps /= 2
            self.training.lambdas[:, 3] /= 4
        self.training.clip = min(self.learner.clip, self.learner.clip_eps * self.eps)
        if not self.training.finite or self.eps < self.learner.eps or step >= self.learner.max_steps:
            self.ended = True
            self.training.rates = dict.fromkeys(self.training.rates, 0.0)
        elif part := self.schedule.due(step, objective):
            layer = int(part[1:])
            if part.startswith("K"):
                self.stages[f"layer{layer}"] = self._predictor()
                self._distill(layer)
            self._start(part)
            if part.startswith("K"):
                self.stages[f"distilled{layer}"] = self._predictor()

    def _start(self, part: str) -> None:
        """Lines 6-9: learning rate, weight decay, and for K_l the distilling regularisers."""
        layer = int(part[1:])
        self.joined[part] = self.step
        self.training.rates[part] = self.learner.rate(self.net.d, layer) * self.net.live(self.training.fixed, layer)
        if part.startswith("W"):
            self.training.lambdas[layer - 2, 3] = self.learner.decay * self.eps**2
        else:
            self.training.lambdas[layer - 2, :3] = self.learner.distillation

    def _distill(self, layer: int) -> None:
        """Line 10: k_l and K_l from W_l, and the random R_l that k_l was needed for."""
        params = {**self.training.params, **self.training.fixed}
        feed = self.net.forward(params, self.sample.x.T)[1][layer]
        moment = feed @ feed.T / feed.shape[1]
        w = np.asarray(params[f"W{layer}"], np.float64)
        learner = self.learner
        kernel, _ = initial_distill(w, self.net.last(layer), moment, learner.rank_threshold, learner.max_rank)
        k = self.ranks[layer] = len(kernel)
        self.training.params[f"K{layer}"] = np.pad(kernel, ((0, self.net.rank - k), (0, 0)))
        if layer < learner.depth:
            rows = learner.expansion * math.comb(k + 1, 2)
            expansion = stream(self.seed, learner.name, "R", layer).standard_normal((rows, k))
            fourth = float(np.mean((expansion @ kernel @ feed) ** 4)) or 1.0
            padded = np.zeros((self.net.expansion, self.net.rank))
            padded[:rows, :k] = (learner.feature_moment / fourth) ** 0.25 * expansion
            self.training.fixed[f"R{layer}"] = padded

    def _predictor(self, **extras: Any) -> DistilledPredictor:
        params: Params = {**self.training.params, **self.training.fixed}
        return DistilledPredictor(self.net, params, self.units, frozenset(self.joined), self.x, **extras)

    def result(self) -> Predictor | Failure:
        """The network at the end, with the stages it went through."""
        training, learner = self.training, self.learner
        if not training.finite:
            return Failure(
                "diverged",
                f"{learner.name}: a gradient or the objective was not finite at step {self.step} "
                f"(lr {learner.rate(self.net.d):.3g}). Use a smaller lr, clip or feature_moment.",
            )
        info = {
            "steps": self.step,
            "joined": self.joined,
            "ranks": {f"k{layer}": k for layer, k in self.ranks.items()},
            "eps_0": self.eps,
            "objective": training.objective,
            "final_loss": training.loss,
            "regulariser": training.penalty,
            "lr": learner.rate(self.net.d),
            "oracle": sorted(learner.oracle()),
        }
        if isinstance(self.schedule, ThresholdSchedule):
            info["alphas"] = [float(alpha) for alpha in self.schedule.alphas.values()]
        return self._predictor(info=info, earlier=self.stages)
