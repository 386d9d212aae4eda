"""Kernel ridge regression on a GPU against one core, by n: matrix, factorisation and solution of a learning curve."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from benchmarks.measurement import Measurement, Spread, interleave
from bfc_bench.seeds import stream
from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.toolkit.ridge import RidgeCurve

DIMENSION, TARGETS = 30, 8


def measure(quick: bool, device: str = "cuda") -> Iterator[Measurement]:
    """NTK of one hidden layer, float64, 8 targets, 5 sizes up to n, one ridge; wall time. One core only to n = 4000."""
    for n in (500, 1000) if quick else (1000, 4000, 16_000):
        rng = stream("benchmarks", "gpu-kernels", n)
        x, y = torch.tensor(rng.standard_normal((n, DIMENSION))), torch.tensor(rng.standard_normal((n, TARGETS)))
        on_device = partial(_solve, x.to(device), y.to(device))
        what = f"NTK curve to n={n}, float64, {device}"
        if n <= 4000:
            pairs = interleave(on_device, partial(_solve, x, y), 2 if quick else 3, clock=time.perf_counter)
            np.testing.assert_allclose(*pairs.results, rtol=1e-6, atol=1e-8)
            yield pairs.measurement(what, "the same, one core", "s")
        else:
            times = interleave(on_device, lambda: None, 3, clock=time.perf_counter).ours
            yield Measurement(what, "s", Spread.of(times), len(times))


def _solve(x: torch.Tensor, y: torch.Tensor) -> np.ndarray:
    """Coefficients at all n points, (n, r); copying them to the CPU waits for the GPU."""
    kernel = make_kernel("ntk", 1 / DIMENSION)
    curve = RidgeCurve(kernel.gram(kernel.points(x), mirror=False))
    sizes = [len(x) * k // 5 for k in range(1, 6)]
    return curve.solve(y, sizes, ridge=1e-2).weights[:, -1].cpu().numpy()
