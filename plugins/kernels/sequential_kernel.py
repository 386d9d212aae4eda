"""Sequential kernel regression: rounds of a kernel method, each on features that the rounds before it have produced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
from bfc_plugins.kernels.kernel_ridge import KernelRidge
from pydantic import Field

from bfc_bench.learner import Capabilities, Context, Cost, Failure, Job, Predictor, TaskFacts, Theory
from bfc_bench.toolkit.ridge_learner import RidgePredictor, fit_ridges, group

if TYPE_CHECKING:
    from bfc_plugins.kernels.feature_steps import Feature, Spectral, Step
    from torch import Tensor

    from bfc_bench.toolkit.function_space import KernelSpace


class SequentialKernel(KernelRidge):
    """``rounds`` of kernel ridge regression with one set of options, each on the last one's inputs and more.

    The learner of "Comparing to sequential kernel methods" (BFC section 3). Inputs z begin as (x, x^2 - E x^2). What a
    round f adds to them for the next one is one or both of

    - ``predictions``: f(z). On the training points out-of-fold predictions stand in for it: a round that nearly
      interpolates gives the labels there.
    - ``spectral``: u.z and (u.z)^2 for the ``directions`` eigenvectors u of largest |eigenvalue| of the best quadratic
      form of f in z (least squares on f's values at the training points, least norm). A few directions, unlike
      predictions, hold no value of any one label, so that no folds are needed.

    Stages are ``round1``, ``round2``, ...; a single round is ``kernel-ridge``.
    """

    name: ClassVar[str] = "sequential-kernel"
    capabilities: ClassVar[Capabilities] = replace(KernelRidge.capabilities, labels=frozenset({"real", "binary"}))
    smoke: ClassVar[Mapping[str, Any]] = {"ridge": 1e-3, "degree": 2, "directions": 2, "features": "both"}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"ridge": KernelRidge.search["ridge"], "degree": [2, 3]}

    kernel: Literal["rbf", "poly", "ntk", "nngp", "compositional"] = "poly"
    """The kernel's family, the same in every round."""
    degree: Annotated[int, Field(ge=1)] = 3
    """Of ``poly``. At 3 a round can correct the direction u of an earlier one by du: (u.z)^2 (u.z)(du.z) is in it."""
    rounds: Annotated[int, Field(ge=1)] = 2
    """How many regressions follow one another."""
    features: Literal["predictions", "spectral", "both"] = "spectral"
    """What a round adds to the inputs of the next."""
    directions: Annotated[int, Field(ge=1)] = 4
    """Spectral directions per round, at most as many as inputs."""
    scale: Annotated[float, Field(gt=0)] = 2.0
    """Standard deviation that added features are given on the training points; that of inputs is about 1."""
    folds: Annotated[int, Field(ge=2)] = 5
    """Of out-of-fold predictions. Point i is in fold i mod ``folds``: folds of nested samples are nested."""

    def caution(self, task: TaskFacts, n: int) -> str | None:
        """That of ``kernel-ridge``, for a single round: products of x and what a round adds have other degrees."""
        return super().caution(task, n) if self.rounds == 1 else None

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs that are prefixes of one sample, round by round.

        They share kernel matrices and factors in round 1, as long as their inputs are prefixes too. Equal to ``fit`` up
        to rounding.
        """
        states = [_State(job) for job in jobs]
        for number in range(jobs[0].learner.rounds):
            if number:
                _add_features(_alive(states))
            alive = _alive(states)
            for state, outcome in zip(alive, _fit([state.regression for state in alive]), strict=True):
                state.end_round(outcome)
        return [state.failure or state.predictor() for state in states]

    @classmethod
    def predict_batch(cls, predictors: Sequence[Predictor], xs: Sequence[Tensor]) -> Sequence[Tensor]:
        """One by one: after round 1 no two predictors have a kernel matrix in common."""
        return [predictor.predict(x) for predictor, x in zip(predictors, xs, strict=True)]

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Out-of-fold predictions need a point in every fold."""
        if self.rounds > 1 and self.features != "spectral" and n < self.folds:
            return f"out-of-fold predictions need n >= folds = {self.folds}; n is {n}"
        return super().skip(task, n)

    def theory(self, task: TaskFacts) -> Theory | None:
        """That of its only round: rounds on what was learned before have kernels that depend on the sample."""
        return super().theory(task) if self.rounds == 1 else None

    def cost(self, n: int, d: int) -> Cost:
        """One kernel ridge regression per round, of which jobs share the first, and between rounds one per quadratic
        form and per fold.
        """
        one = super().cost(n, d)
        between = (self.features != "predictions") + (self.features != "spectral") * self.folds
        return replace(one, flops=one.flops * (self.rounds + (self.rounds - 1) * between))


@dataclass(frozen=True)
class SequentialPredictor(Predictor):
    """The rounds' regressions and the steps between them."""

    square_mean: np.ndarray
    squares: bool
    rounds: tuple[RidgePredictor, ...]
    steps: tuple[Step, ...]
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: Tensor) -> Tensor:
        """The last round's predictions, (m,), at x (m, d)."""
        z = _first_inputs(x, self.square_mean, self.squares, self.rounds[0].weights)
        for step in self.steps:
            z = step(z)
        return self.rounds[-1].predict(z)

    @property
    def stages(self) -> Mapping[str, Predictor]:
        """The predictor after each round."""
        return {
            f"round{k + 1}": replace(self, rounds=self.rounds[: k + 1], steps=self.steps[:k])
            for k in range(len(self.rounds))
        }


