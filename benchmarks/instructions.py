"""``python -m benchmarks.instructions``: repeats work with AVX2 only and with all instructions of the CPU.

    python -m benchmarks.instructions run COMMAND...           a command under both
    python -m benchmarks.instructions suites SUITE... [--into FOLDER]    suites under both, their results compared

This replaces a comparison of two machines. Statuses, verdicts and N* must be equal; errors may differ by rounding.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bfc_bench import open_store
from bfc_bench.run.provenance import processor
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.toolkit.xla import INSTRUCTIONS, VARIABLE, with_instructions

SAME_N_STAR = 0.01
"""Relative difference up to which two N* count as equal, because N* is interpolated between tested sizes."""
SMALLEST = 1e-8
"""Errors below this are rounding errors; their differences are taken relative to it."""


def environments() -> dict[str, dict[str, str]]:
    """Environment variables for each instruction set."""
    flags = os.environ.get(VARIABLE, "")
    return {
        "AVX2": {
            VARIABLE: with_instructions(flags),
            "ATEN_CPU_CAPABILITY": "avx2",
            "ONEDNN_MAX_CPU_ISA": "AVX2",
            "MKL_ENABLE_INSTRUCTIONS": "AVX2",
            "OPENBLAS_CORETYPE": "Haswell",
            "NPY_DISABLE_CPU_FEATURES": " ".join(_wide_loops()),
        },
        "all": {VARIABLE: f"{flags} {INSTRUCTIONS}=AMX_FP16".strip()},
    }


def _wide_loops() -> list[str]:
    """Instruction sets beyond AVX2 that NumPy would use on this CPU, and is told not to."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if name.startswith(("AVX512", "X86_V4")) and __cpu_features__.get(name)]


def run(command: Sequence[str]) -> int:
    """Run a command with both instruction sets and return the larger exit code."""
    codes = []
    for name, variables in environments().items():
        print(f"instructions: {name} on {processor()}", flush=True)
        codes.append(subprocess.run(command, env={**os.environ, **variables}, check=False).returncode)
    return max(map(abs, codes))


def suites(names: Sequence[str], folder: Path, options: Sequence[str]) -> int:
    """Run suites with both instruction sets; return 0 if statuses, verdicts and N* agree, otherwise 1."""
    for instructions, variables in environments().items():
        for name in names:
            command = [sys.executable, "-m", "bfc_bench", "run", name, "--no-mlflow", "--store", folder / instructions]
            subprocess.run(
                [*command, *options], env={**os.environ, **variables}, check=False, stdout=subprocess.DEVNULL
            )
    print(f"{processor()}: AVX2 against all that it has")
    with open_store(folder / "AVX2") as one, open_store(folder / "all") as other:
        return max(int(compare(name, one[name], other[name])) for name in names)


def compare(name: str, one: StoredSuite, other: StoredSuite) -> bool:
    """Print how the results of a suite differ, and return whether statuses, verdicts or N* do."""
    first, second = ({_key(row): row for row in suite.each()} for suite in (one, other))
    pairs = [(first[key], second[key]) for key in first if key in second]
    wrong = [f"status of {_key(a)}: {a.status} | {b.status}" for a, b in pairs if a.status != b.status]
    if alone := len(first.keys() ^ second.keys()):
        wrong.append(f"{alone} cells are in one store only")
    verdicts = zip(one.claims(), other.claims(), strict=True)
    wrong += [f"verdict of {a.id}: {a.verdict} | {b.verdict}" for a, b in verdicts if a.verdict != b.verdict]
    ranges = [_n_stars(suite) for suite in (one, other)]
    for place in sorted(ranges[0].keys() | ranges[1].keys()):
        a, b = (of.get(place, (math.nan, math.nan)) for of in ranges)
        if not np.allclose(a, b, rtol=SAME_N_STAR, atol=0):
            wrong.append(f"N* of {place}: {a} | {b}")
    print(f"{name}: {len(pairs)} cells: " + ("; ".join(wrong) or "statuses, verdicts and N* are equal"))
    differences: dict[str, list[float]] = {}
    for a, b in pairs:
        if a.nmse is not None and b.nmse is not None:
            differences.setdefault(a.label, []).append(abs(a.nmse - b.nmse) / max(a.nmse, b.nmse, SMALLEST))
    for label, sizes in sorted(differences.items()):
        equal = np.mean(np.array(sizes) == 0)
        print(
            f"  {label:30} NMSE: {equal:4.0%} the same bits, differ by {np.median(sizes):.0e}, at most {max(sizes):.0e}"
        )
    return bool(wrong)


def _key(row: object) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in ("task", "label", "d", "n", "replicate"))


def _n_stars(suite: StoredSuite) -> dict[str, tuple[float, float]]:
    """The range of N* of each replicate."""
    return {
        f"{of.label} on {of.task}, d = {of.d}, eps = {of.level:g}, replicate {each.replicate}": (each.lo, each.hi)
        for of in suite.thresholds()
        for each in of.replicates
    }


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("run").add_argument("command", nargs=argparse.REMAINDER)
    both = verbs.add_parser("suites")
    both.add_argument("suite", nargs="+")
    both.add_argument("--into", type=Path, help="folder for the two stores; unfinished runs there are continued")
    both.add_argument("--set", action="append", default=[], help="as of bfc-bench run")
    given = parser.parse_args()
    if given.verb == "run":
        return run(given.command)
    options = [text for change in given.set for text in ("--set", change)]
    if given.into:
        return suites(given.suite, given.into, options)
    with TemporaryDirectory() as folder:
        return suites(given.suite, Path(folder), options)


if __name__ == "__main__":
    raise SystemExit(main())
