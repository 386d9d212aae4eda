"""Checks whether XLA compiles correctly for this CPU, by small programs with known answers in a process of their own.

Wrong code may end its process, so the programs run before any learner does, once for each release of the compiler, CPU
and flags. Answers are kept in the user's cache folder.
"""

from __future__ import annotations

import fcntl
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

import numpy as np

from bfc_bench.errors import BenchError
from bfc_bench.toolkit.libraries import missing, release
from bfc_bench.toolkit.xla import INSTRUCTIONS, VARIABLE, flags_to_come
from bfc_bench.utils.files import cache_folder, make_folder, write_file
from bfc_bench.utils.masking import without_credentials

SECONDS = 300.0
"""Time limit of a program in seconds; it takes about two."""
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
"""Signals with which wrong code ends a process; other signals come from outside."""
COMPILERS = ("jax", "jaxlib", "neural-tangents", "numpy")
"""Distributions on whose releases an answer depends."""


def training() -> float:
    """The relative error of three steps of the compiled training loop, float32, on two quadratic networks."""
    from bfc_bench.toolkit.ensemble import Member, Recipe, train

    rng = np.random.default_rng(0)
    x, weights = rng.standard_normal((64, 5)), rng.standard_normal((2, 5, 7))
    y = (x**2).sum(1)
    recipe = Recipe(lambda w, x: ((x @ w) ** 2).sum(1), None, optimizer="sgd", schedule=lambda progress: 1.0 + progress)
    trained = train(recipe, [Member(w, x, y, seed=0, lr=1e-4) for w in weights], 3)
    errors = []
    for w, result in zip(weights, trained, strict=True):
        moved, velocity = w, np.zeros_like(w)
        for step in range(3):
            slope = 2 * (((x @ moved) ** 2).sum(1) - y) / len(x)
            velocity = 0.9 * velocity + 2 * x.T @ (slope[:, None] * (x @ moved))
            moved = moved - 1e-4 * (1 + step / 3) * velocity
        errors.append(np.abs(result.params - moved).max() / np.abs(moved).max())
    return float(max(errors))


def convolutions() -> float:
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


PROGRAMS: Mapping[str, tuple[Callable[[], float], float, str]] = MappingProxyType(
    {
        "jax": (training, 1e-4, "the training of networks"),
        "neural-tangents": (convolutions, 1e-9, "convolutions in float64"),
    }
)
"""By library: the test program, the relative error that rounding explains, and what it tests."""


def miscompiled(libraries: Iterable[str]) -> str | None:
    """Why a learner that uses these libraries must not run on this CPU, and what to do; None if it may.

    The first call on a machine takes some seconds.
    """
    reasons = [
        reason for library in sorted(PROGRAMS.keys() & set(libraries)) if (reason := _reason(library, flags_to_come()))
    ]
    return "; ".join(reasons) or None


def unusable(libraries: Iterable[str], device: str) -> str | None:
    """Why a learner that uses these libraries cannot run in this process: one is missing or compiles wrongly."""
    libraries = set(libraries)
    return missing(libraries) or (miscompiled(libraries) if device == "cpu" else None)


@cache
def _reason(library: str, flags: str) -> str:
    """Why code that ``library`` compiles under these flags cannot be trusted here; empty if it can."""
    conditions = "\n".join([library, flags, *map(str, map(release, COMPILERS)), sys.version, _processor()])
    with _locked_answer_file(blake2b(conditions.encode(), digest_size=8).hexdigest()) as file:
        if file is not None and file.exists():
            wrong, failed = file.read_text(), ""
        else:
            wrong, failed = _run(library, flags)
            if file is not None and not failed:
                write_file(file, wrong.encode())
    jaxlib, tested = f"XLA of jaxlib {release('jaxlib')}", PROGRAMS[library][2]
    if wrong:
        return (
            f"{jaxlib} compiles {tested} wrongly for this CPU: a test program {wrong}. "
            f"Take another release of jaxlib, or start with {VARIABLE}={INSTRUCTIONS}=AVX2 in the environment"
        )
    return failed and f"{jaxlib} cannot be tried on {tested}: a test program {failed}"


def _run(library: str, flags: str) -> tuple[str, str]:
    """What is wrong with the compiled code, and what else stopped the program; empty if nothing."""
    try:
        finished = subprocess.run(
            [sys.executable, "-m", "bfc_bench.toolkit.canary", library],
            env={**without_credentials(), VARIABLE: flags, "JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return "", f"did not end in {SECONDS:g} s"
    except OSError as error:
        return "", f"cannot be started ({error.strerror})"
    if finished.returncode == 0:
        return finished.stdout.strip(), ""
    if -finished.returncode in FAULTS:
        return f"ends its process by {signal.Signals(-finished.returncode).name}", ""
    return "", f"ended with {finished.returncode} ({finished.stderr.strip().rpartition(chr(10))[2][:300]})"


@contextmanager
def _locked_answer_file(name: str) -> Iterator[Path | None]:
    """The file of an answer, locked so that one process at a time runs the program; None if it cannot be kept."""
    try:
        folder = cache_folder() / "canary"
        make_folder(folder)
        lock: TextIO = (folder / f"{name}.lock").open("a")
    except (OSError, BenchError):
        yield None
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder / name


def _processor() -> str:
    """Name and features of the CPU, as far as the system reports them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))


def main(library: str) -> None:
    """Print what is wrong with a program, or an empty line."""
    program, tolerance, _ = PROGRAMS[library]
    error = program()
    print("" if error <= tolerance else f"errs by {error:.2g} of its result, where rounding explains {tolerance:g}")


if __name__ == "__main__":
    main(sys.argv[1])
