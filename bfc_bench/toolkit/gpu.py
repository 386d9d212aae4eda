"""GPUs: what the driver reports, how much memory a process may take, and settings that make results repeatable."""

import ctypes
import os
import sys
from typing import Any

SHARE = 0.9
"""Fraction of a GPU's memory that all its workers take together; the rest is for their contexts."""
JAX_VARIABLE = "XLA_PYTHON_CLIENT_MEM_FRACTION"
"""Environment variable with the fraction of a GPU that JAX may take in one process; JAX reads it."""
TORCH_VARIABLE = "BFC_BENCH_GPU_SHARE"
"""Environment variable with the fraction of a GPU that torch may take in one process; ``prepare_torch`` reads it."""
XLA_FLAGS = {"xla_gpu_deterministic_ops": "true", "xla_gpu_autotune_level": "0"}
"""Flags of XLA that make programs the same in each process and their results the same bits each time; autotuning would
choose kernels by their speed at that moment."""
CUBLAS = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
"""With 8 buffers of 4096 KiB cuBLAS adds up products in one order (its manual, "Results Reproducibility")."""


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, as ``CUDA_VISIBLE_DEVICES`` names them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = count_gpus()
    return list(map(str, range(count))) if named is None else [name.strip() for name in named.split(",")][:count]


def count_gpus() -> int:
    """Number of GPUs that the driver shows to this process."""
    ready, count = driver(), ctypes.c_int(0)
    return count.value if ready is not None and ready.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0


def gpu_name() -> str:
    """The driver's name of the first GPU that this process may use; empty if there is none."""
    ready, name = driver(), ctypes.create_string_buffer(256)
    if ready is None or not count_gpus() or ready.cuDeviceGetName(name, len(name), 0):
        return ""
    return name.value.decode(errors="replace")


def gpu_memory() -> int:
    """Bytes of the smallest GPU that this process may use; 0 if there is none."""
    ready, sizes = driver(), []
    for number in range(count_gpus()):
        total = ctypes.c_size_t(0)
        if ready.cuDeviceTotalMem_v2(ctypes.byref(total), number) == 0:
            sizes.append(total.value)
    return min(sizes, default=0)


def driver() -> Any:
    """The CUDA driver, initialised, or None. Asking it takes milliseconds and imports neither torch nor JAX."""
    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None
    return library if library.cuInit(0) == 0 else None


def shares(workers: int = 1) -> tuple[float, float]:
    """The fractions of a GPU's memory that JAX and torch may take in each of ``workers`` processes.

    Both keep memory that they once took, so neither can use what the other leaves: each gets half of the process's
    share. If the environment says which fraction of the GPU JAX may take, torch gets the rest, but a tenth at least.
    """
    jax = min(float(os.environ.get(JAX_VARIABLE, SHARE / 2)), 0.9 * SHARE)
    return jax / workers, (SHARE - jax) / workers


def share_of_gpu(workers: int) -> dict[str, str]:
    """Environment of one of ``workers`` processes on a GPU that limits the memory of both libraries."""
    jax, torch = shares(workers)
    return {JAX_VARIABLE: f"{jax:.3f}", TORCH_VARIABLE: f"{torch:.3f}"}


def cell_memory(workers: int = 1) -> int:
    """Bytes of GPU memory that a cell may take if ``workers`` processes share the GPU; 0 without a GPU.

    This is what one library may take, the larger of the two.
    """
    return int(gpu_memory() * max(shares(workers)))


def jax_memory() -> int:
    """Bytes of GPU memory that JAX may take in this process; 0 without a GPU."""
    return int(gpu_memory() * shares()[0])


def gpu_variables(present_flags: str) -> dict[str, str]:
    """Environment of a worker on a GPU in which equal cells give equal bits.

    Flags of XLA in ``present_flags`` keep their values, and so does a ``CUBLAS_WORKSPACE_CONFIG`` in the environment.
    """
    named = {flag.lstrip("-").partition("=")[0] for flag in present_flags.split()}
    added = [f"--{name}={value}" for name, value in XLA_FLAGS.items() if name not in named]
    cublas = {name: os.environ.get(name, value) for name, value in CUBLAS.items()}
    return {"XLA_FLAGS": " ".join([*present_flags.split(), *added]), **cublas}
