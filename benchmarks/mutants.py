"""``python -m benchmarks.mutants [MODULE ...] [--number N] [--seed S]``: small bugs that the tests should find.

MODULE is a file or package of ``bfc_bench``, such as ``seeds`` or ``analysis/thresholds``. Of each, N bugs are drawn at
random (``changed`` and ``conditions`` have the kinds). Annotations, decorators and texts are left alone. The tests of
the folder that mirrors the source run once without any bug, in a copy of the checkout, to see which of them reach which
of the places. Then each bug is put in alone, and the tests that reach it are run up to the first failure: those of its
own file first, quick ones before slow ones. A bug that no test finds has SURVIVED. Some of these change nothing that
can be observed: read before you count. ``--slowest SECONDS`` leaves out tests that take longer, so that survivors take
less time; ``--without FILE ...`` leaves out files.
"""

from __future__ import annotations

import ast
import copy
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MODULES = ("seeds", "analysis", "run", "store", "toolkit")
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
LINKS = {"bfc_bench": "bfc_bench", "bfc_plugins": "plugins", "bfc_suites": "suites"}
"""The names under which the folders of a checkout are imported."""
LEFT_ALONE = ("annotation", "returns", "decorator_list", "exc")
"""Fields of nodes in which nothing is changed: types, decorators, and exceptions with their messages."""
OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,), ast.Mod: (ast.Add,), ast.Pow: (ast.Mult,), ast.BitAnd: (ast.BitOr,),
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip
"""What each operator is exchanged for. ``|`` stays, since it mostly stands between types."""


