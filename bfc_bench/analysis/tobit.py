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
FLAT = 1e-9
"""Of the log-likelihood per relative change of a parameter, below which it is taken as flat."""
STEPS = 2.0 ** np.arange(-3, 8)
"""Where the end of an interval is looked for, in units of the values' scale: one farther away counts as infinite."""


@dataclass(frozen=True, eq=False)
class Tobit:
    """A fitted model y = x.beta + sigma * N(0, 1)."""

    beta: np.ndarray
    """Coefficients, (p,)."""
    sigma: float
    loglik: float
    hessian: np.ndarray
    """Of the log-likelihood in (theta, gamma) at the maximum, (1 + p, 1 + p)."""

    @property
    def covariance(self) -> np.ndarray:
        """Of ``beta``, (p, p), from the observed information at the maximum; sigma enters as maximum likelihood has it.

        Raises ``numpy.linalg.LinAlgError`` where the likelihood is flat.
        """
        jacobian = np.column_stack([-self.beta * self.sigma, np.eye(len(self.beta)) * self.sigma])
        return np.asarray(jacobian @ np.linalg.inv(-self.hessian) @ jacobian.T)

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of ``beta``, (p,)."""
        return np.sqrt(np.diag(self.covariance))


def tobit(x: np.ndarray, lower: np.ndarray, upper: np.ndarray, least_sigma: float = 0.0, max_steps: int = 200) -> Tobit:
    """Fit y ~ x by maximum likelihood where y_i is known to lie in [lower_i, upper_i].

    ``x`` (N, p), ``lower`` and ``upper`` (N,), at least one of them finite; an exact value has lower = upper. Without
    ``least_sigma``, which sigma may not fall below, the exact values must determine beta and must not be fitted without
    error, else there is no maximum. Of betas that fit equally well, as intervals may allow, it is one near their
    middles. Raises ``numpy.linalg.LinAlgError`` where no maximum is found.
    """
    phi, value, hessian = _maximum(x, lower[None], upper[None], least_sigma, max_steps)
    return Tobit(phi[0, 1:] / phi[0, 0], float(1 / phi[0, 0]), float(value[0]), hessian[0])


def profile_interval(
    x: np.ndarray, lower: np.ndarray, upper: np.ndarray, column: int, drop: float, least_sigma: float = 0.0
) -> tuple[float, float]:
    """The values of beta_column whose profile log-likelihood is at most ``drop`` below the maximum.

    They are an interval, since the likelihood is concave in (theta, gamma); an end is infinite where no value is too
    large or too small. Without censoring and with drop = N log(1 + t^2 / (N - p)) / 2 it is Student's interval. Shapes
    and errors are those of ``tobit``.
    """
    fit = tobit(x, lower, upper, least_sigma)
    others, middle = np.delete(x, column, axis=1), np.where(np.isfinite(lower), lower, upper)
    centre = float(fit.beta[column])
    unit = max(fit.sigma, float(np.ptp(middle)), least_sigma) / max(float(np.abs(x[:, column]).max()), 1e-12)

    def beyond(steps: np.ndarray) -> np.ndarray:
        """Below 0 inside, for values (M,) at so many steps from the centre; almost linear in them."""
        shift = (centre + unit * steps)[:, None] * x[:, column]
        found = _maximum(others, lower - shift, upper - shift, least_sigma)[1]
        return np.asarray(np.sqrt(2 * np.maximum(fit.loglik - found, 0.0)) - math.sqrt(2 * drop))

    below, above = np.split(beyond(np.concatenate([-STEPS, STEPS])), 2)
    ends = []
    for sign, values in ((-1, below), (1, above)):
        if values[-1] < 0:
            ends.append(sign * math.inf)
            continue
        first = int(np.argmax(values >= 0))
        steps = sign * np.linspace(STEPS[first - 1] if first else 0.0, STEPS[first], 9)
        ends.append(centre + unit * sign * float(np.interp(0.0, beyond(steps), np.abs(steps))))
    return ends[0], ends[1]


def _maximum(
    x: np.ndarray, lower: np.ndarray, upper: np.ndarray, least_sigma: float, max_steps: int = 200
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of M problems, ``lower`` and ``upper`` (M, N): phi = (theta, gamma) (M, 1 + p), log-likelihood (M,), Hessian."""
    most = 1 / least_sigma if least_sigma else math.inf
    phi = _start(x, lower, upper)
    phi *= np.minimum(1.0, most / phi[:, :1])
    value = _loglik(phi, x, lower, upper)
    for _ in range(max_steps):
        gradient, hessian = _derivatives(phi, x, lower, upper)
        step, gain = _newton_step(phi, gradient, hessian, most)
        if (gain < TOLERANCE).all():
            return phi, value, hessian
        raised = _loglik(phi + step, x, lower, upper)
        while (short := raised < value + 0.1 * gain - TOLERANCE).any():
            step[short] /= 2
            gain = np.where(short, gain / 2, gain)
            raised = _loglik(phi + step, x, lower, upper)
        phi, value = phi + step, raised
    raise np.linalg.LinAlgError(f"tobit: no maximum in {max_steps} steps; do the exact values determine the model?")


