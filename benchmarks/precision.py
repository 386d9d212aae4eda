"""Checks that products on a device use full float32; the errors of TF32 are 1e-3, those of bfloat16 1e-2."""

from __future__ import annotations

import jax
import numpy as np
import torch

from bfc_bench.seeds import stream
from bfc_bench.toolkit.precision import MATMUL_PRECISION, prepare_jax, torch_device

TOLERANCE = 1e-5


def check_full_float32(device: str) -> None:
    """Raise ``RuntimeError`` unless the relative error of torch's and JAX's products is below ``TOLERANCE``."""
    a = stream("benchmarks", "precision").standard_normal((512, 512))
    exact = a.astype(np.float32).astype(np.float64) @ a.astype(np.float32).astype(np.float64)
    with jax.default_matmul_precision(MATMUL_PRECISION):
        points = jax.device_put(a.astype(np.float32), prepare_jax(device))
        products = {"jax": np.asarray(points @ points)}
    tensor = torch.tensor(a, dtype=torch.float32, device=torch_device(device))
    products["torch"] = (tensor @ tensor).cpu().numpy()
    for library, product in products.items():
        error = float(np.max(np.abs(product - exact)) / np.max(np.abs(exact)))
        if error > TOLERANCE:
            raise RuntimeError(f"{library} on {device}: float32 products must err by < {TOLERANCE:g}. Got {error:.2g}.")
