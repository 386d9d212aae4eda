"""Tobit: linear regression with normal errors on censored values (Tobin 1958), and its profile likelihood.

With theta = 1/sigma and gamma = beta/sigma the log-likelihood is concave (Olsen 1978). With eta = x.gamma, an exact
value y contributes ``log theta - log(2 pi)/2 - (theta y - eta)^2 / 2``. A value known to lie in [a, b] (a = -inf or
b = inf if it is censored on one side) contributes ``log(Phi(theta b - eta) - Phi(theta a - eta))``. Newton's method
with step halving finds the only maximum from any start.

Shapes: N values, p covariates.
"""

import math
from dataclasses import dataclass

import numpy as np

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
MAX_STEPS = 200
"""Maximum number of steps of Newton's method."""
TOLERANCE = 1e-9
"""Newton's method stops when a step promises to raise the log-likelihood by less."""
FLAT = 1e-9
"""Slope of the log-likelihood, per relative change of a parameter, below which it counts as flat."""
STEPS = 2.0 ** np.arange(-3, 8)
"""Distances at which to search for an end of an interval, in units of the values' scale; beyond them it is infinite."""
NEAR = 5
"""Number of distances that are tried first."""


@dataclass(frozen=True, eq=False)
class Tobit:
    """A fitted model y = x.beta + sigma * N(0, 1)."""

    beta: np.ndarray
    """Coefficients, (p,)."""
    sigma: float
    loglik: float
    hessian: np.ndarray
    """Hessian of the log-likelihood in (theta, gamma) at the maximum, (1 + p, 1 + p)."""

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of ``beta``, (p,), from the observed information; nan if the likelihood is flat."""
        none = np.full(len(self.beta), math.nan)
        jacobian = np.column_stack([-self.beta * self.sigma, np.eye(len(self.beta)) * self.sigma])
        try:
            variances = np.diag(jacobian @ np.linalg.inv(-self.hessian) @ jacobian.T)
        except np.linalg.LinAlgError:
            return none
        return none if (variances < 0).any() else np.sqrt(variances)  # negative if flat, up to rounding


def tobit(x: np.ndarray, lower: np.ndarray, upper: np.ndarray, least_sigma: float = 0.0) -> Tobit:
    """Fit y ~ x by maximum likelihood, where each y_i is known to lie in [lower_i, upper_i].

    If intervals allow several betas to fit equally well, the result is one near the middles of the intervals.

    Args:
        x: Covariates, (N, p).
        lower: Lower bounds, (N,); equal to ``upper`` for an exact value.
        upper: Upper bounds, (N,); at least one bound of each value must be finite.
        least_sigma: Lower limit of sigma. If 0, the exact values must determine beta and must not be fitted without
            error; otherwise there is no maximum.

    Raises:
        numpy.linalg.LinAlgError: If no maximum is found.
    """
    phi, value, hessian = _maximum(x, lower[None], upper[None], least_sigma)
    return Tobit(phi[0, 1:] / phi[0, 0], float(1 / phi[0, 0]), float(value[0]), hessian[0])


def profile_interval(
    fit: Tobit, x: np.ndarray, lower: np.ndarray, upper: np.ndarray, column: int, drop: float, least_sigma: float = 0.0
) -> tuple[float, float]:
    """The values of coefficient ``column`` whose profile log-likelihood is at most ``drop`` below the maximum.

    They are an interval because the likelihood is concave in (theta, gamma); an end is infinite if no value on its side
    is excluded. Without censoring and with drop = N log(1 + t^2 / (N - p)) / 2 it is Student's interval. ``fit`` is
    what ``tobit`` gives for the other arguments, which are those of ``tobit``, and so is what is raised.
    """
    others, middle = np.delete(x, column, axis=1), np.where(np.isfinite(lower), lower, upper)
    centre = float(fit.beta[column])
    unit = max(fit.sigma, float(np.ptp(middle)), least_sigma) / max(float(np.abs(x[:, column]).max()), 1e-12)

    def beyond(steps: np.ndarray) -> np.ndarray:
        """Negative inside the interval; almost linear in ``steps``, the distances (M,) from the centre in units."""
        shift = (centre + unit * steps)[:, None] * x[:, column]
        profile = _maximum(others, lower - shift, upper - shift, least_sigma)[1]
        return np.asarray(np.sqrt(2 * np.maximum(fit.loglik - profile, 0.0)) - math.sqrt(2 * drop))

    for tried in (STEPS[:NEAR], STEPS):  # far ones take many of Newton's steps and are seldom needed
        below, above = np.split(beyond(np.concatenate([-tried, tried])), 2)
        if min(below[-1], above[-1]) >= 0:
            break
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
    x: np.ndarray, lower: np.ndarray, upper: np.ndarray, least_sigma: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit M problems with bounds (M, N): phi = (theta, gamma) (M, 1 + p), log-likelihoods (M,) and Hessians."""
    max_theta = 1 / least_sigma if least_sigma else math.inf
    phi = _start(x, lower, upper)
    phi *= np.minimum(1.0, max_theta / phi[:, :1])
    value, log_mass = _loglik(phi, x, lower, upper)
    for _ in range(MAX_STEPS):
        gradient, hessian = _derivatives(phi, x, lower, upper, log_mass)
        step, gain = _newton_step(phi, gradient, hessian, max_theta)
        if (gain < TOLERANCE).all():
            return phi, value, hessian
        new_value, log_mass = _loglik(phi + step, x, lower, upper)
        while (too_far := new_value < value + 0.1 * gain - TOLERANCE).any():
            step[too_far] /= 2
            gain = np.where(too_far, gain / 2, gain)
            new_value, log_mass = _loglik(phi + step, x, lower, upper)
        phi, value = phi + step, new_value
    raise np.linalg.LinAlgError(f"tobit: no maximum in {MAX_STEPS} steps; do the exact values determine the model?")