def _newton_step(
    phi: np.ndarray, gradient: np.ndarray, hessian: np.ndarray, most: float
) -> tuple[np.ndarray, np.ndarray]:
    """Newton steps (M, 1 + p) that go no farther than the largest theta, and what each promises to gain, (M,)."""
    at_most = phi[:, 0] >= most * (1 - 1e-12)
    held = at_most & (gradient[:, 0] >= 0)
    unit = np.eye(phi.shape[1])
    for _ in range(2):
        free = ~(held[:, None] & (unit[0] > 0))
        pull = np.where(free, gradient, 0.0)
        flat = np.abs(pull * np.maximum(np.abs(phi), 1.0)).max(axis=1) < FLAT
        pull[flat] = 0.0
        kept = (free[:, :, None] & free[:, None, :]) & ~flat[:, None, None]
        step = _solve(np.where(kept, hessian, -unit), -pull)
        if not (late := at_most & ~held & (step[:, 0] > 0)).any():
            break
        held = held | late
    if math.isfinite(most):
        ahead = (phi[:, 0] + step[:, 0] > most) & (step[:, 0] > 0)
        step[ahead] *= ((most - phi[ahead, 0]) / step[ahead, 0])[:, None]
    return step, np.einsum("mi,mi->m", gradient, step)


def _solve(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """(M, p, p) and (M, p) to (M, p); short steps in directions in which the likelihood is flat to the last digit."""
    try:
        return np.asarray(np.linalg.solve(hessian, gradient[..., None])[..., 0])
    except np.linalg.LinAlgError:
        size = np.abs(hessian).max(axis=(1, 2), keepdims=True)
        return np.asarray(np.linalg.solve(hessian - 1e-9 * size * np.eye(len(hessian[0])), gradient[..., None])[..., 0])


def _start(x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Least squares with bounds, and middles of intervals, taken as values: (theta, gamma), (M, 1 + p)."""
    y = np.where(np.isfinite(lower), lower, upper)
    both = np.isfinite(lower) & np.isfinite(upper) & (lower != upper)
    y[both] = (lower[both] + upper[both]) / 2
    beta = y @ np.linalg.pinv(x).T if x.shape[1] else np.empty((len(y), 0))
    theta = 1 / np.maximum(np.std(y - beta @ x.T, axis=1, keepdims=True), 1e-12)
    return np.hstack([theta, theta * beta])


def _log_mass(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log(Phi(b) - Phi(a)) for a < b, in the tail where it keeps its digits."""
    from scipy.special import log_ndtr

    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    high = log_ndtr(b)
    with np.errstate(divide="ignore"):  # a range narrower than rounding has no mass: Newton's step is cut there
        return np.asarray(high + np.log1p(-np.exp(log_ndtr(a) - high)))


def _loglik(phi: np.ndarray, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """(M,); -inf where theta is not positive."""
    exact = lower[0] == upper[0]
    theta = np.where(phi[:, :1] > 0, phi[:, :1], 1.0)
    eta = phi[:, 1:] @ x.T
    z = theta * lower[:, exact] - eta[:, exact]
    censored = _log_mass(theta * lower[:, ~exact] - eta[:, ~exact], theta * upper[:, ~exact] - eta[:, ~exact])
    value = exact.sum() * (np.log(theta[:, 0]) - LOG_SQRT_2PI) - (z**2).sum(axis=1) / 2 + censored.sum(axis=1)
    return np.where(phi[:, 0] > 0, value, -math.inf)


def _derivatives(phi: np.ndarray, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (M, 1 + p) and Hessian (M, 1 + p, 1 + p) of the log-likelihood at phi = (theta, gamma)."""
    exact = lower[0] == upper[0]
    theta = phi[:, :1]
    v = _with_covariates(lower[:, exact], x[exact])  # z = v.phi
    gradient = -np.einsum("mni,mnj,mj->mi", v, v, phi)
    hessian = -v.swapaxes(1, 2) @ v
    gradient[:, 0] += exact.sum() / phi[:, 0]
    hessian[:, 0, 0] -= exact.sum() / phi[:, 0] ** 2

    x, lower, upper = x[~exact], lower[:, ~exact], upper[:, ~exact]
    eta = phi[:, 1:] @ x.T
    za, zb = theta * lower - eta, theta * upper - eta
    log_mass = _log_mass(za, zb)
    slope = np.zeros((*lower.shape, phi.shape[1]))
    for z, bound, sign in ((za, lower, -1.0), (zb, upper, 1.0)):
        density = sign * np.exp(-0.5 * z**2 - LOG_SQRT_2PI - log_mass)
        # An infinite bound has density 0, so any finite number may stand for it.
        v = _with_covariates(np.where(np.isfinite(bound), bound, 0.0), x)
        slope += density[..., None] * v
        hessian -= v.swapaxes(1, 2) @ ((density * np.where(np.isfinite(z), z, 0.0))[..., None] * v)
    return gradient + slope.sum(axis=1), hessian - slope.swapaxes(1, 2) @ slope


def _with_covariates(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """values (M, N) beside -x (N, p): (M, N, 1 + p)."""
    m, n = values.shape
    return np.concatenate([values[..., None], np.broadcast_to(-x, (m, n, x.shape[1]))], axis=2)
