"""``python -m benchmarks.house [CHECKOUT]``: counts files, lines and imports of each source folder, and finds circles.

Imports inside functions and under ``TYPE_CHECKING`` count too. A package's ``__init__`` does not count as imported by
the modules inside it.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

FOLDERS = {"bfc_bench": "bfc_bench", "bfc_plugins": "plugins"}
EXAMPLE = "example"

Graph = Mapping[str, set[str]]


def main(checkout: Path) -> None:
    """Print a line per folder ("room"), then the totals."""
    files = dict(modules(checkout))
    graph = {name: imported(name, path, files) for name, path in files.items()}
    rooms: dict[str, list[str]] = defaultdict(list)
    for name in files:
        rooms[room(name, files)].append(name)
    print("| room | files | lines | longest file | imports |")
    print("|---|---:|---:|---:|---|")
    for place, members in sorted(rooms.items()):
        lines = [len(files[name].read_text().splitlines()) for name in members]
        others = {room(other, files) for name in members for other in graph[name]} - {place}
        print(f"| `{place}` | {len(members)} | {sum(lines)} | {max(lines)} | {len(others)} rooms |")
    total = sum(len(path.read_text().splitlines()) for path in files.values())
    depth = max(len(path.relative_to(checkout).parts) - 1 for path in files.values())
    import_circles = circles(graph)
    print(f"\n{len(files)} files, {total} lines, {sum(map(len, graph.values()))} imports between files, ", end="")
    print(f"folders {depth} deep, longest chain of imports {chain(graph)} files, {len(import_circles)} import circles")
    for circle in import_circles:
        print(f"circle: {', '.join(sorted(circle))}")


def modules(checkout: Path) -> Iterator[tuple[str, Path]]:
    """Dotted name and path of every module."""
    for package, folder in FOLDERS.items():
        for path in sorted((checkout / folder).rglob("*.py")):
            parts = path.relative_to(checkout / folder).with_suffix("").parts
            if EXAMPLE not in parts:
                yield ".".join([package, *(part for part in parts if part != "__init__")]), path


def room(name: str, files: Mapping[str, Path]) -> str:
    """The folder of a module, at most one level below its package."""
    package, *rest = name.split(".")
    inside = len(rest) > 1 or (rest and files[name].name == "__init__.py")
    return f"{FOLDERS[package]}/{rest[0]}/" if inside else f"{FOLDERS[package]}/"


def imported(name: str, path: Path, files: Mapping[str, Path]) -> set[str]:
    """Modules of this project that a module imports.

    Args:
        name: dotted name of the module.
        path: its file.
        files: files of all modules by dotted name.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {(full if full in files else node.module) for full in inner}
    return {other for other in names if other in files and other != name and not name.startswith(f"{other}.")}


def circles(graph: Graph) -> list[set[str]]:
    """Sets of modules that import each other, directly or indirectly."""
    reach = {name: reached(name, graph) for name in graph}
    groups = {frozenset(b for b in reach[a] if a in reach[b]) for a in graph if a in reach[a]}
    return [set(group) for group in sorted(groups, key=sorted)]


def reached(start: str, graph: Graph) -> set[str]:
    """Modules that a module imports, directly or indirectly."""
    seen: set[str] = set()
    left = list(graph[start])
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            left += graph[name]
    return seen


def chain(graph: Graph) -> int:
    """Number of modules on the longest path of imports, passing through circles once."""
    known: dict[str, int] = {}

    def length(name: str, above: frozenset[str]) -> int:
        if name in above:
            return 0
        if name not in known:
            known[name] = 1 + max((length(other, above | {name}) for other in graph[name]), default=0)
        return known[name]

    return max(length(name, frozenset()) for name in graph)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