class _State:
    """One job between its rounds."""

    def __init__(self, job: Job[SequentialKernel]) -> None:
        """Before round 1."""
        import torch

        from bfc_bench.toolkit.features import square_mean
        from bfc_bench.toolkit.precision import torch_device

        self.options = job.learner
        self.square_mean = square_mean(job.train.x, job.ctx)
        self.rounds: list[RidgePredictor] = []
        self.steps: list[Step] = []
        self.failure: Failure | None = None

        like = torch.empty((), dtype=torch.float64, device=torch_device(job.ctx.device))
        z = _first_inputs(job.train.x, self.square_mean, self.options.with_squares, like)
        y = torch.as_tensor(job.train.y, dtype=like.dtype, device=like.device)
        powers = [self.square_mean, self.square_mean**2] if self.options.with_squares else [self.square_mean]
        self.law = np.concatenate(powers)
        """E[z_i^2] of the round's inputs z, (p,)."""
        common = self.options.model_dump(include=set(KernelRidge.model_fields)) | {"with_squares": False}
        self.regression = Job(
            KernelRidge(**common),
            replace(job.train, d=z.shape[1], x=z, y=y),
            Context(device=job.ctx.device, square_mean=self.law),
        )
        """What the round fits: its inputs z are the job's x."""

    def end_round(self, outcome: RidgePredictor | Failure) -> None:
        """Take over a round's regression."""
        if isinstance(outcome, Failure):
            self.failure = outcome
        else:
            self.rounds.append(outcome)

    def begin_round(self, sources: Sequence[Feature], features: Sequence[Tensor]) -> None:
        """Add ``sources``, whose values at the training points are ``features``, to the inputs."""
        from bfc_plugins.kernels.feature_steps import Step

        options, train = self.options, self.regression.train
        step = Step.standardised(sources, features, options.scale)
        z = step.extend(train.x, features)
        # Inputs now depend on n and on the ridge, so that this sample is no other one's prefix.
        sample = f"{train.sample}/n={train.n},ridge={options.ridge}"
        self.law = np.concatenate([self.law, np.full(z.shape[1] - train.d, options.scale**2)])
        self.steps.append(step)
        self.regression = replace(
            self.regression,
            train=replace(train, sample=sample, d=z.shape[1], x=z),
            ctx=replace(self.regression.ctx, square_mean=self.law),
        )

    def predictor(self) -> Predictor:
        """All rounds."""
        rounds = tuple(self.rounds)
        spaces = [cast("KernelSpace", fitted.space) for fitted in rounds]  # as KernelRidge says
        info = {**rounds[0].info, "inputs": [space.points.features.shape[1] for space in spaces]}
        return SequentialPredictor(self.square_mean, self.options.with_squares, rounds, tuple(self.steps), info)


