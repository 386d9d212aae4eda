"""Gaussian regression on censored values (Tobin 1958), in the parametrisation that makes its likelihood concave.

With theta = 1/sigma and gamma = beta/sigma (Olsen 1978) an exact value y contributes
``log theta - log(2 pi)/2 - (theta y - eta)^2 / 2`` and a value known to lie in [a, b] (a = -inf or b = inf where it is
censored on one side) ``log(Phi(theta b - eta) - Phi(theta a - eta))``, eta = x.gamma. Newton's method with
halving then finds the only maximum from anywhere.

Shapes: N values, p covariates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
TOLERANCE = 1e-9
"""On the log-likelihood that a Newton step can still gain."""


@dataclass(frozen=True, eq=False)
class Tobit:
    """A fitted model y = x.beta + sigma * N(0, 1)."""

    beta: np.ndarray
    """Coefficients, (p,)."""
    sigma: float
    covariance: np.ndarray
    """Of ``beta``, (p, p), from the observed information at the maximum; sigma enters as maximum likelihood has it."""
    loglik: float

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of ``beta``, (p,)."""
        return np.sqrt(np.diag(self.covariance))


def tobit(x: np.ndarray, lower: np.ndarray, upper: np.ndarray, max_steps: int = 200) -> Tobit:
    """Fit y ~ x by maximum likelihood where y_i is known to lie in [lower_i, upper_i].

    ``x`` (N, p), ``lower`` and ``upper`` (N,), at least one of them finite; an exact value has lower = upper. The exact
    values must determine beta and must not be fitted without error, else there is no maximum. Raises
    ``numpy.linalg.LinAlgError`` where none is found.
    """
    phi = _start(x, lower, upper)
    value = _loglik(phi, x, lower, upper)
    for _ in range(max_steps):
        gradient, hessian = _derivatives(phi, x, lower, upper)
        step = np.linalg.solve(hessian, -gradient)
        gain = float(gradient @ step)
        if gain < TOLERANCE:
            theta, gamma = phi[0], phi[1:]
            jacobian = np.column_stack([-gamma / theta**2, np.eye(len(gamma)) / theta])
            covariance = jacobian @ np.linalg.inv(-hessian) @ jacobian.T
            return Tobit(gamma / theta, float(1 / theta), covariance, value)
        while (raised := _loglik(phi + step, x, lower, upper)) < value + 0.1 * gain - TOLERANCE:
            step, gain = step / 2, gain / 2
        phi, value = phi + step, raised
    raise np.linalg.LinAlgError(f"tobit: no maximum in {max_steps} steps; do the exact values determine the model?")


def _start(x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Least squares with bounds taken as values: (theta, gamma), (1 + p,)."""
    y = np.where(np.isfinite(lower), lower, upper)
    beta, *_ = np.linalg.lstsq(x, y, rcond=None)
    theta = 1 / max(float(np.std(y - x @ beta)), 1e-12)
    return np.concatenate([[theta], theta * beta])


def _log_mass(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log(Phi(b) - Phi(a)) for a < b, in the tail where it keeps its digits."""
    from scipy.special import log_ndtr

    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    high = log_ndtr(b)
    return np.asarray(high + np.log1p(-np.exp(log_ndtr(a) - high)))


def _loglik(phi: np.ndarray, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    theta = float(phi[0])
    if theta <= 0:
        return -math.inf
    exact = lower == upper
    eta = x @ phi[1:]
    z = theta * lower[exact] - eta[exact]
    censored = _log_mass(theta * lower[~exact] - eta[~exact], theta * upper[~exact] - eta[~exact])
    return float(exact.sum() * (math.log(theta) - LOG_SQRT_2PI) - z @ z / 2 + censored.sum())


def _derivatives(phi: np.ndarray, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (1 + p,) and Hessian (1 + p, 1 + p) of the log-likelihood at phi = (theta, gamma)."""
    exact = lower == upper
    v = np.column_stack([lower, -x])[exact]  # z = v.phi
    gradient = -v.T @ (v @ phi)
    hessian = -v.T @ v
    gradient[0] += exact.sum() / phi[0]
    hessian[0, 0] -= exact.sum() / phi[0] ** 2

    x, lower, upper = x[~exact], lower[~exact], upper[~exact]
    eta = x @ phi[1:]
    za, zb = phi[0] * lower - eta, phi[0] * upper - eta
    log_mass = _log_mass(za, zb)
    slope = np.zeros((len(x), len(phi)))
    for z, bound, sign in ((za, lower, -1.0), (zb, upper, 1.0)):
        density = sign * np.exp(-0.5 * z**2 - LOG_SQRT_2PI - log_mass)
        # An infinite bound has density 0, so any finite number may stand for it.
        v = np.column_stack([np.where(np.isfinite(bound), bound, 0.0), -x])
        slope += density[:, None] * v
        hessian -= (density * np.where(np.isfinite(z), z, 0.0) * v.T) @ v
    return gradient + slope.sum(axis=0), hessian - slope.T @ slope
