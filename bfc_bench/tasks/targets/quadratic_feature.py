"""A function of one quadratic form of Gaussian inputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import comb, factorial
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.tasks.base import Float, InputLaw, Inputs, Target, Teacher
from bfc_bench.tasks.inputs.gaussian import Gaussian


class QuadraticFeature(Target):
    """G*(x) = g(p), p = x^T A x, with the link g = c h_1 + sqrt(1 - c^2) h_k.

    A is symmetric, with r random orthonormal eigenvectors of eigenvalues +-(2 r)^(-1/2), half of each sign, so that its
    trace is 0 and p has mean 0 and variance 1. h_0, h_1, ... are the orthonormal polynomials of p's own law, which are
    the Hermite polynomials he_k in the limit of large r. So G* has mean 0 and variance 1, its correlation with the
    feature p is exactly c, and its best quadratic approximation is c p. Functions of a quadratic feature are the
    targets of Nichani, Damian and Lee (2023, arXiv 2305.06986) and of Wang, Nichani and Lee (2023, arXiv 2311.13774).
    With r = d^eps_1 < d there is a level more, the subspace of the eigenvectors: a single-index Gaussian hierarchical
    target (arXiv 2502.13961).
    """

    kind: ClassVar[str] = "quadratic-feature"
    swept: ClassVar[frozenset[str]] = frozenset({"c", "k"})
    c: Annotated[float, Field(ge=0, le=1)] = 0.7
    """c, the correlation of the target with its quadratic feature."""
    k: Annotated[int, Field(ge=2, le=6)] = 2
    """Degree k of the link's other term."""
    rank_exponent: Annotated[float, Field(gt=0, le=1)] = 1.0
    """eps_1: r is d^eps_1, to the nearest even number."""

    def rank(self, d: int) -> int:
        """r, at least 2."""
        pairs: int = round(d**self.rank_exponent / 2)
        return 2 * max(pairs, 1)

    def check(self, d: int) -> str | None:
        """Half of the eigenvalues have each sign."""
        return (
            f"a quadratic feature of full rank needs an even d. Got {d}" if self.rank_exponent == 1 and d % 2 else None
        )

    def check_inputs(self, inputs: Inputs) -> str | None:
        """The law of p is that of Gaussian inputs of mean 0."""
        if not isinstance(inputs, Gaussian):
            return f"a quadratic feature needs gaussian inputs, not {inputs.kind!r}"
        return f"a quadratic feature needs gaussian inputs of mean 0, not {inputs.mean:g}" if inputs.mean else None

    def draw(self, rng: np.random.Generator, law: InputLaw) -> QuadraticFeatureTeacher:
        """One teacher."""
        d, r = law.d, self.rank(law.d)
        basis = np.linalg.qr(rng.standard_normal((d, d)))[0][:, :r]
        signs = np.repeat([1.0, -1.0], r // 2)
        polynomials = orthonormal_polynomials(r, self.k)
        link = self.c * polynomials[1] + np.sqrt(1 - self.c**2) * polynomials[self.k]
        return QuadraticFeatureTeacher(basis, basis * signs @ basis.T / np.sqrt(2 * r), link, {"c": self.c})


class QuadraticFeatureTeacher(Teacher):
    """g(x^T A x) for A (d, d) with eigenvectors (d, r) and the coefficients of g in powers, (k + 1,)."""

    def __init__(self, basis: Float, form: Float, link: Float, facts: Mapping[str, object]) -> None:
        self.basis, self.form, self.link, self.facts = basis, form, link, facts

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d)."""
        return np.asarray(np.polynomial.polynomial.polyval(self.feature(x), self.link))

    def feature(self, x: Float) -> Float:
        """x^T A x, (m,)."""
        return np.asarray(((x @ self.form) * x).sum(axis=1))

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """The quadratic feature {"S2": (m, 1)}; ``span_errors`` measure how well a learner has found it.

        With r < d, the eigenvectors' coordinates and the feature, {"S2": (m, r), "S3": (m, 1)}.
        """
        d, r = self.basis.shape
        feature = self.feature(x)[:, None]
        return {"S2": feature} if r == d else {"S2": x @ self.basis, "S3": feature}


@cache
def orthonormal_polynomials(r: int, highest: int) -> Float:
    """Coefficients in powers, (highest + 1, highest + 1), of the orthonormal polynomials of p = x^T A x, row by row.

    The j-th cumulant of p is 2^(j-1) (j-1)! tr A^j. Moments follow from the cumulants, and the rows are those of the
    inverse Cholesky factor of the moments' Hankel matrix.
    """
    orders = range(1, 2 * highest + 1)
    cumulants = [0.0, *(2 ** (j - 1) * factorial(j - 1) * r * (1 - j % 2) / (2 * r) ** (j / 2) for j in orders)]
    moments = [1.0]
    for n in orders:
        moments.append(sum(comb(n - 1, j - 1) * cumulants[j] * moments[n - j] for j in range(1, n + 1)))
    hankel = np.array([[moments[i + j] for j in range(highest + 1)] for i in range(highest + 1)])
    rows: Float = np.linalg.inv(np.linalg.cholesky(hankel))
    rows.setflags(write=False)
    return rows
