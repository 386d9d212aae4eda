"""Sequential kernel regression: each round of kernel ridge regression also reads features made by earlier rounds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
from bfc_plugins.kernels.kernel_ridge import KernelRidge
from pydantic import Field, NonNegativeFloat

from bfc_bench.learner import BatchLearner, Capabilities, Context, Cost, DataSpec, Failure, Job, Predictor, TaskFacts
from bfc_bench.toolkit.groups import in_groups
from bfc_bench.toolkit.ridge_learner import RidgePredictor, fit_ridges

if TYPE_CHECKING:
    from bfc_plugins.kernels.feature_steps import Feature, Step
    from bfc_plugins.kernels.first_inputs import FirstInputs
    from torch import Tensor

    from bfc_bench.toolkit.function_space import KernelSpace

FOLDS = 5
"""Number of folds of out-of-fold predictions. Point i is in fold i mod 5, so folds of nested samples are nested."""


class SequentialKernel(BatchLearner):
    """Rounds of ridge regression with a polynomial kernel, each on the inputs of the last round and new features.

    The learner of "Comparing to sequential kernel methods" (BFC section 3), with the kernel ``poly`` of
    ``kernel-ridge``. The first inputs z are (x, x^2 - E x^2). A round f adds one of these to them:

    - ``predictions``: f(z). Training points get out-of-fold predictions, because a round that nearly interpolates
      would return their labels.
    - ``spectral``: u.z and (u.z)^2 for the ``directions`` eigenvectors u of largest |eigenvalue| of the quadratic form
      that fits f(z) best (least squares of least norm on the training points). A few directions, unlike predictions,
      reveal no single label, so no folds are needed.

    Stages are ``round1``, which is ``kernel-ridge``, ``round2``, ... The learner that corrects features too is
    ``corrected-kernel``.
    """

    name: ClassVar[str] = "sequential-kernel"
    version: ClassVar[int] = 2
    capabilities: ClassVar[Capabilities] = replace(KernelRidge.capabilities, labels=frozenset({"real", "binary"}))
    smoke: ClassVar[Mapping[str, Any]] = {"ridge": 1e-3, "degree": 2, "directions": 2}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"ridge": KernelRidge.search["ridge"], "degree": [2, 3]}

    ridge: NonNegativeFloat = 1e-6
    """Ridge of every round."""
    degree: Annotated[int, Field(ge=1)] = 3
    """Degree of the kernel; from 3 on, a round can correct the direction u of an earlier one by du, since the kernel
    contains (u.z)^2 (u.z)(du.z)."""
    with_squares: bool = True
    """Whether the first inputs are (x, x^2 - E x^2) instead of x."""
    rounds: Annotated[int, Field(ge=2)] = 2
    """Number of rounds."""
    features: Literal["predictions", "spectral"] = "spectral"
    """Features that a round adds to the inputs of the next."""
    directions: Annotated[int, Field(ge=1)] = 4
    """Number of spectral directions per round, at most the number of inputs."""

    def regression(self, *, with_squares: bool) -> KernelRidge:
        """The regression of a round, with squares of its inputs or without."""
        return KernelRidge(kernel="poly", degree=self.degree, ridge=self.ridge, with_squares=with_squares)

    def batch_key(self, train: DataSpec) -> Hashable:
        """All sizes and ridges on one sample share what is computed from its points in the first round."""
        return train.sample, *self.model_dump(exclude={"ridge"}).items()

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs that are prefixes of one sample, round by round; results equal those of ``fit`` up to rounding."""
        states = [_State(job) for job in jobs]
        for number in range(jobs[0].learner.rounds):
            if number:
                _add_features(_not_failed(states))
            running = _not_failed(states)
            for state, outcome in zip(running, _fit([state.regression for state in running]), strict=True):
                if isinstance(outcome, Failure):
                    state.failure = outcome
                else:
                    state.rounds.append(outcome)
        return [state.failure or state.predictor() for state in states]

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip sizes that leave a fold of out-of-fold predictions empty."""
        if self.features == "spectral" or n >= FOLDS:
            return None
        return f"out-of-fold predictions need n >= {FOLDS} folds; n is {n}"

    def cost(self, n: int, d: int) -> Cost:
        """One kernel ridge regression per round, and between rounds one per quadratic form and per fold."""
        one = self.regression(with_squares=self.with_squares).cost(n, d)
        between = 1 if self.features == "spectral" else FOLDS
        fits = self.rounds + (self.rounds - 1) * between
        return replace(one, flops=one.flops * fits, counted=one.fit_flops * fits, parameters=n * self.rounds)


@dataclass(frozen=True)
class SequentialPredictor(Predictor):
    """The regressions of all rounds and the feature steps between them."""

    inputs: FirstInputs
    rounds: tuple[RidgePredictor, ...]
    steps: tuple[Step, ...]
    info: Mapping[str, Any] = field(default_factory=dict)
    stages: Mapping[str, Predictor] = field(default_factory=dict)
    """The predictor after each round."""

    def predict(self, x: Tensor) -> Tensor:
        """The last round's predictions, (m,), at x (m, d)."""
        z = self.inputs(x)
        for step in self.steps:
            z = step(z)
        return self.rounds[-1].predict(z)


