"""``python -m benchmarks.house [CHECKOUT] [--check]``: counts files, lines and imports of each folder.

Code lines are those without docstrings, comments and blank lines. Imports inside functions and under ``TYPE_CHECKING``
count too. A package's ``__init__`` does not count as imported by the modules inside it.

``--check`` compares the code lines with the budget in ``pyproject.toml``: a room may not have more, and a budget may
not be much larger than its room, so that it falls with the code.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

FOLDERS = {"bfc_bench": "bfc_bench", "bfc_plugins": "plugins"}
EXAMPLE = "example"
EXTRAS = "extras"
OTHERS = ("tests", "benchmarks")
"""Folders with a budget of their own, for all files below them."""
SLACK = 1.05
"""A budget may be so many times its room."""
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def main(checkout: Path) -> None:
    """Print a line per folder ("room"), then the totals."""
    files = dict(modules(checkout))
    graph = {name: imported(name, path, files) for name, path in files.items()}
    rooms: dict[str, list[str]] = defaultdict(list)
    for name in files:
        rooms[room(name, files)].append(name)
    tests = test_lines(checkout)
    print("| room | files | code lines | lines | lines of tests | longest file | imports |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for place, members in sorted(rooms.items()):
        lines = [len(files[name].read_text().splitlines()) for name in members]
        code = sum(code_lines(files[name].read_text()) for name in members)
        others = {room(other, files) for name in members for other in graph[name]} - {place}
        tested = tests[place.removeprefix("bfc_bench/")]
        print(f"| `{place}` | {len(members)} | {code} | {sum(lines)} | {tested} | {max(lines)} | {len(others)} rooms |")
    total = sum(len(path.read_text().splitlines()) for path in files.values())
    code = sum(code_lines(path.read_text()) for path in files.values())
    imports = sum(map(len, graph.values()))
    print(f"\n{len(files)} files, {code} code lines of {total}, {imports} imports between files")


def check(checkout: Path) -> int:
    """Print each room whose code lines do not fit its budget; return 1 if there is one."""
    budget = tomllib.loads((checkout / "pyproject.toml").read_text())["tool"]["bfc-bench"]["code-lines"]
    files = dict(modules(checkout))
    found = Counter(dict.fromkeys(budget, 0))
    for name, path in files.items():
        place = room(name, files).rstrip("/")
        found["plugins" if place.startswith("plugins") else place] += code_lines(path.read_text())
    for folder in OTHERS:
        found[folder] = sum(code_lines(path.read_text()) for path in (checkout / folder).rglob("*.py"))
    wrong = []
    for name, lines in sorted(found.items()):
        if name not in budget:
            wrong.append(f"{name} has {lines} code lines and no budget. Give it one in pyproject.toml.")
        elif lines > budget[name]:
            wrong.append(f"{name} has {lines} code lines; its budget is {budget[name]}. Take something away.")
        elif budget[name] > max(lines * SLACK, lines + 20):
            wrong.append(f"{name} has {lines} code lines; lower its budget of {budget[name]} to that.")
    print("\n".join(wrong) or f"{sum(found.values())} code lines, within the budget of each of {len(found)} rooms")
    return int(bool(wrong))


def code_lines(source: str) -> int:
    """Lines of a file without docstrings, comments and blank lines."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        statements = getattr(node, "body", None)
        for statement in statements if isinstance(statements, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str):
                documented.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - documented)


def test_lines(checkout: Path) -> Counter[str]:
    """Lines of tests by the room that they are of, such as ``store/`` or ``extras/mlflow/``."""
    lines: Counter[str] = Counter()
    for path in (checkout / "tests").rglob("*.py"):
        parts = path.relative_to(checkout / "tests").parts[:-1]
        place = "/".join(parts[: 2 if parts[:1] == (EXTRAS,) else 1])
        lines[f"{place}/"] += len(path.read_text().splitlines())
    return lines


def modules(checkout: Path) -> Iterator[tuple[str, Path]]:
    """Dotted name and path of every module."""
    for package, folder in FOLDERS.items():
        for path in sorted((checkout / folder).rglob("*.py")):
            parts = path.relative_to(checkout / folder).with_suffix("").parts
            if EXAMPLE not in parts:
                yield ".".join([package, *(part for part in parts if part != "__init__")]), path


def room(name: str, files: Mapping[str, Path]) -> str:
    """The folder of a module, at most one level below its package; each extra is a room."""
    package, *rest = name.split(".")
    folders = rest if files[name].name == "__init__.py" else rest[:-1]
    depth = 2 if folders[:1] == [EXTRAS] else 1
    return "/".join([FOLDERS[package], *folders[:depth], ""])


def imported(name: str, path: Path, files: Mapping[str, Path]) -> set[str]:
    """Modules of this project that a module imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {(full if full in files else node.module) for full in inner}
    return {other for other in names if other in files and other != name and not name.startswith(f"{other}.")}


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    place = Path(arguments[0] if arguments else ".")
    raise SystemExit(check(place) if "--check" in sys.argv else main(place))
