"""GPUs: what their driver says of them, how much memory a process may take, and what makes results repeatable."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

SHARE = 0.9
"""Share of a GPU's memory that the workers on it take together; the rest is for their contexts."""
JAX_VARIABLE = "XLA_PYTHON_CLIENT_MEM_FRACTION"
"""Environment variable with the share of one process that JAX may take, which reads it itself."""
TORCH_VARIABLE = "BFC_BENCH_GPU_SHARE"
"""Environment variable with the share of one process that torch may take, which ``prepare_torch`` reads."""
XLA_FLAGS = {"xla_gpu_deterministic_ops": "true", "xla_gpu_autotune_level": "0"}
"""Flags of XLA with which a program gives the same bits each time, and is the same program in each process: autotuning
chooses kernels by how long they take at that moment."""
CUBLAS = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
"""With 8 buffers of 4096 KiB products of cuBLAS add up in one order (its manual, "Results Reproducibility")."""


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, as ``CUDA_VISIBLE_DEVICES`` names them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = count_gpus()
    return list(map(str, range(count))) if named is None else [name.strip() for name in named.split(",")][:count]


def count_gpus() -> int:
    """How many GPUs the driver shows to this process."""
    ready, count = driver(), ctypes.c_int(0)
    return count.value if ready is not None and ready.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0


def gpu_name() -> str:
    """What the first GPU that this process may use is called by its driver; empty where there is none."""
    ready, name = driver(), ctypes.create_string_buffer(256)
    if ready is None or not count_gpus() or ready.cuDeviceGetName(name, len(name), 0):
        return ""
    return name.value.decode(errors="replace")


def gpu_memory() -> int:
    """Bytes of memory of the GPU, of those that this process may use, which has least; 0 where there is none."""
    ready, found = driver(), []
    for number in range(count_gpus()):
        total = ctypes.c_size_t(0)
        if ready.cuDeviceTotalMem_v2(ctypes.byref(total), number) == 0:
            found.append(total.value)
    return min(found, default=0)


def driver() -> Any:
    """The CUDA driver, ready, or None: asked itself, in milliseconds, a machine without a GPU imports neither torch nor
    jax.
    """
    try:
        found = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None
    return found if found.cuInit(0) == 0 else None


def shares(workers: int = 1) -> tuple[float, float]:
    """Of JAX and of torch, in each of so many processes on one GPU: what share of its memory either may take.

    Both keep what they have once had, so neither may count on what the other leaves: each has half of the process's
    share. Where the environment says what JAX may take, a share of the whole GPU, that is JAX's and torch has the rest.
    """
    try:
        jax = min(max(float(os.environ[JAX_VARIABLE]), 0.0), SHARE)
    except (KeyError, ValueError):
        jax = SHARE / 2
    return jax / workers, (SHARE - jax) / workers


def share_of_gpu(workers: int) -> dict[str, str]:
    """Environment of one of so many processes on one GPU: neither library takes more than its part of the memory."""
    jax, torch = shares(workers)
    return {JAX_VARIABLE: f"{jax:.3f}", TORCH_VARIABLE: f"{torch:.3f}"}


def cell_memory(workers: int = 1) -> int:
    """Bytes of a GPU's memory that a cell may take where so many processes share it: what one library may take, the
    larger of the two; 0 where no GPU is visible.
    """
    return int(gpu_memory() * max(shares(workers)))


def jax_memory() -> int:
    """Bytes of the GPU's memory that JAX may take in this process; 0 where no GPU is visible."""
    return int(gpu_memory() * shares()[0])


def gpu_variables(present_flags: str) -> dict[str, str]:
    """Environment of a worker on a GPU in which equal cells give equal bits.

    ``present_flags`` are the flags of XLA that it has already: those stay, and one that is named there has the value
    that it has there. So has a ``CUBLAS_WORKSPACE_CONFIG`` that the user has set.
    """
    named = {flag.lstrip("-").partition("=")[0] for flag in present_flags.split()}
    added = [f"--{name}={value}" for name, value in XLA_FLAGS.items() if name not in named]
    cublas = {name: os.environ.get(name, value) for name, value in CUBLAS.items()}
    return {"XLA_FLAGS": " ".join([*present_flags.split(), *added]), **cublas}
