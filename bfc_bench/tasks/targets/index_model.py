"""Single-index and multi-index models: targets of a few projections of the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, NonNegativeInt, ValidationInfo, field_validator

from bfc_bench.tasks.base import Float, InputLaw, Inputs, Target, Teacher
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Hypercube
from bfc_bench.tasks.orthonormal import orthonormal_rows
from bfc_bench.utils.hermite import hermite

Term = Annotated[tuple[NonNegativeInt, ...], Field(min_length=1)]
Coefficients = tuple[Annotated[float, Field(ge=-1, le=1)], ...] | None


class IndexModel(Target):
    """G*(x) = sum_t c_t prod_i he_{k_ti}(u_i . x) for r orthonormal directions u_i; he_k = He_k / sqrt(k!).

    Under Gaussian inputs the terms are orthonormal. One term (k) is a single-index model of information exponent k (Ben
    Arous, Gheissari and Jagannath 2021, arXiv 2003.10409); several terms are a multi-index model, such as the staircase
    (1), (1, 1), (1, 1, 1) (Abbe, Boix-Adsera and Misiakiewicz 2023, arXiv 2302.11055). On the hypercube, exponents are
    0 or 1 and directions are coordinates: terms are parities.
    """

    kind: ClassVar[str] = "index-model"
    swept: ClassVar[frozenset[str]] = frozenset({"coefficients"})
    terms: Annotated[tuple[Term, ...], Field(min_length=1)]
    """Exponents (k_t1, k_t2, ...) of each term; missing ones are 0. r is the length of the longest."""
    coefficients: Coefficients = None
    """c_t, one per term; by default all equal with sum c_t^2 = 1."""
    directions: Literal["random", "coordinates"] = "random"
    """Whether u_1, ..., u_r are random orthonormal vectors or r different coordinates, drawn at random."""

    @field_validator("terms")
    @classmethod
    def _different_terms(cls, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        padded = exponents_of(terms).tolist()
        if any(not any(term) for term in padded):
            raise ValueError("every term must have an exponent above 0")
        if len({tuple(term) for term in padded}) < len(padded):
            raise ValueError("terms must be different")
        if not np.any(padded, axis=0).all():
            raise ValueError("every direction must have an exponent above 0 in some term")
        return terms

    @field_validator("coefficients")
    @classmethod
    def _one_per_term(cls, values: Coefficients, info: ValidationInfo) -> Coefficients:
        terms = info.data.get("terms")  # None if they are wrong
        if values is not None and terms and len(values) != len(terms):
            raise ValueError(f"must have one entry per term, {len(terms)} in all")
        if values is not None and not any(values):
            raise ValueError("must not all be 0")
        return values

    def check(self, d: int) -> str | None:
        """There are at most d orthonormal directions."""
        r = max(map(len, self.terms))
        return f"an index model of {r} directions needs d >= {r}" if d < r else None

    def check_inputs(self, inputs: Inputs) -> str | None:
        """The terms are orthonormal under these laws."""
        if isinstance(inputs, Gaussian):
            return f"an index model needs gaussian inputs of mean 0, not {inputs.mean:g}" if inputs.mean else None
        if isinstance(inputs, Hypercube):
            if self.directions != "coordinates" or exponents_of(self.terms).max() > 1:
                return "an index model on the hypercube needs directions = 'coordinates' and exponents of 0 and 1"
            return None
        return f"an index model needs gaussian or hypercube inputs, not {inputs.kind!r}"

    def draw(self, rng: np.random.Generator, law: InputLaw) -> IndexTeacher:
        """One teacher."""
        exponents = exponents_of(self.terms)
        r = exponents.shape[1]
        if self.directions == "coordinates":
            directions = np.eye(law.d)[rng.permutation(law.d)[:r]]
        else:
            directions = orthonormal_rows(rng, r, law.d)
        equal = np.full(len(exponents), len(exponents) ** -0.5)
        coefficients = equal if self.coefficients is None else np.array(self.coefficients)
        degrees = exponents.sum(axis=1)
        facts: dict[str, object] = {
            "information_exponent": int(degrees[coefficients != 0].min()),
            "degree": int(degrees.max()),
        }
        if r == 1:
            link = np.zeros(int(exponents.max()) + 1)
            link[exponents[:, 0]] = coefficients
            facts["link"] = link.tolist()
        return IndexTeacher(directions, exponents, coefficients, facts)


class IndexTeacher(Teacher):
    """sum_t c_t prod_i he_{k_ti}(u_i . x), for u (r, d), k (t, r) and c (t,)."""

    def __init__(
        self, directions: Float, exponents: np.ndarray, coefficients: Float, facts: Mapping[str, object]
    ) -> None:
        self.directions, self.exponents, self.coefficients, self.facts = directions, exponents, coefficients, facts

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d)."""
        return self._terms(x) @ self.coefficients

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """The projections {"S2": (m, r)}, in the order of the directions; ``span_errors`` measures their span."""
        return {"S2": x @ self.directions.T}

    def part_errors(self, x: Float, prediction: Float) -> Mapping[str, float]:
        """The error in each term over its variance c_t^2, {"term1": 0.1, ...}: ((<F, phi_t> - c_t) / c_t)^2.

        The estimate is unbiased, from pairs of different points, and may be negative.
        """
        residual = (prediction - self(x))[:, None] * self._terms(x)
        m = len(residual)
        errors = (residual.sum(axis=0) ** 2 - (residual**2).sum(axis=0)) / (m * (m - 1))
        return {f"term{t}": float(errors[t - 1] / c**2) for t, c in enumerate(self.coefficients, 1) if c}

    def _terms(self, x: Float) -> Float:
        """phi_t(x), (m, t)."""
        powers = hermite(x @ self.directions.T, int(self.exponents.max()))
        return np.asarray(np.prod([powers[k, :, i] for i, k in enumerate(self.exponents.T)], axis=0).T)


def exponents_of(terms: Sequence[Sequence[int]]) -> np.ndarray:
    """Terms as an array of exponents (t, r), with zeros for missing ones."""
    r = max(map(len, terms))
    return np.array([[*term, *[0] * (r - len(term))] for term in terms])
