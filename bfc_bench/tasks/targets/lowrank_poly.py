"""Low-rank polynomials."""

from __future__ import annotations

from math import sqrt
from typing import ClassVar, Literal

import numpy as np
from pydantic import PositiveInt

from bfc_bench.tasks.base import Float, InputLaw, Inputs, Target, Teacher
from bfc_bench.tasks.inputs.uniform import Sphere
from bfc_bench.tasks.orthonormal import orthonormal_rows
from bfc_bench.utils.legendre import zonal

PROBES = 16384
"""Number of points on which the L2 norm of a monomial is measured when a teacher is drawn."""

Form = Literal["monomial", "gegenbauer"]


class LowrankPoly(Target):
    """G*(x) = r^-1/2 sum_s f_s(beta_s . x), s = 1..r, with orthonormal random directions beta_s. NR eq. (5).

    ``form = "monomial"``: f_s(t) = c_s t^p as printed, where c_s > 0 gives f_s an L2 norm of 1 under the input law.
    ``form = "gegenbauer"``: f_s(t) = phi_p(t) = sqrt(B(d,p)) P_p(t), of pure degree p and variance 1 on the sphere.
    The monomial has most of its variance in lower degrees, so only the second form shows the sample sizes of NR.
    """

    kind: ClassVar[str] = "lowrank-poly"
    degree: PositiveInt
    """Degree p of the terms."""
    rank: PositiveInt = 1
    """Number r of terms."""
    form: Form = "gegenbauer"
    """Whether terms are powers t^p (``monomial``) or polynomials of pure degree p (``gegenbauer``)."""

    @property
    def degrees(self) -> tuple[int, ...]:
        """p, or p, p - 2, ... for monomials."""
        return (self.degree,) if self.form == "gegenbauer" else tuple(range(2 - self.degree % 2, self.degree + 1, 2))

    @property
    def shares(self) -> tuple[float, ...]:
        """All in p; empty for monomials, whose shares depend on d and the directions."""
        return (1.0,) if self.form == "gegenbauer" else ()

    def check(self, d: int) -> str | None:
        """Orthonormal directions need rank <= d, and the target must not be |x|^2."""
        if self.rank > d:
            return f"rank = {self.rank} is above the input dimension {d}"
        if self.degree == 2 and self.rank == d:
            return f"degree 2 in all directions is |x|^2, constant on the sphere; take another, or a rank below {d}"
        return None

    def check_inputs(self, inputs: Inputs) -> str | None:
        """Gegenbauer polynomials belong to the sphere."""
        if self.form == "gegenbauer" and not isinstance(inputs, Sphere):
            return (
                f"form = 'gegenbauer' needs sphere inputs, not {inputs.kind!r}; take form = 'monomial' or other inputs"
            )
        return None

    def draw(self, rng: np.random.Generator, law: InputLaw) -> LowrankTeacher:
        """One teacher."""
        directions = orthonormal_rows(rng, self.rank, law.d)
        coefficients = np.full(self.rank, 1 / sqrt(self.rank))
        if self.form == "monomial":
            terms = (law.sample(rng, PROBES) @ directions.T) ** self.degree
            coefficients /= np.sqrt(np.mean(terms**2, axis=0))
        return LowrankTeacher(directions, coefficients, self.degree, self.form)


class LowrankTeacher(Teacher):
    """sum_s a_s f(beta_s . x), f(t) = t^p or phi_p(t), for directions beta (r, d) and coefficients a (r,)."""

    def __init__(self, directions: Float, coefficients: Float, degree: int, form: Form) -> None:
        self.directions, self.coefficients, self.degree, self.form = directions, coefficients, degree, form
        self.facts = {"degree": degree, "rank": len(directions)}

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d), of norm 1 for the Gegenbauer form."""
        t = x @ self.directions.T
        terms = t**self.degree if self.form == "monomial" else zonal(x.shape[1], self.degree, t)
        return terms @ self.coefficients
