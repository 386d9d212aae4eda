"""What theory says of sample sizes on the sphere, beside what is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bfc_bench.tasks.targets.harmonics import harmonics_dimension


def harmonics_slope(dims: Sequence[int], p: int) -> float:
    """Least-squares slope of log B(d, p) on log d over two dimensions or more, nan over fewer.

    The exponent of a learner whose N* is proportional to B(d, p), the number of harmonics of degree p, as it is for
    rotation-invariant kernels (NR Theorem 3). It tends to p, from below, only at large d.
    """
    if len(dims) < 2:
        return float("nan")
    sizes = [math.log(harmonics_dimension(d, p)) for d in dims]  # integers beyond NumPy's
    return float(np.polyfit(np.log(dims), sizes, 1)[0])
