"""Linear regression over a prescribed feature map, the learner of BFC Theorem I.3."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from bfc_plugins.kernel_ridge import group
from pydantic import Field

from bfc_bench.errors import BenchError
from bfc_bench.learner import Array, Capabilities, Context, Cost, Data, Failure, Job, Learner, Outline, Predictor

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from bfc_bench.toolkit.feature_maps import FeatureMap

CHUNK = 2048
"""Points whose features are made together in prediction."""


class RandomFeatures(Learner):
    """Minimises ``sum_i (y_i - mean y - w.phi(x_i))^2 + ridge |w|^2`` over w in R^D; float64.

    phi(x) in R^D is drawn from the seed before any data are seen, such that phi(x).phi(z) tends to a kernel of
    ``kernel-ridge`` with the same gamma, degree and coef0 as D grows: ``fourier`` to ``rbf``, ``relu`` to ``nngp`` of
    depth 1, ``polynomial`` to ``poly``. A map with fewer features is the first part of one with more, up to a factor.
    Theorem I.3: D < C(d, 2^(L-1)) / 1000 features miss a constant share of the target's highest layer, whatever n is.
    """

    name: ClassVar[str] = "random-features"
    capabilities: ClassVar[Capabilities] = Capabilities(
        labels=frozenset({"real", "binary"}), arrays=("torch",), devices=frozenset({"cpu", "cuda"})
    )
    smoke: ClassVar[Mapping[str, Any]] = {"features": 30, "ridge": 1e-3}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {
        "ridge": [10.0**k for k in range(-8, 1)],
        "gamma": [0.03, 1.0],
    }

    map: Literal["fourier", "relu", "polynomial"] = "fourier"
    features: Annotated[int, Field(ge=1)] = 1000
    """D."""
    degree: Annotated[int, Field(ge=1)] = 2
    """Of ``polynomial``."""
    coef0: Annotated[float, Field(ge=0)] = 1.0
    """Constant of ``polynomial``."""
    gamma: Annotated[float, Field(gt=0)] = 1.0
    """Inverse squared length in units of 1 / E|x|^2 under the input law. Changes only the meaning of ``ridge`` for
    ``relu``."""
    with_squares: bool = True
    """Whether the input is (x, x^2 - E x^2) or x."""
    ridge: Annotated[float, Field(ge=0)] = 1e-6
    """Penalty on |w|^2, whatever n and D are."""
    center: bool = True
    """Whether the mean of the training labels is taken off before and added after."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit to the n training points. Raises ``BenchError`` when the system cannot be solved in float64."""
        (result,) = self.fit_batch([Job(self, train, ctx)])
        if isinstance(result, Failure):
            raise BenchError(result.reason)
        return result

    def batch_key(self, train: Outline) -> Hashable:
        """All sizes and ridges of one sample share the features of its points."""
        return train.sample, *self.model_dump(exclude={"ridge"}).items()

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job]) -> Sequence[Predictor | Failure]:
        """Fit jobs that are prefixes of one sample. Equal to ``fit`` up to rounding.

        Sizes n <= D take one factor per ridge of the sample's n x n matrix, larger ones one eigendecomposition each of
        their D x D matrix, whatever the number of ridges.
        """
        from bfc_bench.toolkit.features import square_mean

        results: dict[int, Predictor | Failure] = {}
        means = [square_mean(job.train.x, job.ctx) for job in jobs]
        # Where the input law is unknown the training mean scales the map, and only jobs of one size share it.
        for members in group(range(len(jobs)), lambda i: (jobs[i].ctx.device, jobs[i].ctx.seed, means[i].tobytes())):
            fitted = _fit_prefixes([jobs[i] for i in members], means[members[0]])
            results.update(zip(members, fitted, strict=True))
        return [results[i] for i in range(len(jobs))]

    @classmethod
    def predict_batch(cls, predictors: Sequence[Predictor], xs: Sequence[Array]) -> Sequence[Array]:
        """Predictors of one map share the features of test inputs that are one array."""
        results: dict[int, Array] = {}
        for members in group(range(len(predictors)), lambda i: (id(predictors[i].support), id(xs[i]))):
            values = _predict([predictors[i] for i in members], xs[members[0]])
            results.update(zip(members, values, strict=True))
        return [results[i] for i in range(len(predictors))]

    def cost(self, n: int, d: int) -> Cost:
        """Features, their products, and a factor (n <= D) or an eigendecomposition (n > D)."""
        p, small = (2 * d if self.with_squares else d), min(n, self.features)
        factors = self.degree if self.map == "polynomial" else 1
        flops = 2.0 * n * self.features * (p * factors + small) + (9.0 if n > self.features else 1 / 3) * small**3
        return Cost(flops, bytes=8.0 * (n * (self.features + p) + 3 * small**2 + self.features * p * factors) + 2**24)


@dataclass(frozen=True)
class Support:
    """What the predictors of one batch share."""

    map: FeatureMap
    square_mean: np.ndarray
    squares: bool

    def features(self, x: Tensor) -> Tensor:
        """phi, (m, D), at inputs x (m, d)."""
        from bfc_bench.toolkit.features import with_squares

        return self.map(with_squares(x, self.square_mean) if self.squares else x)


