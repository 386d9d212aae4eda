"""Fits quadratic Taylor models: prepares features and labels, trains, and returns predictors in the data's units.

Shapes: n points, d input dimension, D features, m units.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from hashlib import blake2b
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import torch
from bfc_plugins.quadratic_taylor.model import LOSSES, QuadraticTaylor, RegularisedRisk, Representation, operator_norm
from bfc_plugins.quadratic_taylor.options import QuadraticTaylorOptions
from torch import Tensor

from bfc_bench.errors import UsageError
from bfc_bench.learner import Failure, Job, Predictor
from bfc_bench.seeds import seed_of, stream
from bfc_bench.toolkit.arrays import to_numpy
from bfc_bench.toolkit.groups import in_groups
from bfc_bench.toolkit.lbfgs import minimise
from bfc_bench.toolkit.precision import torch_device
from bfc_bench.toolkit.square_features import nominal_square_norm, square_mean

TaylorJob: TypeAlias = Job[QuadraticTaylorOptions]
Result = TypeVar("Result")

CHUNK = 2048
"""Number of points predicted at once."""
LEARNING_RATES = {"adam": 1e-2, "noisy-sgd": 0.3}


@dataclass(frozen=True)
class QuadraticTaylorPredictor(Predictor):
    """``unit * f_W(h(x)) + offset``."""

    representation: Representation
    model: QuadraticTaylor
    weights: Tensor
    """W, (m, D)."""
    unit: float
    offset: float
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: Tensor) -> Tensor:
        """Predictions (n,) at x (n, d)."""
        x = torch.as_tensor(x, dtype=self.weights.dtype, device=self.weights.device)
        parts = [self.model(self.weights, self.representation.features(part)) for part in x.split(CHUNK)]
        return self.unit * torch.cat(parts) + self.offset


@dataclass(frozen=True)
class PreparedFit:
    """Risk and first predictor of one fit, in coordinates in which the regulariser is ||W||_{2,4}^4."""

    risk: RegularisedRisk
    start: QuadraticTaylorPredictor
    """The predictor with initial weights, (m, D)."""

    @classmethod
    def of(cls, job: TaylorJob) -> PreparedFit:
        """Compute the features, scale the labels and draw the model."""
        learner, train, ctx = job.learner, job.train, job.ctx
        representation = _represent(_Origin.of(job))
        x, y = _points(job, train.x), _points(job, train.y)
        h = representation.features(x)
        size = h.shape[1]
        model = QuadraticTaylor.draw(learner.width, size, learner.gate, ctx.seed, h)
        real = train.kind == "real"
        offset, unit = (float(y.mean()), float(y.std(correction=0)) or 1.0) if real else (0.0, 1.0)
        plain = h if representation.root_inverse is None else h @ representation.root_inverse
        risk = RegularisedRisk(plain, model.coefficients(h), (y - offset) / unit, LOSSES[learner.loss_for(train.kind)])
        normal = stream(ctx.seed, "quadratic-taylor", "start").standard_normal((learner.width, size))
        start = torch.as_tensor(normal * learner.init_scale * size**-0.5).to(h)
        info = {"features": size, "M_h_op": operator_norm(h), **representation.info}
        return cls(risk, QuadraticTaylorPredictor(representation, model, start, unit, offset, info))

    def outcome(self, weights: Tensor, strength: float) -> Predictor | Failure:
        """The predictor with trained weights (m, D), or a failure if the regularised risk is not finite."""
        value = float(self.risk(weights, strength)[0])
        if not np.isfinite(value):
            why = f"the regularised risk was {value} after training. Use a smaller lr or init_scale."
            return Failure("diverged", why)
        info = {**self.start.info, "regularization": strength, "regularised_risk": value}
        if (back := self.start.representation.root_inverse) is not None:
            weights = weights @ back
        return replace(self.start, weights=weights, info=info)


def fit_jobs(jobs: Sequence[TaylorJob]) -> list[Predictor | Failure]:
    """Fit jobs whose learners differ only in ``regularization``; shared representations are computed once."""
    if jobs[0].learner.optimizer == "lbfgs":  # the features of one sample and size are in memory at a time
        return _by_features(jobs, by_lbfgs)
    return by_steps(jobs, _by_features(jobs, lambda same: [PreparedFit.of(same[0])] * len(same)))


def _by_features(jobs: Sequence[TaylorJob], work: Callable[[list[TaylorJob]], list[Result]]) -> list[Result]:
    """``work`` of the jobs that share their features, one representation after another."""
    return in_groups(jobs, _Origin.of, lambda same: in_groups(same, lambda job: (job.train.sample, job.train.n), work))


@dataclass(frozen=True)
class _Origin:
    """Everything that determines a representation, as a key."""

    key: Hashable
    job: TaylorJob = field(compare=False)
    """A job with this key."""

    @classmethod
    def of(cls, job: TaylorJob) -> _Origin:
        train, ctx = job.train, job.ctx
        options = (job.learner.name, *job.learner.model_dump(exclude={"regularization"}).items())
        points: Hashable = (train.sample, train.n)
        if ctx.unlabeled is not None:
            points = blake2b(to_numpy(ctx.unlabeled).tobytes()).digest()
        moments = square_mean(train.x, ctx).tobytes()
        return cls((options, ctx.seed, ctx.device, train.d, train.kind, moments, points), job)


@lru_cache(maxsize=1)
def _represent(origin: _Origin) -> Representation:
    """Compute a representation. The last one is cached: tuning, the final fit and other sizes of a curve share it."""
    job, learner = origin.job, origin.job.learner
    if reason := learner.mismatch(job.train.kind):
        raise UsageError(f"{learner.name}: {reason}.")
    scale = (nominal_square_norm(square_mean(job.train.x, job.ctx), squares=False) or 1.0) ** -0.5
    return learner.represent(_points(job, job.train.x), scale, job.ctx)


def _points(job: TaylorJob, values: Tensor) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float64, device=torch_device(job.ctx.device))


def by_lbfgs(jobs: Sequence[TaylorJob]) -> list[Predictor | Failure]:
    """Fit jobs that share their features by the learner's schedule of lambdas, each from the minimiser of the last.

    From a random start at a small lambda, L-BFGS would interpolate. Schedules share their common beginning.
    """
    setup, learner = PreparedFit.of(jobs[0]), jobs[0].learner

    @cache
    def reached(*schedule: float) -> Tensor:
        """Weights at the end of a schedule."""
        if not schedule:
            return setup.start.weights
        *before, strength = schedule
        return minimise(
            partial(setup.risk, strength=strength),
            reached(*before),
            iterations=learner.iterations,
            tolerance=learner.tolerance,
            unit=strength or 1.0,  # divided by lambda, the minimum is of similar size at every lambda
        )

    return [setup.outcome(reached(*job.learner.schedule()), job.learner.regularization) for job in jobs]


def by_steps(jobs: Sequence[TaylorJob], setups: Sequence[PreparedFit]) -> list[Predictor | Failure]:
    """Fit jobs by Adam or noisy SGD, whose noise escapes saddles (NR after Theorem 1), as one ensemble."""
    from bfc_plugins.quadratic_taylor import steps

    from bfc_bench.toolkit.ensemble import Member, Recipe, train as train_ensemble

    options, train, ctx = jobs[0].learner, jobs[0].train, jobs[0].ctx
    members = [
        Member(
            params=setup.start.weights.cpu().numpy(),
            inputs={"h": setup.risk.features.cpu().numpy(), "c": setup.risk.coefficients.cpu().numpy()},
            y=setup.risk.y.cpu().numpy(),
            seed=seed_of(job.ctx.seed, "quadratic-taylor", "steps"),
            lr=options.lr or LEARNING_RATES[options.optimizer],
            strength=job.learner.regularization,
            noise=options.noise,
        )
        for job, setup in zip(jobs, setups, strict=True)
    ]
    loss, noisy = steps.LOSSES[options.loss_for(train.kind)], options.optimizer == "noisy-sgd"
    optimizer: Literal["adam", "sgd"] = "sgd" if noisy else "adam"
    apply, penalty = steps.quadratic_taylor, steps.quartic_norm
    recipe = Recipe(apply, options.batch_size, loss, optimizer, penalty=penalty, noisy=noisy)
    outcomes = list[Predictor | Failure]()
    results = train_ensemble(recipe, members, options.steps, device=ctx.device)
    for job, setup, result in zip(jobs, setups, results, strict=True):
        weights = result.params if result.finite else np.full_like(result.params, np.nan)
        outcomes.append(setup.outcome(torch.tensor(weights).to(setup.start.weights), job.learner.regularization))
    return outcomes
