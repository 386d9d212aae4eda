"""Environment variables of workers, and who can read those of the session."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bfc_bench.toolkit.xla import VARIABLE, with_instructions

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "NPROC": "1",
    VARIABLE: "--xla_cpu_multi_thread_eigen=false",
    "MALLOC_MMAP_THRESHOLD_": str(2**26),
    "MALLOC_TRIM_THRESHOLD_": str(2**26),
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""Environment of a worker. Numerical libraries read their number of threads when they are loaded. GNU's C library keeps
this much freed memory for the next arrays, since new pages for every array cost as much as the computation. The
allocator of pyarrow, which scikit-learn imports, starts no thread, so that a process can be forked after the import."""
NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
"""Environment of a worker on the cores: it sees no GPU, on which JAX would allocate memory."""

GET_DUMPABLE, SET_DUMPABLE = 3, 4
"""Linux's PR_GET_DUMPABLE and PR_SET_DUMPABLE."""


def worker_variables() -> dict[str, str]:
    """What a worker's environment has beside the session's, with the XLA flags of this process."""
    flags = with_instructions(os.environ.get(VARIABLE, ""))
    return {**ENVIRONMENT, VARIABLE: f"{flags} {ENVIRONMENT[VARIABLE]}".strip()}


@contextmanager
def not_dumpable() -> Iterator[None]:
    """Inside, other processes of the user without special rights cannot read this one's environment or memory.

    Linux shows ``/proc/PID/environ`` as the process was started, credentials included, and a worker knows the PID of
    its session. Debuggers and profilers cannot attach to this process either. Elsewhere this does nothing.
    """
    if sys.platform != "linux":
        yield
        return
    prctl = ctypes.CDLL(None).prctl
    before = prctl(GET_DUMPABLE, 0, 0, 0, 0)
    prctl(SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        prctl(SET_DUMPABLE, int(before == 1), 0, 0, 0)