def _add_features(states: Sequence[_State]) -> None:
    """Give every state the inputs of its next round."""
    from bfc_plugins.kernels.feature_steps import Predicted

    which = states[0].options.features if states else ""
    spectral = _spectral(states) if which in ("spectral", "both") else [None] * len(states)
    predicted = _out_of_fold(states) if which in ("predictions", "both") else [None] * len(states)
    for state, directions, values in zip(states, spectral, predicted, strict=True):
        if isinstance(values, Failure):
            state.failure = values
            continue
        sources: list[tuple[Feature, Tensor]] = []
        if directions is not None:
            sources.append((directions, directions(state.regression.train.x)))
        if values is not None:
            sources.append((Predicted(state.rounds[-1]), values.unsqueeze(1)))
        state.begin_round(*zip(*sources, strict=True))


def _spectral(states: Sequence[_State]) -> list[Spectral]:
    """Eigenvectors of the last round's quadratic form."""
    from bfc_plugins.kernels.feature_steps import Spectral
    from bfc_plugins.kernels.quadratic_form import leading_directions, quadratic_forms

    found: dict[_State, Spectral] = {}
    for members in group(states, lambda state: id(state.rounds[-1].space)):
        jobs = [state.regression for state in members]
        z = max((job.train.x for job in jobs), key=len)
        fitted = KernelRidge.predict_batch([state.rounds[-1] for state in members], [z] * len(members))
        values = [value[: job.train.n] for value, job in zip(fitted, jobs, strict=True)]
        forms = quadratic_forms(z, values, float(np.sum(members[0].law)))
        for state, form in zip(members, forms, strict=True):
            found[state] = Spectral(leading_directions(form, state.options.directions))
    return [found[state] for state in states]


def _out_of_fold(states: Sequence[_State]) -> list[Tensor | Failure]:
    """For every training point the prediction of the last round without the point's fold, (n,)."""
    import torch

    results: list[Tensor | Failure] = [state.regression.train.x.new_zeros(state.regression.train.n) for state in states]
    folds = []
    for i, state in enumerate(states):
        job = state.regression
        for fold in range(state.options.folds):
            out = torch.arange(job.train.n, device=job.train.x.device) % state.options.folds == fold
            if out.all():  # a single point, of which no others know anything
                continue
            sample = f"{job.train.sample}/without fold {fold} of {state.options.folds}"
            part = replace(job.train, sample=sample, n=int((~out).sum()), x=job.train.x[~out], y=job.train.y[~out])
            folds.append((i, out, replace(job, train=part)))
    for (i, out, _), outcome in zip(folds, _fit([job for _, _, job in folds]), strict=True):
        values = results[i]
        if isinstance(outcome, Failure):
            results[i] = outcome
        elif not isinstance(values, Failure):
            values[out] = outcome.predict(states[i].regression.train.x[out])
    return results


def _fit(jobs: Sequence[Job[KernelRidge]]) -> list[RidgePredictor | Failure]:
    """Kernel ridge regressions, those of one sample together."""
    results: dict[int, RidgePredictor | Failure] = {}
    for members in group(range(len(jobs)), lambda i: jobs[i].learner.batch_key(jobs[i].train)):
        results.update(zip(members, fit_ridges([jobs[i] for i in members]), strict=True))
    return [results[i] for i in range(len(jobs))]


def _alive(states: Sequence[_State]) -> list[_State]:
    return [state for state in states if state.failure is None]


def _first_inputs(x: Tensor, square_mean: np.ndarray, squares: bool, like: Tensor) -> Tensor:
    """Inputs of round 1, (m, p), at x (m, d)."""
    import torch

    from bfc_bench.toolkit.features import with_squares

    x = torch.as_tensor(x, dtype=like.dtype, device=like.device)
    return with_squares(x, square_mean) if squares else x
