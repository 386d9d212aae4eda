"""Joint training: all layers of a quadratic DenseNet are trained together from the start (hierarchical learning)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from bfc_plugins.quadratic import gauss_newton, noise
from bfc_plugins.quadratic.base import QuadraticLearner
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.ranks import HELD_OUT, Outcome, trainings
from bfc_plugins.quadratic.setup import Setup
from pydantic import Field, model_validator

from bfc_bench.learner import Cost, Failure, Job, LabelKind
from bfc_bench.toolkit.networks import diverged

if TYPE_CHECKING:
    from bfc_bench.toolkit.ensemble import Trained


class QuadDenseNet(QuadraticLearner):
    """Train every layer of a quadratic DenseNet at once, by Adam or SGD (BFC sections 1.2 and 2.1).

    This is the paper's Algorithm 1 without distillation: the over-parameterised weights W alone, on the objective
    E (F(x) - y)^2. Lower layers are corrected while higher ones learn, which is backward feature correction.
    """

    name: ClassVar[str] = "quad-densenet"
    version: ClassVar[int] = 6
    smoke: ClassVar[Mapping[str, Any]] = {"widths": (6, 4), "steps": 200, "batch_size": 32}

    checkpoints: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Step counts after which the network is kept as a stage ``step<count>``, to follow features during training."""
    ranks: Literal["given", "selected", "auto"] = "auto"  # type: ignore[assignment]  # one choice more
    """``given`` lets every W_l have full rank. ``selected``, for noisy labels, chooses ranks by the error on a held-out
    quarter of the points (``ranks.py``), among them full rank. ``auto`` trains with full rank, which is the result
    unless held-out points show that low ranks lower the error (``noise.py``); then it is ``selected``."""
    finish: Literal["none", "gauss-newton"] = "none"
    """``gauss-newton`` continues from the trained weights with Gauss-Newton steps in float64 (``gauss_newton.py``). On
    clean labels of a target that the network contains, they take the error to rounding; the stage ``trained`` is the
    network before them. If they are no gain on held-out points, the trained network stays as it is."""

    @model_validator(mode="after")
    def _finish_and_checkpoints_fit(self) -> QuadDenseNet:
        if self.finish != "none" and (self.backward != "all" or 0.0 in (self.lr_layers or ())):
            raise ValueError(
                f"finish = {self.finish!r} trains every layer through all others, so that backward must be 'all' and "
                f"lr_layers positive. Got {self.backward!r} and {self.lr_layers}."
            )
        if self.checkpoints and self.ranks != "given":
            raise ValueError(
                f"checkpoints need ranks = 'given', one training. Got {self.checkpoints} with ranks = {self.ranks!r}."
            )
        return self

    def _refusal(self, kind: LabelKind, n: int, d: int) -> str | None:
        if self.finish != "none" and (kind == "binary" or n < HELD_OUT):
            return f"finish = {self.finish!r} needs real labels and at least {HELD_OUT} points. Got {n} {kind} ones."
        return super()._refusal(kind, n, d)

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Outcome]:
        """Train all jobs as one ensemble, then select ranks for noisy labels and finish, where options say so."""
        return [
            job.learner._ended(job, outcome) if isinstance(outcome, QuadraticPredictor) else outcome
            for job, outcome in zip(jobs, super().fit_batch(jobs), strict=True)
        ]

    def _ended(self, job: Job[Self], trained: QuadraticPredictor) -> Outcome:
        setup, device = self.setup(job.train, job.ctx), job.ctx.device
        ended: Outcome = trained
        if self.ranks == "auto" and setup.kind == "real":
            full_rank, low_rank = self.trained_with(device), self.trained_at_low_rank(setup, device, noise.SHARE)
            why = noise.why_full_rank(setup, trained, self.weights, full_rank, low_rank)
            ended = self._kept(setup, device, trained, why) if why else self.with_selected_ranks(setup, device)
        if self.finish == "none" or isinstance(ended, Failure):
            return ended
        return gauss_newton.finished(setup, ended, self.weights)

    def _kept(self, setup: Setup, device: str, trained: QuadraticPredictor, why: str) -> QuadraticPredictor:
        """The network of full rank; after more steps if too few are why it does not fit, and if options allow more."""
        hasty = why == noise.TOO_FEW_STEPS and self.finish == "none"
        longer = noise.LONGER if hasty and self.steps is None and self.passes is None else ()
        for steps in (factor * self.length(setup.net.d, len(setup.y)) for factor in longer):
            (outcome,) = self.trained_with(device, steps=steps)([setup])
            trained = outcome if isinstance(outcome, QuadraticPredictor) else trained
            if noise.fits(setup, trained):
                break
        trained.info = {**trained.info, "ranks": f"given: {why}"}
        if hasty and not noise.fits(setup, trained):
            trained.caution = f"{self.name} ended too early: take more steps, or finish = 'gauss-newton'"
        return trained

    def trainings(self) -> tuple[float, int]:
        """Those of every quadratic learner; with ``auto`` those for full rank, and the memory for noisy labels."""
        return (noise.TRAININGS, trainings(self.widths)[1]) if self.ranks == "auto" else super().trainings()

    def weights(self, y: np.ndarray) -> np.ndarray:
        """Weights (n,) of the points in the loss, for scaled labels y (n,)."""
        return 1.0 / (1.0 + y * y) if self.loss == "weighted" else np.ones_like(y)

    def cost(self, n: int, d: int) -> Cost:
        """That of every quadratic learner, and the finish."""
        cost = super().cost(n, d)
        if self.ranks == "auto":
            most = max(math.ceil(trainings(self.widths)[0]), sum(noise.LONGER)) + math.ceil(noise.TRAININGS)
            note = f"planned as {noise.TRAININGS:.0f} trainings; clean labels take 1 as a rule, others up to {most}"
            cost = replace(cost, counted=cost.flops / noise.TRAININGS, note=note)
        if self.finish != "none":
            flops, size = gauss_newton.cost(self.net(d), n)
            cost = replace(cost, flops=cost.flops + flops, bytes=cost.bytes + size, counted=cost.fit_flops + flops)
        return cost

    @classmethod
    def train(cls, learners: Sequence[Self], setups: Sequence[Setup], device: str) -> list[Outcome]:
        """Train all setups as one ensemble."""
        first, net = learners[0], setups[0].net
        members = [
            learner.member(setup, setup.params, setup.rates, setup.x)
            for learner, setup in zip(learners, setups, strict=True)
        ]
        results = first.train_members(net, setups[0], members, device, first.checkpoints)
        return [
            learner._predictor(setup, result) if result.finite else diverged(learner, learner.rate(net.d), result.loss)
            for learner, setup, result in zip(learners, setups, results, strict=True)
        ]

    def _predictor(self, setup: Setup, result: Trained) -> QuadraticPredictor:
        stages = {f"step{step}": setup.predictor(setup.net, params) for step, params in result.checkpoints.items()}
        predictor = setup.predictor(setup.net, result.params, stages=stages)
        facts = self.facts(setup, predictor)
        predictor.info = {**facts, "final_loss": result.loss, **setup.corrections(predictor)}
        return predictor
