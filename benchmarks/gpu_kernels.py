"""Kernels on a GPU: matrices beside the bare product of their points, and a learning curve beside one core."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
import torch

from benchmarks.measurement import Measurement, Spread, interleave
from bfc_bench.seeds import stream
from bfc_bench.toolkit.kernels.base import Kernel
from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.toolkit.precision import prepare_torch
from bfc_bench.toolkit.ridge import RidgeCurve

DIMENSION, TARGETS = 30, 8


def measure(quick: bool, device: str = "cuda") -> Iterator[Measurement]:
    """Wall time of lower triangles for d = 30, and of curves of five sizes with one ridge in float64."""
    prepare_torch(device)
    sizes = (500, 1000) if quick else (4000, 16_000)
    for n, dtype, name in product(sizes, (torch.float32, torch.float64), ("ntk", "nngp", "poly")):
        x, kernel = torch.tensor(_points(n), dtype=dtype, device=device), make_kernel(name, 1 / DIMENSION)
        what = f"{name.upper()} matrix, n={n}, {str(dtype).removeprefix('torch.')}, {device}"
        pairs = interleave(partial(_gram, kernel, x), partial(_products, x), 5, clock=time.perf_counter)
        yield pairs.measurement(what, "x @ x.T alone", "ms", ours_scale=1e3, theirs_scale=1e3)
    for n in (500, 1000) if quick else (1000, 4000, 16_000):
        rng = stream("benchmarks", "gpu-kernels", "targets", n)
        x, y = torch.tensor(_points(n)), torch.tensor(rng.standard_normal((n, TARGETS)))
        on_device = partial(_solve, x.to(device), y.to(device))
        what = f"NTK curve to n={n}, float64, {device}"
        if n <= 4000:
            pairs = interleave(on_device, partial(_solve, x, y), 2 if quick else 3, clock=time.perf_counter)
            np.testing.assert_allclose(*pairs.results, rtol=1e-6, atol=1e-8)
            yield pairs.measurement(what, "the same, one core", "s")
        else:
            times = interleave(on_device, lambda: None, 3, clock=time.perf_counter).ours
            yield Measurement(what, "s", Spread.of(times), len(times))


def _points(n: int) -> np.ndarray:
    return stream("benchmarks", "gpu-kernels", n).standard_normal((n, DIMENSION))


def _gram(kernel: Kernel, x: torch.Tensor) -> float:
    """One entry of the matrix; reading it waits for the GPU."""
    return float(kernel.gram(kernel.points(x), mirror=False)[-1, 0])


def _products(x: torch.Tensor) -> float:
    return float((x @ x.T)[-1, 0])


def _solve(x: torch.Tensor, y: torch.Tensor) -> np.ndarray:
    """Coefficients at all n points, (n, r); copying them to the CPU waits for the GPU."""
    kernel = make_kernel("ntk", 1 / DIMENSION)
    curve = RidgeCurve(kernel.gram(kernel.points(x), mirror=False))
    sizes = [len(x) * k // 5 for k in range(1, 6)]
    return curve.solve(y, sizes, ridge=1e-2).weights[:, -1].cpu().numpy()
