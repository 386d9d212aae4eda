"""A three-layer network for functions of one quadratic feature, trained layer by layer or with backward correction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from bfc_plugins.index_models.read_out import DAMPING, DirectionPredictor, gauss_newton_step, read_out
from pydantic import Field

from bfc_bench.learner import Capabilities, Context, Cost, Data, Learner, Predictor
from bfc_bench.toolkit.held_out import confirmed

DAMPINGS = (*DAMPING, 100.0)


class QuadraticLink(Learner):
    """F(x) = g(p), p = a . phi(x) with |a| = 1, phi the quadratic monomials and g a polynomial of degree K.

    phi has (x_i^2 - 1) / sqrt 2 and x_i x_j, i < j, which are orthonormal for Gaussian inputs. The first layers take
    for a the correlation of the labels with phi, the first step of gradient descent, as the layer-wise algorithms of
    arXiv 2305.06986 and 2311.13774 do, or the least-squares fit of the labels on phi. The top is fitted to p by least
    squares. With ``corrections``, the feature is then corrected backward, through the link: each pass is a damped
    Gauss-Newton step on a with g fitted anew at every a, after which g is fitted again. Inputs must have E x = 0 and
    E x x^T = I.
    """

    name: ClassVar[str] = "quadratic-link"
    version: ClassVar[int] = 2
    capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"real", "binary"}))
    smoke: ClassVar[Mapping[str, Any]] = {"degree": 2, "corrections": 3}

    first: Literal["correlation", "least-squares"] = "correlation"
    """How the first layers are trained."""
    degree: Annotated[int, Field(ge=1, le=12)] = 4
    """Degree K of the link."""
    corrections: Annotated[int, Field(ge=0)] = 0
    """Number of passes of backward correction; 0 is layer-wise training."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit the feature, then the link: the stage ``forward``; then correct both: ``pass1``, ``pass2``, ...

        Unless this is the layer-wise algorithm of the papers, the prediction is the mean label if the same fit to four
        fifths of the points does not predict the others better.
        """
        passes = self._passes(train.x, train.y)
        names = ("forward", *(f"pass{number}" for number in range(1, len(passes))))
        info = {"passes": len(passes) - 1, "link": passes[-1].coefficients.tolist()}
        as_published = self.first == "correlation" and not self.corrections
        if as_published or confirmed(lambda x, y: self._passes(x, y)[-1], train.x, train.y):
            current = passes.pop()
        else:
            mean = train.y.mean() * np.eye(self.degree + 1)[0]
            current = replace(passes[-1], coefficients=mean)
        return replace(current, info=info, stages=dict(zip(names, passes, strict=False)))

    def _passes(self, x: np.ndarray, y: np.ndarray) -> list[DirectionPredictor]:
        """The layer-wise fit, and that after each pass."""
        phi = monomials(x)
        if self.first == "correlation":
            feature = phi.T @ (y - y.mean())
        else:
            feature = np.linalg.lstsq(np.column_stack([np.ones(len(y)), phi]), y, rcond=None)[0][1:]
        norm = np.linalg.norm(feature)
        unit = feature / norm if norm > 0 else np.eye(len(feature))[0]
        passes = [read_out(phi, y, unit, self.degree)]
        while len(passes) <= self.corrections and (better := gauss_newton_step(passes[-1], phi, y, phi, DAMPINGS)):
            passes.append(better[0])
        return [replace(top, phi=monomials, info={}) for top in passes]

    def cost(self, n: int, d: int) -> Cost:
        """Products of phi with the labels; per pass J^T J, a decomposition and two tried steps, of 4 / 5 as well."""
        size = d * (d + 1) / 2
        one = 2.0 * n * size * (size + 4 * self.degree) + 10.0 * size**3
        fits = 1.8 * (self.corrections + (self.first == "least-squares"))
        flops = 6.0 * n * size + 2.0 * n * (self.degree + 1) ** 2 + fits * one
        bytes = 8.0 * n * (3 * size + 4 * self.degree)
        return Cost(flops, bytes, work="products", seconds=2e-3, parameters=int(size) + self.degree + 1)


def monomials(x: np.ndarray) -> np.ndarray:
    """(x_i^2 - 1) / sqrt 2 and x_i x_j for i < j, (m, d (d + 1) / 2), at x (m, d)."""
    i, j = np.triu_indices(x.shape[1])
    return np.asarray(np.where(i == j, (x[:, i] * x[:, j] - 1) / sqrt(2), x[:, i] * x[:, j]))
