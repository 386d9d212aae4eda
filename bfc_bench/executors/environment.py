"""The environment that workers are started in, and a session's own, which is put back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bfc_bench.toolkit.xla import VARIABLE, with_instructions
from bfc_bench.utils.masking import is_credential, variables

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
"""Every numerical library reads its thread count from here when it is loaded."""
ENVIRONMENT = {**ONE_THREAD, "MALLOC_MMAP_THRESHOLD_": str(2**26), "MALLOC_TRIM_THRESHOLD_": str(2**26)}
"""Environment of a worker. GNU's C library keeps that much freed memory for the next arrays: fresh pages for every
array cost as much as what is computed in it."""


def worker_variables() -> dict[str, str]:
    """Environment of a worker, with what this process's own has of flags of XLA."""
    flags = with_instructions(os.environ.get(VARIABLE, ""))
    return {**ENVIRONMENT, VARIABLE: f"{flags} {ONE_THREAD[VARIABLE]}".strip()}


class ChangedVariables:
    """Variables of this process that have other values until they are put back."""

    def __init__(self) -> None:
        self._before: dict[str, str | None] = {}

    def set(self, values: Mapping[str, str]) -> None:
        """Give them these values."""
        for name, value in values.items():
            self._before.setdefault(name, os.environ.get(name))
            os.environ[name] = value

    def restore(self) -> None:
        """Have all of them as they were."""
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def inherited(values: Mapping[str, str]) -> Iterator[None]:
    """Inside, what is started gets ``values`` and no credentials; ``os.environ`` stays what it is, for MLflow."""
    kept = [(name, value) for name, value in variables().items() if is_credential(name, value)]
    try:
        for name, _ in kept:
            os.unsetenv(name)
        for name, value in values.items():
            os.putenv(name, value)
        yield
    finally:
        for name in values:
            os.unsetenv(name)
        kept += [(name, os.environ[name]) for name in values if name in os.environ]
        for name, value in kept:
            os.putenv(name, value)
