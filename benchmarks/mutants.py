"""``python -m benchmarks.mutants [MODULE ...] [--number N] [--seed S]``: small bugs that the tests should find.

MODULE is a file or package of ``bfc_bench``, such as ``seeds`` or ``analysis/thresholds``. Of each, N bugs are drawn at
random (other comparison or arithmetic, another number, a negated condition, ...: the operators of Cosmic Ray), put one
by one into a copy of the checkout, and the tests of the folder that mirrors the source are run there. A bug that no
test finds is printed with its line. Some of these change nothing that can be observed: read before you count.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[1]
MODULES = ("seeds", "analysis", "run", "store", "toolkit")
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
LINKS = {"bfc_bench": "bfc_bench", "bfc_plugins": "plugins", "bfc_suites": "suites"}
"""The names under which the folders of a checkout are imported."""
LEFT_OUT = ("Variable", "BinaryOperator_BitOr")
"""Operators that need arguments, and that of types: ``int | None`` in an annotation is no code."""


@dataclass(frozen=True)
class Mutant:
    """One small bug."""

    path: Path
    """Relative to the checkout."""
    before: str
    """The whole file."""
    after: str

    def __str__(self) -> str:
        old, new = self.before.splitlines(), self.after.splitlines()
        first = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
        return f"{self.path}:{first + 1}: {old[first].strip()}  ->  {new[first].strip()}"


def mutants(path: Path, checkout: Path) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """By position in a file, line and column: operator and its occurrence."""
    nodes, found = list(ast_nodes(get_ast((checkout / path).read_text()))), defaultdict(list)
    for name in operator_names():
        if any(part in name for part in LEFT_OUT):
            continue
        operator, count = get_operator(name)(), 0
        for node in nodes:
            for start, _ in operator.mutation_positions(node):
                found[start].append((name, count))
                count += 1
    return found


def sampled(module: str, number: int, seed: int, checkout: Path) -> Iterator[Mutant]:
    """``number`` mutants at different places of a module or package, the same for the same seed."""
    place = checkout / "bfc_bench" / module
    paths = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    paths = [path.relative_to(checkout) for path in paths]
    rng = random.Random(f"{seed} {module}")
    places = [(path, choices) for path in paths for _, choices in sorted(mutants(path, checkout).items())]
    rng.shuffle(places)
    for path, choices in places:
        operator, occurrence = rng.choice(choices)
        before = (checkout / path).read_text()
        after = mutate_code(before, get_operator(operator)(), occurrence)
        if after is not None and _code(before) != _code(after):
            yield Mutant(path, before, after)
            number -= 1
        if not number:
            return


def _code(text: str) -> str | None:
    """What is executed, without annotations; None for what cannot be read."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                setattr(node, name, None if name == "returns" or isinstance(node, ast.arg) else ast.Constant(None))
    return ast.dump(tree)


def tests_of(path: Path, checkout: Path) -> list[str]:
    """The tests of the folder that mirrors the source, those of the file or of its folder first."""
    *folders, name = path.with_suffix("").parts[1:]
    if not folders:
        return [f"tests/test_{name}.py"]
    tests = sorted((checkout / "tests" / folders[0]).rglob("test_*.py"))
    own = [f"test_{part}" for part in (name, *folders)]
    tests.sort(key=lambda test: own.index(test.stem) if test.stem in own else len(own))
    return [str(test.relative_to(checkout)) for test in tests]


def passes(checkout: Path, path: Path, seconds: float) -> bool:
    """Whether the tests of a source pass, within the seconds."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / ".names"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
    with subprocess.Popen(
        [*command, *tests_of(path, checkout)], cwd=checkout, env=environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def copied(to: Path) -> Path:
    """A copy of the checkout, in which the packages are found by their names."""
    shutil.copytree(ROOT, to, ignore=NOT_COPIED)
    (to / ".names").mkdir()
    for name, folder in LINKS.items():
        (to / ".names" / name).symlink_to(to / folder)
    return to


def main(arguments: list[str]) -> None:
    parser = ArgumentParser("python -m benchmarks.mutants")
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    found: Counter[tuple[str, bool]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        checkout = copied(Path(folder) / "checkout")
        for module in options.modules:
            try:
                for mutant, survives in tested(sampled(module, options.number, options.seed, checkout), checkout):
                    found[module, survives] += 1
                    if survives:
                        print(mutant, flush=True)
            finally:  # of an interrupted run too
                killed, survived = found[module, False], found[module, True]
                print(f"{module}: {killed} of {killed + survived} killed, {survived} survived", flush=True)


def tested(mutants: Iterable[Mutant], checkout: Path) -> Iterator[tuple[Mutant, bool]]:
    """Each mutant of a module with whether it survives; the tests must pass without any."""
    limit = 0.0
    for mutant in mutants:
        if not limit:
            started = time.monotonic()
            if not passes(checkout, mutant.path, 3600):
                sys.exit(f"The tests of {mutant.path} fail without any mutant.")
            limit = 60 + 3 * (time.monotonic() - started)
        (checkout / mutant.path).write_text(mutant.after)
        survives = passes(checkout, mutant.path, limit)
        (checkout / mutant.path).write_text(mutant.before)
        yield mutant, survives


if __name__ == "__main__":
    main(sys.argv[1:])