class _State:
    """One job between its rounds."""

    def __init__(self, job: Job[SequentialKernel]) -> None:
        """Before round 1."""
        from bfc_plugins.kernels.first_inputs import FirstInputs

        self.options = job.learner
        self.inputs = FirstInputs(job.train, job.ctx, job.learner.with_squares)
        self.rounds: list[RidgePredictor] = []
        self.steps: list[Step] = []
        self.failure: Failure | None = None

        z, y = self.inputs(job.train.x), self.inputs.like(job.train.y)
        mean = self.inputs.square_mean
        self.law = np.concatenate([mean, mean**2] if self.options.with_squares else [mean])
        """E[z_i^2] of the round's inputs z, (p,)."""
        self.regression = Job(
            self.options.regression(with_squares=False),
            replace(job.train, d=z.shape[1], x=z, y=y),
            Context(device=job.ctx.device, square_mean=self.law),
        )
        """The regression of the round; its x are the round's inputs z."""

    def begin_round(self, source: Feature, features: Tensor) -> None:
        """Add ``source``, whose values at the training points are ``features`` (n, q), to the inputs."""
        from bfc_plugins.kernels.feature_steps import SCALE, Step

        train = self.regression.train
        step = Step(source, features)
        z = step.extend(train.x, features)
        # Inputs now depend on n and on the ridge, so this sample is not a prefix of another one.
        sample = f"{train.sample}/n={train.n},ridge={self.options.ridge}"
        self.law = np.concatenate([self.law, np.full(z.shape[1] - train.d, SCALE**2)])
        self.steps.append(step)
        self.regression = replace(
            self.regression,
            train=replace(train, sample=sample, d=z.shape[1], x=z),
            ctx=replace(self.regression.ctx, square_mean=self.law),
        )

    def predictor(self) -> Predictor:
        """The predictor of all rounds."""
        rounds = tuple(self.rounds)
        spaces = [cast("KernelSpace", fitted.space) for fitted in rounds]  # KernelRidge.space returns no other type
        info = {**rounds[0].info, "inputs": [space.points.features.shape[1] for space in spaces]}
        final = SequentialPredictor(self.inputs, rounds, tuple(self.steps), info)
        earlier = (replace(final, rounds=rounds[: k + 1], steps=final.steps[:k]) for k in range(len(rounds)))
        return replace(final, stages={f"round{k}": stage for k, stage in enumerate(earlier, 1)})


def _add_features(states: Sequence[_State]) -> None:
    """Give every state the inputs of its next round."""
    from bfc_plugins.kernels.feature_steps import predicted

    if states and states[0].options.features == "spectral":
        sources = in_groups(states, lambda state: id(state.rounds[-1].space), _spectral)
        for state, source in zip(states, sources, strict=True):
            state.begin_round(source, source(state.regression.train.x))
        return
    for state, values in zip(states, _out_of_fold(states), strict=True):
        if state.failure is None:
            state.begin_round(partial(predicted, regression=state.rounds[-1]), values.unsqueeze(1))


def _spectral(states: Sequence[_State]) -> list[Feature]:
    """Spectral features of states whose last rounds share a space: the eigenvectors of their quadratic forms."""
    from bfc_plugins.kernels.feature_steps import leading_directions, quadratic_forms, spectral

    jobs = [state.regression for state in states]
    z = max((job.train.x for job in jobs), key=len)
    fitted = KernelRidge.predict_batch([state.rounds[-1] for state in states], [z] * len(states))
    values = [value[: job.train.n] for value, job in zip(fitted, jobs, strict=True)]
    forms = quadratic_forms(z, values, float(np.sum(states[0].law)))
    directions = [leading_directions(form, state.options.directions) for form, state in zip(forms, states, strict=True)]
    return [partial(spectral, directions=found) for found in directions]


def _out_of_fold(states: Sequence[_State]) -> list[Tensor]:
    """Predictions (n,) of the last round at the training points of each state, each fitted without the point's fold.

    A state has failed if one of these fits has.
    """
    import torch

    folds = []
    for i, job in enumerate(state.regression for state in states):
        for fold in range(FOLDS):
            out = torch.arange(job.train.n, device=job.train.x.device) % FOLDS == fold
            sample = f"{job.train.sample}/without fold {fold} of {FOLDS}"
            part = replace(job.train, sample=sample, n=int((~out).sum()), x=job.train.x[~out], y=job.train.y[~out])
            folds.append((i, out, replace(job, train=part)))
    values = [state.regression.train.x.new_zeros(state.regression.train.n) for state in states]
    for (i, out, _), outcome in zip(folds, _fit([job for _, _, job in folds]), strict=True):
        if isinstance(outcome, Failure):
            states[i].failure = outcome
        else:
            values[i][out] = outcome.predict(states[i].regression.train.x[out])
    return values


def _fit(jobs: Sequence[Job[KernelRidge]]) -> list[RidgePredictor | Failure]:
    """Fit kernel ridge regressions, those of one sample together."""
    return in_groups(jobs, lambda job: job.learner.batch_key(job.train), fit_ridges)


def _not_failed(states: Sequence[_State]) -> list[_State]:
    return [state for state in states if state.failure is None]
