"""Random orthonormal rows."""

import numpy as np

from bfc_bench.tasks.base import Float


def orthonormal_rows(rng: np.random.Generator, k: int, d: int) -> Float:
    """k random orthonormal rows, (k, d), distributed like the first k rows of a Haar rotation."""
    q, r = np.linalg.qr(rng.standard_normal((d, k)))
    # Without the signs of r the law of q depends on the sign convention of the QR routine (Mezzadri 2007).
    return (q * np.sign(np.diag(r))).T