@dataclass(frozen=True)
class LinearPredictor(Predictor):
    """``phi(x) @ weights + offset``."""

    support: Support
    weights: Tensor
    """(D,)."""
    offset: Tensor
    """Scalar."""
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: Array) -> Array:
        """Predictions (m,) at x (m, d)."""
        return _predict([self], x)[0]


def _fit_prefixes(jobs: Sequence[Job], square_mean: np.ndarray) -> list[Predictor | Failure]:
    import torch

    from bfc_bench.toolkit.feature_maps import make_map
    from bfc_bench.toolkit.features import nominal_square_norm
    from bfc_bench.toolkit.precision import torch_device

    longest = max(jobs, key=lambda job: job.train.n)
    options: RandomFeatures = longest.learner
    device = torch_device(longest.ctx.device)
    x, y = (torch.as_tensor(a, dtype=torch.float64, device=device) for a in (longest.train.x, longest.train.y))
    p = 2 * longest.train.d if options.with_squares else longest.train.d
    gamma = options.gamma / (nominal_square_norm(square_mean, options.with_squares) or 1.0)
    shape = {"degree": options.degree, "coef0": options.coef0, "seed": longest.ctx.seed}
    feature_map = make_map(options.map, options.features, p, gamma, like=x, **shape)
    support = Support(feature_map, square_mean, options.with_squares)
    phi = support.features(x)

    sizes = sorted({job.train.n for job in jobs})
    ridges = sorted({job.learner.ridge for job in jobs})
    offsets = {n: y[:n].mean() if options.center else y.new_zeros(()) for n in sizes}
    dual, primal = ([n for n in sizes if (n <= options.features) == side] for side in (True, False))
    solved = _solve_dual(phi, y, dual, ridges, options.center) | _solve_primal(phi, y, primal, ridges, offsets)
    results: list[Predictor | Failure] = []
    for job in jobs:
        n, ridge = job.train.n, job.learner.ridge
        weights = solved.get((n, ridge))
        info = {"gamma": gamma, "ridge": ridge, "solved": "dual" if n in dual else "primal"}
        results.append(
            Failure("failed", _unsolvable(ridge, n))
            if weights is None
            else LinearPredictor(support, weights, offsets[n], info)
        )
    return results


def _solve_dual(
    phi: Tensor, y: Tensor, sizes: Sequence[int], ridges: Sequence[float], center: bool
) -> dict[tuple[int, float], Tensor]:
    """Weights (D,) by size and ridge, from phi (N, D) and y (N,): phi^T (phi phi^T + ridge I)^-1 y."""
    from bfc_bench.toolkit.ridge import RidgeCurve

    if not sizes:
        return {}
    phi, y = phi[: sizes[-1]], y[: sizes[-1]]
    curve = RidgeCurve(phi @ phi.T)
    solved = {}
    for ridge in ridges:
        solution = curve.solve(y.unsqueeze(1), sizes, ridge, center)
        for k, (n, jitter) in enumerate(zip(sizes, solution.jitters, strict=True)):
            if jitter is not None:
                solved[n, ridge] = phi[:n].T @ solution.weights[:n, k, 0]
    return solved


def _solve_primal(
    phi: Tensor, y: Tensor, sizes: Sequence[int], ridges: Sequence[float], offsets: Mapping[int, Tensor]
) -> dict[tuple[int, float], Tensor]:
    """Weights (D,) by size and ridge, from phi (N, D) and y (N,): (phi^T phi + ridge I)^-1 phi^T y.

    Directions in which phi^T phi + ridge I is zero up to rounding are left out.
    """
    import torch

    solved = {}
    gram, done = phi.new_zeros(phi.shape[1], phi.shape[1]), 0
    for n in sizes:
        gram.addmm_(phi[done:n].T, phi[done:n])
        done = n
        target = phi[:n].T @ (y[:n] - offsets[n])
        if not (gram.isfinite().all() and target.isfinite().all()):
            break
        eigenvalues, vectors = torch.linalg.eigh(gram)
        rounding = eigenvalues[-1].abs() * len(gram) * torch.finfo(gram.dtype).eps
        target = vectors.T @ target
        for ridge in ridges:
            denominator = eigenvalues + ridge
            solved[n, ridge] = vectors @ torch.where(denominator > rounding, target / denominator, 0.0)
    return solved


def _unsolvable(ridge: float, n: int) -> str:
    return (
        f"random-features: the system with ridge {ridge:g} must be positive definite; at n = {n} it is not in float64, "
        "whatever small jitter is added. Use a larger ridge, or look for inputs that are not finite."
    )


def _predict(predictors: Sequence[LinearPredictor], x: Array) -> list[Array]:
    """Predictions of predictors of one map at the same x (m, d): one pass over the features."""
    import torch

    weights = torch.stack([predictor.weights for predictor in predictors], dim=1)
    offsets = torch.stack([predictor.offset for predictor in predictors])
    x = torch.as_tensor(x, dtype=weights.dtype, device=weights.device)
    values = torch.cat([predictors[0].support.features(part) @ weights for part in x.split(CHUNK)])
    return list((values + offsets).unbind(1))
