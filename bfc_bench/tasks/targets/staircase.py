"""A staircase of spherical harmonics: a target that shows at which sample size a learner gains each degree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import PositiveInt

from bfc_bench.tasks.base import Float, InputLaw, Inputs, Teacher
from bfc_bench.tasks.inputs.uniform import Sphere
from bfc_bench.tasks.targets.harmonics import degree_errors, part_name
from bfc_bench.tasks.targets.options import Coefficients, SumOfTerms
from bfc_bench.utils.legendre import zonal

POINTS = 2048
"""Number of leading test points for errors per degree, whose cost is quadratic in it."""


class Staircase(SumOfTerms):
    """G*(x) = sum_k a_k phi_k(beta_k . x), k = 1..p, with random directions beta_k, phi_k of degree k and variance 1.

    A rotation-invariant kernel learns degree k when n reaches about B(d, k), the number of harmonics of degree k
    (Ghorbani et al. 2019; NR Theorem 3), so its error falls in steps. Rows have the error of each degree.

    It is not the staircase of Abbe, Boix-Adsera and Misiakiewicz, u_1 + u_1 u_2 + u_1 u_2 u_3 for hidden directions.
    That one is ``index-model`` with ``terms = [[1], [1, 1], [1, 1, 1]]``; for hidden coordinates of the hypercube, with
    ``directions = "coordinates"``.
    """

    kind: ClassVar[str] = "staircase"
    counted: ClassVar[str] = "degree"
    degree: PositiveInt
    """Highest degree p."""
    coefficients: Coefficients = None
    """a_k, one per degree from 1 on; by default all equal with sum a_k^2 = 1."""

    @property
    def degrees(self) -> tuple[int, ...]:
        """The k with a_k other than 0."""
        return tuple(k for k in range(1, self.degree + 1) if self.coefficients is None or self.coefficients[k - 1])

    @property
    def shares(self) -> tuple[float, ...]:
        """a_k^2 over their sum."""
        squares = [(1.0 if self.coefficients is None else self.coefficients[k - 1]) ** 2 for k in self.degrees]
        return tuple(square / sum(squares) for square in squares)

    def check_inputs(self, inputs: Inputs) -> str | None:
        """Spherical harmonics belong to the sphere."""
        return None if isinstance(inputs, Sphere) else f"a staircase needs sphere inputs, not {inputs.kind!r}"

    def draw(self, rng: np.random.Generator, law: InputLaw) -> StaircaseTeacher:
        """One teacher."""
        directions = rng.standard_normal((self.degree, law.d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        equal = np.full(self.degree, self.degree**-0.5)
        return StaircaseTeacher(directions, equal if self.coefficients is None else np.array(self.coefficients))


class StaircaseTeacher(Teacher):
    """sum_k a_k phi_k(beta_k . x), for directions beta (p, d) of norm 1 and coefficients a (p,)."""

    def __init__(self, directions: Float, coefficients: Float) -> None:
        self.directions, self.coefficients = directions, coefficients
        self.facts = {"degree": len(directions)}

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d) of norm 1."""
        t = x @ self.directions.T
        steps = [a * zonal(x.shape[1], k + 1, t[:, k]) for k, a in enumerate(self.coefficients)]
        return np.asarray(np.sum(steps, axis=0))

    def part_errors(self, x: Float, prediction: Float) -> Mapping[str, float]:
        """The error of each degree over that degree's variance a_k^2, {"degree1": 0.1, ...}: 1 - R^2.

        It is an unbiased estimate on the first ``POINTS`` points, with a standard deviation of about sqrt(2 B(d, k)) /
        ``POINTS`` times E(F - G*)^2 / a_k^2: an error near 0 may be negative.
        """
        residual = (prediction - self(x))[:POINTS]
        errors = degree_errors(x[:POINTS], residual, len(self.directions))
        return {part_name(k): float(errors[k - 1] / a**2) for k, a in enumerate(self.coefficients, 1) if a}
