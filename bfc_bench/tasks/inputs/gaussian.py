"""Gaussian inputs: independent, with one coordinate missing, of a power law, correlated; and tails of other powers."""

from math import exp, lgamma, sqrt
from typing import Annotated, ClassVar, TypeAlias

import numpy as np
from pydantic import Field, FiniteFloat, PositiveInt

from bfc_bench.tasks.base import Float, InputLaw, Inputs
from bfc_bench.tasks.orthonormal import orthonormal_rows


class Gaussian(Inputs):
    """x ~ N(mean, I), by default of mean 0. BFC section 5; SLIDES' correction example has E[x_i] = 1."""

    kind: ClassVar[str] = "gaussian"
    mean: FiniteFloat = 0.0
    """E[x_i], the same for every coordinate."""

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d)."""
        x = rng.standard_normal((m, law.d))
        return x + self.mean if self.mean else x

    def square_mean(self, law: InputLaw) -> Float:
        """E[x_i^2] = 1 + mean^2, (d,)."""
        return np.full(law.d, 1 + self.mean**2)

    @property
    def independent(self) -> bool:
        """True if the mean is 0."""
        return not self.mean


class GaussianDropped(Inputs):
    """A mixture of d laws: in the i-th x_i = 0, and the other coordinates are independent N(0, 1). BFC line 522.

    None of the d laws is degree-preserving, eq. (5.4); their mixture is, for degrees up to d - 1.
    """

    kind: ClassVar[str] = "gaussian-dropped"

    def check(self, d: int) -> str | None:
        """One coordinate must remain."""
        return "gaussian-dropped inputs need d >= 2" if d < 2 else None

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d), each with one zero."""
        x = rng.standard_normal((m, law.d))
        x[np.arange(m), rng.integers(law.d, size=m)] = 0
        return x

    def square_mean(self, law: InputLaw) -> Float:
        """E[x_i^2] = 1 - 1/d, (d,)."""
        return np.full(law.d, 1 - 1 / law.d)


class GaussianPowerLaw(Inputs):
    """x ~ N(0, H) with H = diag(1, 2^-a, ..., d^-a). Lin et al. (2024), arXiv 2406.08466.

    Paquette et al. (2024), arXiv 2405.15074, write a = 2 alpha.
    """

    kind: ClassVar[str] = "gaussian-power-law"
    independent: ClassVar[bool] = True
    a: Annotated[float, Field(gt=0, le=10)] = 2.0
    """Exponent of the spectrum: E[x_i^2] = i^-a."""

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d)."""
        return rng.standard_normal((m, law.d)) * np.sqrt(self.square_mean(law))

    def square_mean(self, law: InputLaw) -> Float:
        """E[x_i^2] = i^-a, (d,)."""
        return np.asarray(np.arange(1.0, law.d + 1) ** -self.a)


class ExponentialPower(Inputs):
    """Independent x_i of mean 0 and variance 1 with density proportional to exp(-|x_i / s|^power).

    Powers below 1 have heavy tails with all moments. BFC section 5 names the power .1, whose kurtosis is 2.8e6: no
    sample of usual size shows its higher moments. A power of 2 is N(0, 1), a power of 1 the Laplace distribution.
    """

    kind: ClassVar[str] = "exponential-power"
    independent: ClassVar[bool] = True
    power: Annotated[float, Field(ge=0.1, le=100)] = 0.5
    """Power of |x| in the exponent."""

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d): |x_i / s|^power has the gamma distribution of shape 1 / power."""
        scale = exp((lgamma(1 / self.power) - lgamma(3 / self.power)) / 2)
        size: Float = rng.standard_gamma(1 / self.power, (m, law.d)) ** (1 / self.power)
        return scale * size * (2.0 * rng.integers(0, 2, (m, law.d)) - 1.0)


Condition: TypeAlias = Annotated[float, Field(ge=1, le=1e6)]
"""Largest over smallest singular value of Sigma."""


class GaussianNonspherical(Inputs):
    """x ~ N(0, Sigma Sigma^T) with rows of Sigma of norm 1, so that E[x_i^2] = 1. BFC Proposition 5.1.

    The singular values of Sigma are spaced geometrically over a ratio of ``condition``.
    """

    kind: ClassVar[str] = "gaussian-nonspherical"
    condition: Condition = 2.0
    """Largest over smallest singular value of Sigma."""

    def law(self, rng: np.random.Generator, d: int) -> InputLaw:
        """One Sigma, (d, d), named ``sigma``."""
        return InputLaw(self, d, sigma=equal_row_factor(rng, d, self.condition))

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d)."""
        return rng.standard_normal((m, law.d)) @ law.drawn["sigma"].T


class GaussianMixture(Inputs):
    """x ~ N(0, Sigma_c Sigma_c^T) with c uniform over the components; all rows of all Sigma_c have norm 1.

    Therefore E[x_i^2] = 1 in every component, as BFC Proposition 5.1 requires.
    """

    kind: ClassVar[str] = "gaussian-mixture"
    components: PositiveInt = 3
    """Number of components."""
    condition: Condition = 2.0
    """Largest over smallest singular value of each Sigma_c."""

    def law(self, rng: np.random.Generator, d: int) -> InputLaw:
        """One Sigma per component, (components, d, d), named ``sigmas``."""
        return InputLaw(
            self, d, sigmas=np.stack([equal_row_factor(rng, d, self.condition) for _ in range(self.components)])
        )

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d)."""
        component = rng.integers(self.components, size=m)
        x = rng.standard_normal((m, law.d))
        for c, sigma in enumerate(law.drawn["sigmas"]):
            x[component == c] = x[component == c] @ sigma.T
        return x


def equal_row_factor(rng: np.random.Generator, d: int, condition: float) -> Float:
    """A random Sigma, (d, d), with rows of norm 1 and geometrically spaced singular values.

    Rotating two rows into each other keeps the singular values and the sum of the squared norms, which is d; each
    rotation gives one row norm 1 (Bendel & Mickey 1978, Davies & Higham 2000, here on the factor).
    """
    singular = np.geomspace(1, condition, d)
    sigma = orthonormal_rows(rng, d, d) * singular * sqrt(d / np.sum(singular**2))
    norms = np.sum(sigma**2, axis=1)
    for _ in range(d - 1):
        i, j = np.argmax(norms), np.argmin(norms)
        above, below = norms[i] - 1, norms[j] - 1
        if min(above, -below) <= 1e-14:
            break
        inner = sigma[i] @ sigma[j]
        root = sqrt(inner**2 - above * below)
        tangent = -above / (inner + (root if inner >= 0 else -root))
        cosine = 1 / sqrt(1 + tangent**2)
        sine = tangent * cosine
        sigma[[i, j]] = cosine * sigma[i] + sine * sigma[j], cosine * sigma[j] - sine * sigma[i]
        norms[[i, j]] = np.sum(sigma[[i, j]] ** 2, axis=1)
    return sigma
