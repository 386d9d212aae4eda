"""Finds a suite by name or by path."""

from __future__ import annotations

from pathlib import Path

from bfc_bench.registry import Registry


def suite_path(suite: str | Path, known: Registry[Path]) -> Path:
    """The file of a suite given by name or by path. Raises ``UsageError`` that suggests the nearest name."""
    path = Path(suite)
    if str(suite) not in known and (path.suffix == ".toml" or path.parent != Path(".")):
        return path
    return known.get(str(suite))
