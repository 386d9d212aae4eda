"""Ensembles on a GPU against the eager loop, and against JAX's vmap and scan, on the same GPU."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import jax
import numpy as np
import torch

from benchmarks import at_once
from benchmarks.measurement import Measurement, interleave
from benchmarks.networks import EAGER, MEDIUM, SMALL, geometric_mean, same_loss
from bfc_bench.seeds import stream
from bfc_bench.toolkit.precision import MATMUL_PRECISION, prepare_jax, torch_device

GOAL = 200
"""Smallest accepted ratio to the eager loop at the largest E."""
TOLERANCE = 1e-5
"""Largest relative error of float32 products; those of TF32 are 1e-3, those of bfloat16 1e-2."""


def measure(quick: bool, device: str = "cuda") -> Iterator[Measurement]:
    """S and M for growing E, float32 with TF32 off, wall time; the eager loop trains only one of the models."""
    check_full_float32(device)
    for size, full in ((SMALL, 1000), (MEDIUM, 300)):
        steps = full // 10 if quick else full
        for count in (1, 32) if quick else (1, 32, 128, 1024):
            members = size.members(count)
            ours = partial(size.compiled, members, steps, device=device)
            opponents = {
                f"{EAGER}, same device": (1, partial(size.eager, members[:1], steps, device=device)),
                "JAX, vmap and scan": (count, partial(at_once.vmapped, size, members, steps)),
            }
            for opponent, (trained, theirs) in opponents.items():
                pairs = interleave(ours, theirs, 2, clock=time.perf_counter)
                speed = count * steps / min(pairs.ours)
                losses = same_loss(*(geometric_mean(result[:trained]) for result in pairs.results))
                yield pairs.measurement(
                    f"{size.name}, E={count}, float32, {device}",
                    opponent,
                    "us/step",
                    goal=GOAL if (count, trained) == (1024, 1) else None,
                    ours_scale=1e6 / (count * steps),
                    theirs_scale=1e6 / (trained * steps),
                    note=f"{size}, {steps} steps; {speed:.3g} models x steps per second; {losses}",
                )


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
