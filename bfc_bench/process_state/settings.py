"""Detects and restores global settings of Python, NumPy, torch and JAX that a learner has changed."""

from __future__ import annotations

import gc
import operator
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NPROC", "XLA_FLAGS"),
    *("JAX_PLATFORMS", "JAX_ENABLE_X64", "JAX_DEFAULT_MATMUL_PRECISION", "JAX_DISABLE_JIT", "CUDA_VISIBLE_DEVICES"),
    *("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG", "PATH", "HOME"),
)
"""Environment variables that change what libraries do when they are loaded later."""
_NAMES = tuple(map(os.fsencode, VARIABLES))
LIMITS = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_STACK")
"""Limits of a process that are compared."""
UNKNOWN = object()
"""Marks a setting whose value at import depends on the machine."""


@dataclass(frozen=True)
class GlobalSetting:
    """A setting. ``write`` takes what ``read`` returns."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    differs: Callable[[Any, Any], bool] = operator.ne
    """Whether a change from the first value to the second affects others."""
    default: Any = UNKNOWN
    """Value at import, unless the environment has ``variable``."""
    variable: str = ""

    @property
    def at_import(self) -> Any:
        """The value when its library was imported, or the present one if that is unknown."""
        return self.read() if self.default is UNKNOWN or self.variable in os.environ else self.default

    def restore(self, value: Any) -> None:
        """Write a value, if possible: some settings need the main thread or privileges."""
        with suppress(Exception):
            self.write(value)


class GlobalSettings:
    """The settings of Python and of loaded libraries, with their recorded values."""

    def __init__(self) -> None:
        self._known: list[GlobalSetting] = [*_of_python(), *_of_numpy()]
        self._libraries: set[str] = set()
        self.snapshot()

    @property
    def known(self) -> tuple[GlobalSetting, ...]:
        """The settings that are compared."""
        return tuple(self._known)

    def snapshot(self) -> None:
        """Record the present values."""
        self._known += self._of_new_libraries()
        self._values = [setting.read() for setting in self._known]

    def track_new(self) -> None:
        """Also record libraries that were loaded since the snapshot."""
        new = self._of_new_libraries()
        self._known += new
        self._values += [setting.read() for setting in new]

    def restore(self) -> list[str]:
        """Restore changed settings. Returns their names."""
        if new := self._of_new_libraries():
            self._known += new
            self._values += [setting.at_import for setting in new]
        changed = []
        for setting, value in zip(self._known, self._values, strict=True):
            if setting.differs(value, setting.read()):
                setting.restore(value)
                changed.append(setting.name)
        return changed

    def _of_new_libraries(self) -> list[GlobalSetting]:
        new = [name for name in LIBRARIES if name not in self._libraries and name in sys.modules]
        self._libraries.update(new)
        return [setting for name in new for setting in LIBRARIES[name](sys.modules[name])]


def _of_python() -> list[GlobalSetting]:
    return [
        # A higher limit is harmless; some libraries raise it.
        GlobalSetting("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit, operator.gt),
        GlobalSetting("the switch interval of threads", sys.getswitchinterval, sys.setswitchinterval),
        GlobalSetting("the trace function", sys.gettrace, sys.settrace, operator.is_not),
        GlobalSetting("the profile function", sys.getprofile, sys.setprofile, operator.is_not),
        GlobalSetting("the garbage collector", gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
        GlobalSetting("sys.stdout", partial(getattr, sys, "stdout"), partial(setattr, sys, "stdout"), operator.is_not),
        GlobalSetting("sys.stderr", partial(getattr, sys, "stderr"), partial(setattr, sys, "stderr"), operator.is_not),
        GlobalSetting("sys.path", lambda: list(sys.path), partial(operator.setitem, sys.path, slice(None)), _not_first),
        GlobalSetting("the working directory", _folder, os.chdir),
        GlobalSetting("warnings.filters", _errors, _make_errors, lambda before, now: bool(set(now) - set(before))),
        GlobalSetting("subnormal numbers", lambda: sys.float_info.min / 2 > 0, _keep_subnormals),
        *(
            GlobalSetting(f"the handler of {sign.name}", partial(signal.getsignal, sign), partial(signal.signal, sign))
            for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        ),
        GlobalSetting("os.environ", _variables, _set_variables),
        *(
            GlobalSetting(
                f"resource.{name}", partial(resource.getrlimit, which), partial(resource.setrlimit, which), _lower
            )
            for name, which in ((name, getattr(resource, name, None)) for name in LIMITS)
            if which is not None
        ),
    ]


def _of_numpy() -> list[GlobalSetting]:
    return [
        GlobalSetting("numpy.geterr()", np.geterr, lambda errors: np.seterr(**errors)),
        GlobalSetting("numpy.getbufsize()", np.getbufsize, np.setbufsize),
    ]


def _of_torch(torch: Any) -> list[GlobalSetting]:
    override = "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"
    cudnn = torch.backends.cudnn
    return [
        GlobalSetting(
            "torch.get_default_dtype()", torch.get_default_dtype, torch.set_default_dtype, default=torch.float32
        ),
        GlobalSetting(
            "torch.get_default_device()", torch.get_default_device, torch.set_default_device, default=_cpu(torch)
        ),
        GlobalSetting("torch.is_grad_enabled()", torch.is_grad_enabled, torch.set_grad_enabled, default=True),
        GlobalSetting(
            "torch.is_anomaly_enabled()", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly, default=False
        ),
        GlobalSetting("torch.get_num_threads()", torch.get_num_threads, torch.set_num_threads),
        GlobalSetting(
            "torch.get_float32_matmul_precision()",
            torch.get_float32_matmul_precision,
            torch.set_float32_matmul_precision,
            default="highest",
            variable=override,
        ),
        # 0 takes the fastest algorithm, 1 and 2 a deterministic one; without one, 1 warns and 2 raises.
        GlobalSetting(
            "torch.get_deterministic_debug_mode()",
            torch.get_deterministic_debug_mode,
            torch.set_deterministic_debug_mode,
            _not_for_gpus,
            default=0,
        ),
        *(
            GlobalSetting(
                f"torch.is_autocast_enabled({device!r})",
                partial(torch.is_autocast_enabled, device),
                partial(torch.set_autocast_enabled, device),
                default=False,
            )
            for device in ("cpu", "cuda")
        ),
        # bfc_bench.toolkit.precision switches TensorFloat-32 off itself, which must not be reported.
        GlobalSetting(
            "torch.backends.cudnn.allow_tf32",
            partial(getattr, cudnn, "allow_tf32"),
            partial(setattr, cudnn, "allow_tf32"),
            operator.lt,
            default=True,
        ),
        *(
            GlobalSetting(
                f"torch.backends.cudnn.{name}",
                partial(getattr, cudnn, name),
                partial(setattr, cudnn, name),
                default=value,
            )
            for name, value in (("enabled", True), ("benchmark", False))
        ),
        GlobalSetting(
            "torch.backends.cudnn.deterministic",
            partial(getattr, cudnn, "deterministic"),
            partial(setattr, cudnn, "deterministic"),
            _not_for_gpus,
            default=False,
        ),
    ]


def _of_jax(jax: Any) -> list[GlobalSetting]:
    flags = {
        "jax_enable_x64": False,
        "jax_default_matmul_precision": None,
        "jax_default_device": None,
        "jax_disable_jit": False,
        "jax_debug_nans": False,
        "jax_debug_infs": False,
        "jax_numpy_dtype_promotion": "standard",
        "jax_numpy_rank_promotion": "allow",
        "jax_default_prng_impl": UNKNOWN,
        "jax_threefry_partitionable": UNKNOWN,
        "jax_random_seed_offset": 0,
    }
    return [
        GlobalSetting(
            f"jax.config.{flag}",
            partial(getattr, jax.config, flag),
            partial(jax.config.update, flag),
            default=default,
            variable=flag.upper(),
        )
        for flag, default in flags.items()
        if hasattr(jax.config, flag)
    ]


LIBRARIES: Mapping[str, Callable[[Any], list[GlobalSetting]]] = {"torch": _of_torch, "jax": _of_jax}
"""Settings of libraries that may not be loaded, by module name."""


def _not_first(before: list[str], now: list[str]) -> bool:
    """Whether modules may be imported from elsewhere. Folders that are appended hide nothing."""
    return now[: len(before)] != before


def _lower(before: tuple[int, int], now: tuple[int, int]) -> bool:
    """Whether a soft limit of the process is lower than before."""
    (soft, _), (now_soft, _) = before, now
    return now_soft != resource.RLIM_INFINITY and (soft == resource.RLIM_INFINITY or now_soft < soft)


def _not_for_gpus(before: int, now: int) -> bool:
    """Whether the mode has changed, except to 1 on a GPU, which ``prepare_torch`` sets."""
    return now != before and not (now == 1 and sys.modules["torch"].cuda.is_initialized())


def _folder() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


def _errors() -> list[Any]:
    """The filters that turn a warning into an exception. Those that silence one are harmless."""
    return [item for item in warnings.filters if item[0] == "error"]


def _make_errors(before: list[Any]) -> None:
    warnings.filters[:] = [item for item in warnings.filters if item[0] != "error" or item in before]  # type: ignore
    warnings._filters_mutated()  # type: ignore[attr-defined]  # clears the cache of decisions


def _keep_subnormals(keep: bool) -> None:
    """Set whether numbers below 2.2e-308 are kept or flushed to 0. Only torch can change this."""
    sys.modules["torch"].set_flush_denormal(not keep)


def _variables() -> dict[bytes, bytes]:
    data = os.environb._data  # type: ignore[attr-defined]  # ten times as fast as its public methods
    return {name: data[name] for name in _NAMES if name in data}


def _set_variables(before: Mapping[bytes, bytes]) -> None:
    for name in _NAMES:
        os.environb.pop(name, None)
    os.environb.update(before)


def _cpu(torch: Any) -> Any:
    return torch.device("cpu")
