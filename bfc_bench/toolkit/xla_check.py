"""Checks for ``doctor`` whether XLA compiles correctly for this CPU, by a program in a process that it may end."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from bfc_bench.utils.masking import without_credentials

SECONDS = 300.0
"""Time limit of the program in seconds; it takes about two."""
ROUNDING = 1e-9
"""Relative error that rounding explains."""


def convolution_error() -> float:
    """The relative error of the kernel of a convolution, ReLU and a mean over six images of 8 x 8 x 3, float64."""
    import jax

    from bfc_bench.toolkit.neural_tangents import neural_tangents
    from bfc_bench.toolkit.precision import prepare_jax

    device, stax = prepare_jax("cpu"), neural_tangents().stax
    x = np.random.default_rng(0).standard_normal((6, 8, 8, 3))
    function = stax.serial(stax.Conv(1, (3, 3), padding="SAME"), stax.Relu(), stax.GlobalAvgPool())[2]
    with jax.enable_x64(True):
        program = jax.jit(lambda a, b: function(a, b, "nngp"))
        computed = [np.asarray(program(*jax.device_put((x, x), device))) for _ in range(3)][-1]
    patches = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), (3, 3), (1, 2))
    rows = patches.reshape(6 * 64, 27)
    inner = rows @ rows.T / 27
    norms = np.sqrt(np.diag(inner))
    angle = np.arccos(np.clip(inner / np.outer(norms, norms), -1, 1))
    relu = np.outer(norms, norms) * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
    expected = relu.reshape(6, 64, 6, 64).mean((1, 3))
    return float(np.abs(computed - expected).max() / np.abs(expected).max())


def compiles_wrongly() -> str | None:
    """What is wrong with convolutions in float64 that XLA compiles here, or None."""
    try:
        ran = subprocess.run(
            [sys.executable, "-c", f"from {__name__} import convolution_error; print(convolution_error())"],
            env={**without_credentials(), "JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"a test program did not end in {SECONDS:g} s"
    if ran.returncode:
        return f"a test program ended with {ran.returncode} ({ran.stderr.strip().rpartition(chr(10))[2][:300]})"
    return None if float(ran.stdout) <= ROUNDING else f"a test program errs by {float(ran.stdout):.2g} of its result"
