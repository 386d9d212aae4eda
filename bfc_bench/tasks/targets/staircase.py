"""A staircase of spherical harmonics: a target that shows at which sample size a learner gains each degree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import PositiveInt

from bfc_bench.tasks.base import Float, InputLaw, Inputs, Target, Teacher
from bfc_bench.tasks.inputs.uniform import Sphere
from bfc_bench.tasks.targets.harmonics import degree_errors, part_name
from bfc_bench.utils.legendre import zonal

POINTS = 2048
"""Number of leading test points for errors per degree, whose cost is quadratic in it."""


class Staircase(Target):
    """G*(x) = p^-1/2 sum_k phi_k(beta_k . x), k = 1..p, with random directions beta_k, phi_k of degree k, variance 1.

    A rotation-invariant kernel learns degree k when n reaches about B(d, k), the number of harmonics of degree k
    (Ghorbani et al. 2019; NR Theorem 3), so its error falls in steps. Rows have the error of each degree.

    It is not the staircase of Abbe, Boix-Adsera and Misiakiewicz, u_1 + u_1 u_2 + u_1 u_2 u_3 for hidden directions.
    That one is ``index-model`` with ``terms = [[1], [1, 1], [1, 1, 1]]``; for hidden coordinates of the hypercube, with
    ``directions = "coordinates"``.
    """

    kind: ClassVar[str] = "staircase"
    degree: PositiveInt
    """Highest degree p."""

    @property
    def degrees(self) -> tuple[int, ...]:
        """1, ..., p."""
        return tuple(range(1, self.degree + 1))

    @property
    def shares(self) -> tuple[float, ...]:
        """All equal."""
        return (1 / self.degree,) * self.degree

    def check_inputs(self, inputs: Inputs) -> str | None:
        """Spherical harmonics belong to the sphere."""
        return None if isinstance(inputs, Sphere) else f"a staircase needs sphere inputs, not {inputs.kind!r}"

    def draw(self, rng: np.random.Generator, law: InputLaw) -> StaircaseTeacher:
        """One teacher."""
        directions = rng.standard_normal((self.degree, law.d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return StaircaseTeacher(directions)


class StaircaseTeacher(Teacher):
    """sum_k a phi_k(beta_k . x), a = p^-1/2, for directions beta (p, d) of norm 1."""

    def __init__(self, directions: Float) -> None:
        self.directions, self.a = directions, len(directions) ** -0.5
        self.facts = {"degree": len(directions)}

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d) of norm 1."""
        t = x @ self.directions.T
        steps = [self.a * zonal(x.shape[1], k, t[:, k - 1]) for k in range(1, len(self.directions) + 1)]
        return np.asarray(np.sum(steps, axis=0))

    def part_errors(self, x: Float, prediction: Float) -> Mapping[str, float]:
        """The error of each degree over that degree's variance a^2, {"degree1": 0.1, ...}: 1 - R^2.

        It is an unbiased estimate on the first ``POINTS`` points, with a standard deviation of about sqrt(2 B(d, k)) /
        ``POINTS`` times E(F - G*)^2 / a^2: an error near 0 may be negative.
        """
        residual = (prediction - self(x))[:POINTS]
        errors = degree_errors(x[:POINTS], residual, len(self.directions))
        return {part_name(k): float(error / self.a**2) for k, error in enumerate(errors, 1)}
