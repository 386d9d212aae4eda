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

    A is symmetric, with a random basis of eigenvectors and eigenvalues +-(2 d)^(-1/2), half of each sign, so that its
    trace is 0 and p has mean 0 and variance 1. h_0, h_1, ... are the orthonormal polynomials of p's own law, which are
    the Hermite polynomials he_k in the limit of large d. So G* has mean 0 and variance 1, its correlation with the
    feature p is exactly c, and its best quadratic approximation is c p. Functions of a quadratic feature are the
    targets of Nichani, Damian and Lee (2023, arXiv 2305.06986) and of Wang, Nichani and Lee (2023, arXiv 2311.13774).
    """

    kind: ClassVar[str] = "quadratic-feature"
    swept: ClassVar[frozenset[str]] = frozenset({"c", "k"})
    c: Annotated[float, Field(ge=0, le=1)] = 0.7
    """c, the correlation of the target with its quadratic feature."""
    k: Annotated[int, Field(ge=2, le=6)] = 2
    """Degree k of the link's other term."""

    def check(self, d: int) -> str | None:
        """Half of the eigenvalues have each sign."""
        return f"a quadratic feature needs an even d. Got {d}" if d % 2 else None

    def check_inputs(self, inputs: Inputs) -> str | None:
        """The law of p is that of Gaussian inputs."""
        return (
            None if isinstance(inputs, Gaussian) else f"a quadratic feature needs gaussian inputs, not {inputs.kind!r}"
        )

    def draw(self, rng: np.random.Generator, law: InputLaw) -> QuadraticFeatureTeacher:
        """One teacher."""
        d = law.d
        basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
        signs = np.repeat([1.0, -1.0], d // 2)
        polynomials = orthonormal_polynomials(d, self.k)
        link = self.c * polynomials[1] + np.sqrt(1 - self.c**2) * polynomials[self.k]
        return QuadraticFeatureTeacher(basis * signs @ basis.T / np.sqrt(2 * d), link, {"c": self.c})


class QuadraticFeatureTeacher(Teacher):
    """g(x^T A x) for A (d, d) and the coefficients of g in powers, (k + 1,)."""

    def __init__(self, form: Float, link: Float, facts: Mapping[str, object]) -> None:
        self.form, self.link, self.facts = form, link, facts

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d)."""
        return np.asarray(np.polynomial.polynomial.polyval(self.feature(x), self.link))

    def feature(self, x: Float) -> Float:
        """x^T A x, (m,)."""
        return np.asarray(((x @ self.form) * x).sum(axis=1))

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """The quadratic feature {"S2": (m, 1)}; ``span_errors`` measure how well a learner has found it."""
        return {"S2": self.feature(x)[:, None]}


@cache
def orthonormal_polynomials(d: int, highest: int) -> Float:
    """Coefficients in powers, (highest + 1, highest + 1), of the orthonormal polynomials of p = x^T A x, row by row.

    The j-th cumulant of p is 2^(j-1) (j-1)! tr A^j. Moments follow from the cumulants, and the rows are those of the
    inverse Cholesky factor of the moments' Hankel matrix.
    """
    orders = range(1, 2 * highest + 1)
    cumulants = [0.0, *(2 ** (j - 1) * factorial(j - 1) * d * (1 - j % 2) / (2 * d) ** (j / 2) for j in orders)]
    moments = [1.0]
    for n in orders:
        moments.append(sum(comb(n - 1, j - 1) * cumulants[j] * moments[n - j] for j in range(1, n + 1)))
    hankel = np.array([[moments[i + j] for j in range(highest + 1)] for i in range(highest + 1)])
    rows: Float = np.linalg.inv(np.linalg.cholesky(hankel))
    rows.setflags(write=False)
    return rows
