"""``python -m benchmarks.instructions``: the same work by the instructions of AVX2, then by all that the CPU has.

    python -m benchmarks.instructions run COMMAND...           a command under both
    python -m benchmarks.instructions suites SUITE... [--into FOLDER]    suites under both, their results compared

Two machines are rarely at hand; two instruction sets are. Statuses, verdicts and N* must be equal, and errors differ by
what rounding makes of each learner.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bfc_bench import open_store
from bfc_bench.run.provenance import processor
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.toolkit.xla import BEST, INSTRUCTIONS, VARIABLE, with_instructions

SAME_N_STAR = 0.01
"""Relative difference up to which two N* count as equal. It is a choice: N* is interpolated between tested sizes."""
SMALLEST = 1e-8
"""Errors below it are rounding itself and are compared with this number."""


def environments() -> dict[str, dict[str, str]]:
    """The environment variables for each instruction set. NumPy takes the names of those that it must not use."""
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
        "all": {VARIABLE: f"{flags} {INSTRUCTIONS}={BEST}".strip()},
    }


def _wide_loops() -> list[str]:
    """What NumPy may use beyond AVX2 on this CPU."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if name.startswith(("AVX512", "X86_V4")) and __cpu_features__.get(name)]


def run(command: Sequence[str]) -> int:
    """The greatest exit code of a command under both."""
    codes = []
    for name, variables in environments().items():
        print(f"instructions: {name} on {processor()}", flush=True)
        codes.append(subprocess.run(command, env={**os.environ, **variables}, check=False).returncode)
    return max(map(abs, codes))


def suites(names: Sequence[str], folder: Path, options: Sequence[str]) -> int:
    """0 where statuses, verdicts and N* of all suites are equal under both, else 1."""
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
    """Print how the results of a suite differ; whether statuses, verdicts or N* do."""
    first, second = ({_key(row): row for row in suite.each()} for suite in (one, other))
    pairs = [(first[key], second[key]) for key in first if key in second]
    wrong = [f"status of {_key(a)}: {a.status} | {b.status}" for a, b in pairs if a.status != b.status]
    if alone := len(first.keys() ^ second.keys()):
        wrong.append(f"{alone} cells are in one store only")
    verdicts = ({verdict.id: str(verdict.verdict) for verdict in suite.claims()} for suite in (one, other))
    wrong += _unequal("verdict of", *verdicts)
    wrong += _unequal("N* of", *map(_n_stars, (one, other)))
    print(f"{name}: {len(pairs)} cells: " + ("; ".join(wrong) or "statuses, verdicts and N* are equal"))
    differences: dict[str, list[float]] = {}
    for a, b in pairs:
        if a.nmse is not None and b.nmse is not None:
            differences.setdefault(a.label, []).append(abs(a.nmse - b.nmse) / max(a.nmse, b.nmse, SMALLEST))
    for label, found in sorted(differences.items()):
        equal = np.mean(np.array(found) == 0)
        print(
            f"  {label:30} NMSE: {equal:4.0%} the same bits, differ by {np.median(found):.0e}, at most {max(found):.0e}"
        )
    return bool(wrong)


def _key(row: object) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in ("task", "label", "d", "n", "replicate"))


def _n_stars(suite: StoredSuite) -> dict[str, str | float]:
    """N* of each replicate; where it is censored or a range, that in words."""
    found: dict[str, str | float] = {}
    for reached in suite.thresholds():
        where = f"{reached.label} on {reached.task}, d = {reached.d}, eps = {reached.level:g}"
        for crossing in reached.threshold.crossings:
            words = f"{crossing.censored} of {crossing.n:g}" if crossing.censored else crossing.within and "within"
            found[f"{where}, replicate {crossing.replicate}"] = f"{words} {crossing.within}" if words else crossing.n
    return found


def _unequal(what: str, one: Mapping[str, str | float], other: Mapping[str, str | float]) -> Iterator[str]:
    for key in one.keys() | other.keys():
        a, b = one.get(key), other.get(key)
        near = isinstance(a, float) and isinstance(b, float) and abs(a - b) <= SAME_N_STAR * max(a, b)
        if a != b and not near:
            yield f"{what} {key}: {a} | {b}"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("run").add_argument("command", nargs=argparse.REMAINDER)
    both = verbs.add_parser("suites")
    both.add_argument("suite", nargs="+")
    both.add_argument("--into", type=Path, help="folder for the two stores; runs that are there go on")
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
