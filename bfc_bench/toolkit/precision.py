"""Devices and floating-point precision: the one place where they are chosen, set and described.

Matrix products in TensorFloat-32 (relative error 1e-3) or bfloat16 (1e-2) put a false plateau into learning curves of
degree-8 targets, so every learner computes in full float32 or float64.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bfc_bench.errors import OutputError, UsageError
from bfc_bench.toolkit.gpu import TORCH_VARIABLE, count_gpus, gpu_name
from bfc_bench.toolkit.xla import initialise
from bfc_bench.utils.files import cache_folder

if TYPE_CHECKING:
    import jax
    import torch

Device = Literal["cpu", "cuda"]

MATMUL_PRECISION = "highest"
"""What learners pass to ``jax.default_matmul_precision`` around their own computations."""

TORCH_SETTINGS = (
    *("cudnn.rnn.fp32_precision", "cudnn.conv.fp32_precision"),
    *("mkldnn.matmul.fp32_precision", "cuda.matmul.fp32_precision"),
    *("cudnn.benchmark", "cudnn.deterministic", "cudnn.allow_tf32"),
)
"""What ``prepare_torch`` changes of ``torch.backends``, directly or through older settings, which come last."""

COMPILE_CACHE_BYTES = 2**28
"""Size of the cache on disk above which the oldest compiled programs are removed."""


def resolve_device(request: str) -> Device:
    """``"cuda"`` or ``"cpu"`` for ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises ``UsageError`` when ``request`` is none of these, or is ``"cuda"`` where neither torch nor jax sees a GPU.
    """
    if request not in ("auto", "cpu", "cuda"):
        raise UsageError(f"device must be 'auto', 'cpu' or 'cuda'. Got {request!r}.")
    if request == "cpu":
        return "cpu"
    if count_gpus() and (_torch_sees_gpu() or _jax_sees_gpu()):
        return "cuda"
    if request == "cuda":
        raise UsageError(
            "device 'cuda' was asked for, but neither torch nor jax can see a GPU here. Check the NVIDIA driver and "
            "CUDA_VISIBLE_DEVICES, install builds of torch or jax with CUDA (pip install 'bfc-bench[cuda]'), or use "
            "--device cpu."
        )
    return "cpu"


def _torch_sees_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def _jax_sees_gpu() -> bool:
    try:
        prepare_jax("cuda")
    except (ImportError, UsageError):
        return False
    return True


def torch_device(device: str) -> torch.device:
    """The torch device for ``ctx.device``, with full precision set. Raises ``UsageError`` if it does not exist."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError(
            "A learner that uses torch was asked to run on 'cuda', but torch sees no GPU. Use --device cpu."
        )
    prepare_torch(device)
    return torch.device(device)


def prepare_torch(device: str = "cpu") -> None:
    """Turn off TensorFloat-32 and reduced-precision products in this process.

    For a GPU also limit the process to its share of memory, and choose algorithms that give the same bits each time;
    torch warns where there are none.
    """
    import torch

    torch.set_float32_matmul_precision(MATMUL_PRECISION)
    torch.backends.cudnn.allow_tf32 = False
    if device == "cpu":
        return
    if (share := os.environ.get(TORCH_VARIABLE)) and torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(float(share))
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    # Like use_deterministic_algorithms(True, warn_only=True), but without loading torch's compiler.
    torch.set_deterministic_debug_mode("warn")


@contextmanager
def prepared_torch(device: str) -> Iterator[None]:
    """``prepare_torch`` for a block alone, in a process whose other settings of torch are the user's."""
    import torch

    with ExitStack() as restored:  # from the last to the first, so older settings do not overwrite newer ones
        for place in TORCH_SETTINGS:
            owner, _, name = place.rpartition(".")
            with suppress(AttributeError, RuntimeError):  # a torch without it, or set for each operation
                backend = attrgetter(owner)(torch.backends)
                restored.callback(setattr, backend, name, getattr(backend, name))
        restored.callback(torch.set_deterministic_debug_mode, torch.get_deterministic_debug_mode())
        with suppress(RuntimeError):  # where it was set for each backend
            restored.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        prepare_torch(device)
        yield


def prepare_jax(device: str) -> jax.Device:
    """The JAX device for ``ctx.device``, with the compile cache on and without taking all of the GPU's memory.

    Learners call it when they fit, never at import. Compiled programs are kept in the user's cache directory
    (``$XDG_CACHE_HOME/bfc-bench/jax``) unless the user has set another. Make matrix products exact locally, with
    ``jax.default_matmul_precision(MATMUL_PRECISION)`` around a computation, since a global setting would change other
    programs. XLA uses the instruction set of ``toolkit.xla``. Raises ``UsageError`` if JAX has no such device.
    """
    # Leave memory to torch on the same GPU. JAX reads this when it first uses the GPU, so set it before.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    configured = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]  # jax adds its settings at run time
    if configured is None and (folder := _compile_cache()) is not None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)
        # With a bound jax locks the folder, which many workers share.
        jax.config.update("jax_compilation_cache_max_size", COMPILE_CACHE_BYTES)
    try:
        initialise()
        return jax.devices(device)[0]
    except RuntimeError as error:
        raise UsageError(
            f"A learner that uses jax was asked to run on {device!r}, which jax lacks here: {error}. Use --device cpu."
        ) from None


def _compile_cache() -> Path | None:
    """A writable folder for compiled programs, or None."""
    try:
        folder = cache_folder() / "jax"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, OutputError):
        return None
    return folder if os.access(folder, os.W_OK) else None


def precision_state(device: Device = "cpu") -> dict[str, Any]:
    """Precision settings of this process, for provenance, of the libraries that it has already imported.

    With the name of the GPU if it computed on one.
    """
    state: dict[str, Any] = {}
    if device == "cuda" and (name := gpu_name()):
        state["gpu"] = name
    if (torch := sys.modules.get("torch")) is not None:
        state["torch"] = str(torch.__version__)
        state["torch_float32_matmul_precision"] = torch.get_float32_matmul_precision()
        state["torch_cudnn_tf32"] = torch.backends.cudnn.allow_tf32
    if (jax := sys.modules.get("jax")) is not None:
        state["jax"] = jax.__version__
        state["jax_default_matmul_precision"] = jax.config.jax_default_matmul_precision
        state["jax_ensemble_matmul_precision"] = MATMUL_PRECISION
        state["jax_enable_x64"] = jax.config.jax_enable_x64
    return state
