"""Low-rank polynomials."""

from __future__ import annotations

from math import sqrt
from typing import ClassVar, Literal

import numpy as np
from pydantic import PositiveInt

from bfc_bench.errors import UsageError
from bfc_bench.tasks.base import Float, InputLaw, Inputs, Teacher
from bfc_bench.tasks.inputs.uniform import Sphere
from bfc_bench.tasks.orthonormal import orthonormal_rows
from bfc_bench.tasks.targets.options import Coefficients, SumOfTerms
from bfc_bench.utils.legendre import zonal

PROBES = 16384
"""Number of points on which the L2 norm of a monomial is measured when a teacher is drawn."""

ROUNDING = 1e-12
"""A deviation below this fraction of the terms' size is rounding."""
CONSTANT = "degree 2 in all directions with equal coefficients is |x|^2, a constant target, which has no relative error"

Form = Literal["monomial", "gegenbauer"]


class LowrankPoly(SumOfTerms):
    """G*(x) = sum_s a_s f_s(beta_s . x) with orthonormal random directions beta_s. NR eq. (5).

    ``form = "monomial"``: f_s(t) = c_s t^p as printed, where c_s > 0 gives f_s an L2 norm of 1 under the input law.
    ``form = "gegenbauer"``: f_s(t) = phi_p(t) = sqrt(B(d,p)) P_p(t), of pure degree p and variance 1 on the sphere.
    The monomial has most of its variance in lower degrees, so only the second form shows the sample sizes of NR.
    """

    kind: ClassVar[str] = "lowrank-poly"
    counted: ClassVar[str] = "rank"
    degree: PositiveInt
    """Degree p of the terms."""
    rank: PositiveInt = 1
    """Number of terms."""
    form: Form = "gegenbauer"
    """Whether terms are powers t^p (``monomial``) or polynomials of pure degree p (``gegenbauer``)."""
    coefficients: Coefficients = None
    """a_s, one per term; by default all equal with sum a_s^2 = 1 (d equal terms of degree 2 on the sphere are an error,
    since they are constant)."""

    @property
    def degrees(self) -> tuple[int, ...]:
        """p, or p, p - 2, ... for monomials."""
        return (self.degree,) if self.form == "gegenbauer" else tuple(range(2 - self.degree % 2, self.degree + 1, 2))

    @property
    def shares(self) -> tuple[float, ...]:
        """All in p; empty for monomials, whose shares depend on d and the directions."""
        return (1.0,) if self.form == "gegenbauer" else ()

    def check(self, d: int) -> str | None:
        """Orthonormal directions need rank <= d, and the target must not be constant."""
        if self.rank > d:
            return f"rank = {self.rank} is above the input dimension {d}"
        if self.form == "gegenbauer" and self.degree == 2 and self.rank == d and len(set(self.coefficients or ())) < 2:
            return f"{CONSTANT}; take another degree, a rank below d = {d}, or unequal coefficients"
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
        if self.coefficients is not None:
            coefficients = np.array(self.coefficients)
        if self.form == "monomial":
            terms = (law.sample(rng, PROBES) @ directions.T) ** self.degree
            if not np.std(terms @ coefficients) > ROUNDING * np.mean(np.abs(terms) @ np.abs(coefficients)):
                raise UsageError(
                    f"target {self.kind!r}: {CONSTANT} under {law.inputs.kind!r} inputs in {law.d} dimensions; take "
                    "another degree, a lower rank, or unequal coefficients."
                )
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
