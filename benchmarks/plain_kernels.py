"""A plain script in the place of a suite of kernel ridge regressions: ``python plain_kernels.py LARGEST SEEDS``.

It computes a learning curve with scikit-learn, and chooses the ridge at every size on a validation part.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

D, TEST = 20, 1000
RIDGES = [10.0**k for k in range(-6, 4)]
SHARES = (0.05, 0.1, 0.2, 0.375, 0.625, 1.0)
"""Sizes as fractions of the largest."""


def main(largest: int, seeds: int) -> None:
    """Print the test error of the best ridge at every size, for every seed."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        weights = rng.standard_normal((D, 4)) / np.sqrt(D)
        x, test_x = (rng.uniform(-np.sqrt(3), np.sqrt(3), (count, D)) for count in (largest, TEST))
        y, test_y = target(x, weights), target(test_x, weights)
        for n in (int(share * largest) for share in SHARES):
            train_x, valid_x, train_y, valid_y = train_test_split(x[:n], y[:n], test_size=0.2, random_state=seed)
            errors = {}
            for ridge in RIDGES:
                model = KernelRidge(kernel="rbf", gamma=1 / D, alpha=ridge).fit(train_x, train_y)
                errors[ridge] = mean_squared_error(valid_y, model.predict(valid_x))
            best = min(errors, key=errors.__getitem__)
            model = KernelRidge(kernel="rbf", gamma=1 / D, alpha=best).fit(x[:n], y[:n])
            error = mean_squared_error(test_y, model.predict(test_x)) / test_y.var()
            print(f"seed {seed}, n = {n}: ridge {best:g}, test error {error:.4f}")


def target(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """A quadratic of squares, (m,), at x (m, d)."""
    hidden: np.ndarray = (x @ weights) ** 2
    return hidden.sum(axis=1) + 0.3 * (hidden[:, :2].sum(axis=1) + x[:, 0]) ** 2


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
