"""Small fits of other learners' kinds, whose results must be the same before and after the fits of a tested learner.

No list of what a learner may change in its process can be complete. These fits find what changes the numbers of others
through whatever it changes: a method of a layer, a hook on all modules, an optimizer, the direction of rounding.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import numpy as np

from bfc_bench.errors import describe_error
from bfc_bench.toolkit.libraries import missing

POINTS = np.linspace(-1.0, 1.0, 24).reshape(8, 3) ** 3
LABELS = POINTS[:, 0] * POINTS[:, 1] - 0.3 * POINTS[:, 2]


def other_fits() -> dict[str, str]:
    """Digest of the result of each fit by name, or its error, for the libraries that are installed."""
    return {name: _digest(fit) for name, (library, fit) in FITS.items() if not missing({library})}


def _digest(fit: Callable[[], Any]) -> str:
    try:
        return blake2b(np.asarray(fit()).tobytes(), digest_size=8).hexdigest()
    except Exception as error:
        return describe_error(error)


def _numpy() -> np.ndarray:
    weights = np.linalg.lstsq(POINTS, LABELS, rcond=None)[0]
    return np.append(weights, [np.var(LABELS), np.cumsum(np.full(100, 0.1))[-1], np.linalg.norm(POINTS @ weights)])


def _scipy() -> np.ndarray:
    from scipy.optimize import minimize

    return np.asarray(minimize(lambda w: float(np.sum((np.tanh(POINTS @ w) - LABELS) ** 2)), np.zeros(3)).x)


def _torch() -> np.ndarray:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    x, y = torch.tensor(POINTS, dtype=torch.float32), torch.tensor(LABELS[:, None], dtype=torch.float32)
    for optimizer in (torch.optim.Adam(net.parameters(), 0.01), torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)):
        for _ in range(3):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
    return np.asarray(net(x).detach())


@cache
def _jax_gradient() -> Callable[..., Any]:
    import jax

    return jax.jit(jax.grad(lambda w, x, y: ((jax.numpy.tanh(x @ w) - y) ** 2).mean()))


def _jax() -> np.ndarray:
    return np.asarray(_jax_gradient()(np.ones(3, np.float32), np.float32(POINTS), np.float32(LABELS)))


def _sklearn() -> np.ndarray:
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import Ridge

    forest = RandomForestRegressor(3, random_state=0).fit(POINTS, LABELS)
    return np.append(forest.predict(POINTS), Ridge(0.1).fit(POINTS, LABELS).coef_)


def _json() -> np.ndarray:
    return np.frombuffer(json.dumps(LABELS.tolist()).encode(), np.uint8)


FITS: Mapping[str, tuple[str, Callable[[], Any]]] = MappingProxyType(
    {
        "least squares of NumPy": ("numpy", _numpy),
        "a minimum of SciPy": ("scipy", _scipy),
        "a network of torch": ("torch", _torch),
        "a compiled gradient of JAX": ("jax", _jax),
        "a forest and a ridge of scikit-learn": ("scikit-learn", _sklearn),
        "numbers as JSON": ("numpy", _json),
    }
)
"""By name: the distribution that the fit needs, and the fit."""
