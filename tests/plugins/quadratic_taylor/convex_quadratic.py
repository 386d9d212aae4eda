"""The convex problem that a quadratic Taylor model with constant gates solves: a check of what its training reached.

With sigma'' = 1/2 the model is f_W(h) = h^T M h, M = P - N, where P and N are 1/(4 sqrt m) sum_r w_r w_r^T over the
units with a_r = 1 and with a_r = -1. Let there be m_+ and m_- of them.

By Cauchy-Schwarz sum_{a_r = 1} |w_r|^4 >= (sum_{a_r = 1} |w_r|^2)^2 / m_+ = 16 m (tr P)^2 / m_+, with equality where
the norms |w_r| are equal. They can be made equal without changing P when m_+ >= rank P, since mixing the units of one
sign by an orthogonal matrix leaves P alone and can give any Gram matrix a constant diagonal. Of all P - N = M with
P, N >= 0 the positive and negative parts M_+ and M_- have the least traces. So, for m_+ and m_- at least their ranks,

    min {||W||_{2,4}^4 : W gives M} = 16 m ((tr M_+)^2 / m_+ + (tr M_-)^2 / m_-),

which is 32 ((tr M_+)^2 + (tr M_-)^2) for as many of one sign as of the other, convex in M, and at least 16 ||M||_*^2,
with equality where tr M_+ = tr M_-.

Shapes: n points, D features.
"""

import torch


def convex_minimum(features, y, strength, iterations=3000):
    """The minimum over M (D, D) of mean_i (h_i^T M h_i - y_i)^2 + lambda min ||W||_{2,4}^4.

    For features (n, D), labels (n,), lambda = ``strength``, and an even number of units. Accelerated proximal gradients
    with restarts (Beck & Teboulle 2009; O'Donoghue & Candes 2015), until a step from rest gains less than the share
    1e-12.
    """
    n, size = features.shape
    step = n / (2 * float(torch.linalg.matrix_norm((features @ features.T) ** 2, 2)))

    def errors(matrix):
        return ((features @ matrix) * features).sum(1) - y

    def value(matrix):
        eigenvalues = torch.linalg.eigvalsh(matrix)
        traces = torch.stack([eigenvalues.clamp(min=0).sum(), eigenvalues.clamp(max=0).sum()])
        return float(errors(matrix).square().mean() + 32 * strength * traces.square().sum())

    matrix = ahead = features.new_zeros(size, size)
    best, momentum = value(matrix), 1.0
    for _ in range(iterations):
        gradient = (features.T * errors(ahead)) @ features * (2 / n)
        moved = proximal(ahead - step * gradient, 32 * step * strength)
        reached = value(moved)
        if reached > best * (1 - 1e-12):
            if momentum == 1.0:
                break
            ahead, momentum = matrix, 1.0
            continue
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = moved + (momentum - 1) / following * (moved - matrix)
        matrix, best, momentum = moved, reached, following
    return best


def proximal(matrix, weight):
    """argmin_X |X - Z|_F^2 / 2 + ``weight`` ((tr X_+)^2 + (tr X_-)^2), symmetric, for Z (D, D)."""
    eigenvalues, vectors = torch.linalg.eigh((matrix + matrix.T) / 2)
    shrunk = _shrink(eigenvalues, weight) - _shrink(-eigenvalues, weight)
    return (vectors * shrunk) @ vectors.T


def _shrink(values, weight):
    """argmin_{x >= 0} |x - z|^2 / 2 + weight (sum x)^2: (z - 2 weight s)_+ where s = sum x."""
    ordered = values.clamp(min=0).sort(descending=True).values
    counts = torch.arange(1, len(values) + 1).to(values)
    totals = ordered.cumsum(0) / (1 + 2 * weight * counts)
    return (values - 2 * weight * totals.max()).clamp(min=0)