@dataclass(frozen=True)
class Mutant:
    """One small bug."""

    path: Path
    """Relative to the checkout."""
    line: int
    span: tuple[int, int]
    """Where the old code begins and ends, in bytes."""
    new: str
    is_expression: bool
    text: bytes
    """The whole file."""

    @property
    def changed_text(self) -> bytes:
        return self.text[: self.span[0]] + self.new.encode() + self.text[self.span[1] :]

    def __str__(self) -> str:
        old = self.text[slice(*self.span)].decode()
        return f"{self.path}:{self.line}: {' '.join(old.split())}  ->  {self.new}"


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """Wrong copies of a node: another operator, number, truth value or condition, a loop without passes."""
    match node:
        case ast.Compare():
            for i, operator in enumerate(node.ops):
                for other in OPERATORS[type(operator)]:
                    yield _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
        case ast.BinOp(left=ast.Constant(value=str())) | ast.BinOp(right=ast.Constant(value=str())):
            return  # any other operator is a TypeError
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp():
            for other in OPERATORS.get(type(node.op), ()):
                yield _with(node, op=other())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(value=float(value)):
            yield from (ast.Constant(2 * value if value else 1.0), ast.Constant(value / 2 if value else -1.0))
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def conditions(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Parts of a node that are replaced whole: conditions by their opposites, what a loop runs over by nothing."""
    match node:
        case ast.If() | ast.IfExp() | ast.While():
            yield node.test, ast.UnaryOp(ast.Not(), node.test)
        case ast.comprehension():
            yield from ((test, ast.UnaryOp(ast.Not(), test)) for test in node.ifs)
        case ast.For():
            yield node.iter, ast.List([])


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all in it that may be changed: no text with values in it, pattern, check of lengths or warning."""
    match node:
        case ast.Call(func=ast.Attribute(attr="warning" | "warn")):
            return
        case ast.JoinedStr() | ast.pattern() | ast.keyword(arg="strict"):
            return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in LEFT_ALONE:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from nodes(child)


def mutants(path: Path, checkout: Path) -> list[list[Mutant]]:
    """The mutants of a file, those of one expression or statement together."""
    text = (checkout / path).read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    places: dict[tuple[int, int], list[Mutant]] = {}
    for node in nodes(ast.parse(text)):
        for old, new in [*((node, new) for new in changed(node)), *conditions(node)]:
            span = starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset
            code, is_expression = ast.unparse(ast.fix_missing_locations(new)), isinstance(old, ast.expr)
            mutant = Mutant(path, old.lineno, span, f"({code})" if is_expression else code, is_expression, text)
            places.setdefault(span, []).append(mutant)
    return list(places.values())


def sampled(module: str, number: int, seed: int, checkout: Path, without: Collection[str] = ()) -> Iterator[Mutant]:
    """``number`` mutants at different places of a module or package, the same for the same seed.

    Args:
        module: A file or package of ``bfc_bench``.
        number: How many mutants; fewer where the code has not as many places.
        seed: Of the draw.
        checkout: The folder that has ``bfc_bench``.
        without: Files that are left out, named as ``module`` is.
    """
    place = checkout / "bfc_bench" / module
    left_out = [(checkout / "bfc_bench" / name).with_suffix(".py") for name in without]
    paths = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    rng = random.Random(f"{seed} {module}")
    places = [
        place for path in paths if path not in left_out for place in mutants(path.relative_to(checkout), checkout)
    ]
    rng.shuffle(places)
    yield from (rng.choice(place) for place in places[:number])


PLUGIN = """
import os
from contextlib import suppress

known = set()

def at(place):
    note(place, os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0])

def pytest_runtest_logreport(report):
    note(report.outcome, report.duration, report.nodeid)

def note(*values):
    if values not in known:
        known.add(values)
        with suppress(OSError), open({file!r}, "a") as file:
            file.write("\\t".join(map(str, values)) + "\\n")
"""
"""A plugin of pytest that notes which tests reach a place, in processes that they start too, and what they take."""


class MutantTester:
    """Finds the tests of some mutants of a module, and runs them in a copy of the checkout.

    Attributes:
        seconds: What each test takes that passes without any mutant.
        failed: Tests that fail without any mutant. They are not run again.
        reached: The tests that reach each mutant; the empty name stands for all, because an import reaches it.
    """

    def __init__(self, sample: list[Mutant], checkout: Path, slowest: float = math.inf) -> None:
        self._checkout = checkout
        self._slowest = slowest
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self.reached: dict[int, set[str]] = {i: set() for i in range(len(sample))}
        for path in {mutant.path for mutant in sample}:
            (checkout / path).write_bytes(with_probes({i: m for i, m in enumerate(sample) if m.path == path}))
        notes = checkout / ".names" / "notes"
        (checkout / ".names" / "reached_places.py").write_text(PLUGIN.format(file=str(notes)))
        notes.write_text("")
        folders = {mutant.path.with_suffix("").parts[1:] for mutant in sample}
        tests = {f"tests/{names[0]}" if len(names) > 1 else f"tests/test_{names[0]}.py" for names in folders}
        self._pytest("-p", "reached_places", *sorted(tests))
        for mutant in sample:
            (checkout / mutant.path).write_bytes(mutant.text)
        for line in notes.read_text().splitlines():
            match line.split("\t"):
                case [outcome, seconds, test]:
                    self.seconds[test] += float(seconds)
                    self.failed |= {test} if outcome == "failed" else set()
                case [place, test]:
                    self.reached[int(place)].add(test)

    def tests_of(self, i: int, mutant: Mutant) -> list[str]:
        """The tests that reach a mutant, in the order in which they are run."""
        own = [f"test_{part}.py" for part in mutant.path.with_suffix("").parts[1:]]
        tests = self.seconds.keys() if "" in self.reached[i] else self.reached[i]
        tests = (
            test for test in tests if self.seconds.get(test, math.inf) <= self._slowest and test not in self.failed
        )
        return sorted(tests, key=lambda test: (Path(test.partition("::")[0]).name not in own, self.seconds[test]))

    def survives(self, i: int, mutant: Mutant) -> bool:
        """Whether all tests that reach a mutant pass. A test that takes a minute does not."""
        tests = self.tests_of(i, mutant)
        (self._checkout / mutant.path).write_bytes(mutant.changed_text)
        try:
            return not tests or self._pytest("-x", "-o", "faulthandler_timeout=60", *tests) == 0
        finally:
            (self._checkout / mutant.path).write_bytes(mutant.text)

    def _pytest(self, *arguments: str) -> int:
        """The exit code of pytest; 1 if it takes an hour."""
        own = {"PYTHONPATH": str(self._checkout / ".names"), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_CURRENT_TEST": ""}
        with subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
            cwd=self._checkout, env={**os.environ, **own}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            try:
                return process.wait(3600)
            except subprocess.TimeoutExpired:
                return 1
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def with_probes(mutants: Mapping[int, Mutant]) -> bytes:
    """A file that notes when it reaches the place of a mutant; all are of this file."""
    inserts = []
    for i, mutant in mutants.items():
        (start, end), note = mutant.span, f'__import__("reached_places").at({i})'
        if mutant.is_expression:
            inserts += [(start, 1, -end, f"({note} or ("), (end, 0, -start, "))")]
        else:
            inserts.append((start, 1, -end, f"{note}; "))
    text = next(iter(mutants.values())).text
    for start, *_, code in sorted(inserts, reverse=True):  # of two at one position, the inner one is nearer to it
        text = text[:start] + code.encode() + text[start:]
    return text


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
    parser.add_argument("--without", nargs="*", default=[], help="files that are not sampled, such as run/plan")
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slowest", type=float, default=math.inf, help="tests that take more seconds are not run")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended before all mutants were tested."))
    outcomes: dict[str, list[bool]] = {module: [] for module in options.modules}
    try:
        with tempfile.TemporaryDirectory() as folder:
            checkout = copied(Path(folder) / "checkout")
            for module, survived in outcomes.items():
                sample = list(sampled(module, options.number, options.seed, checkout, options.without))
                tester = MutantTester(sample, checkout, options.slowest)
                print(
                    f"{module}: {len(tester.seconds)} tests, {len(tester.failed)} of them fail:",
                    *tester.failed,
                    flush=True,
                )
                for i, mutant in enumerate(sample):
                    started = time.monotonic()
                    survived.append(tester.survives(i, mutant))
                    state = "SURVIVED" if survived[-1] else "found"
                    told = f"{len(tester.tests_of(i, mutant))} tests, {time.monotonic() - started:.0f} s"
                    print(f"{i + 1:3}  {state:8}  {mutant}  ({told})", flush=True)
    finally:  # of an interrupted run too
        print(f"\nSeed {options.seed}")
        for module, survived in outcomes.items():
            print(f"{module}: {survived.count(False)} of {len(survived)} found", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