def _newton_step(
    phi: np.ndarray, gradient: np.ndarray, hessian: np.ndarray, max_theta: float
) -> tuple[np.ndarray, np.ndarray]:
    """Newton steps (M, 1 + p) with theta at most ``max_theta``, and the rise (M,) that each promises."""
    at_limit = phi[:, 0] >= max_theta * (1 - 1e-12)
    fixed = at_limit & (gradient[:, 0] >= 0)
    step = _step(phi, gradient, hessian, fixed)
    if (crosses := at_limit & (step[:, 0] > 0)).any():
        step = _step(phi, gradient, hessian, fixed | crosses)
    if math.isfinite(max_theta):
        beyond = (phi[:, 0] + step[:, 0] > max_theta) & (step[:, 0] > 0)
        step[beyond] *= ((max_theta - phi[beyond, 0]) / step[beyond, 0])[:, None]
    return step, np.einsum("mi,mi->m", gradient, step)


def _step(phi: np.ndarray, gradient: np.ndarray, hessian: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Newton steps (M, 1 + p), which leave theta where it is ``fixed`` (M,), and all of phi where there is no slope."""
    free = np.ones(phi.shape, dtype=bool)
    free[fixed, 0] = False
    slope = np.where(free, gradient, 0.0)
    flat = np.abs(slope * np.maximum(np.abs(phi), 1.0)).max(axis=1) < FLAT
    free[flat], slope[flat] = False, 0.0
    hessian = np.where(free[:, :, None] & free[:, None, :], hessian, -np.eye(phi.shape[1]))
    try:
        return np.asarray(np.linalg.solve(hessian, -slope[..., None])[..., 0])
    except np.linalg.LinAlgError:  # one is singular
        shift = 1e-9 * np.abs(hessian).max(axis=(1, 2), keepdims=True) * np.eye(phi.shape[1])
        return np.asarray(np.linalg.solve(hessian - shift, -slope[..., None])[..., 0])


def _start(x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Starting values (theta, gamma), (M, 1 + p): least squares on bounds and middles of intervals."""
    y = np.where(np.isfinite(lower), lower, upper)
    both = np.isfinite(lower) & np.isfinite(upper) & (lower != upper)
    y[both] = (lower[both] + upper[both]) / 2
    beta = y @ np.linalg.pinv(x).T if x.shape[1] else np.empty((len(y), 0))
    residual = y - beta @ x.T  # its mean is not 0 where a profile leaves the constant out
    theta = 1 / np.maximum(np.sqrt((residual**2).mean(axis=1, keepdims=True)), 1e-12)
    return np.hstack([theta, theta * beta])


def _log_mass(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log(Phi(b) - Phi(a)) for a < b, computed in the lower tail, where it is accurate."""
    from scipy.special import log_ndtr

    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    high = log_ndtr(b)
    with np.errstate(divide="ignore"):  # a range narrower than rounding has no mass; the step is halved there
        return np.asarray(high + np.log1p(-np.exp(log_ndtr(a) - high)))


def _loglik(phi: np.ndarray, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihoods (M,), -inf if theta is not positive, and ``_log_mass`` of the values that are not exact."""
    exact = lower[0] == upper[0]
    theta = np.where(phi[:, :1] > 0, phi[:, :1], 1.0)
    eta = phi[:, 1:] @ x.T
    z = theta * lower[:, exact] - eta[:, exact]
    log_mass = _log_mass(theta * lower[:, ~exact] - eta[:, ~exact], theta * upper[:, ~exact] - eta[:, ~exact])
    value = exact.sum() * (np.log(theta[:, 0]) - LOG_SQRT_2PI) - (z**2).sum(axis=1) / 2 + log_mass.sum(axis=1)
    return np.where(phi[:, 0] > 0, value, -math.inf), log_mass


def _derivatives(
    phi: np.ndarray, x: np.ndarray, lower: np.ndarray, upper: np.ndarray, log_mass: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (M, 1 + p) and Hessian (M, 1 + p, 1 + p) of the log-likelihood at phi = (theta, gamma).

    ``log_mass`` is what ``_loglik`` gives there.
    """
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
    slope = np.zeros((*lower.shape, phi.shape[1]))
    for z, bound, sign in ((za, lower, -1.0), (zb, upper, 1.0)):
        density = sign * np.exp(-0.5 * z**2 - LOG_SQRT_2PI - log_mass)
        # An infinite bound has density 0, so 0 can replace it.
        v = _with_covariates(np.where(np.isfinite(bound), bound, 0.0), x)
        slope += density[..., None] * v
        hessian -= v.swapaxes(1, 2) @ ((density * np.where(np.isfinite(z), z, 0.0))[..., None] * v)
    return gradient + slope.sum(axis=1), hessian - slope.swapaxes(1, 2) @ slope


def _with_covariates(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """values (M, N) beside -x (N, p): (M, N, 1 + p)."""
    m, n = values.shape
    return np.concatenate([values[..., None], np.broadcast_to(-x, (m, n, x.shape[1]))], axis=2)
