"""Tasks of most suites in tests, a quadratic teacher of two layers in a few dimensions, and files of such suites."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

SMALL: dict[str, Any] = {
    "name": "t",
    "inputs": {"kind": "uniform"},
    "target": {"kind": "quadratic-densenet", "widths": [2], "alphas": [1.0]},
    "d": [4],
    "n": [10, 20],
}
SPHERE = {**SMALL, "inputs": {"kind": "sphere"}, "target": {"kind": "lowrank-poly", "degree": 2}}
NOISY: dict[str, Any] = {**SMALL, "inputs": {"kind": "gaussian"}, "labels": {"kind": "noise", "sd": 0.1}}


def write_suite(folder: Path, name: str = "tiny", **values: Any) -> Path:
    """Write the file of a tiny suite, with these keys in place of its own."""
    path = folder / f"{name}.toml"
    path.write_text(toml({"name": name, "replicates": 1, "test_size": 200, "task": [SMALL], **values}))
    return path


def toml(value: Mapping[str, Any]) -> str:
    """A mapping as TOML, with inline values."""
    return "".join(f"{key} = {_inline(item)}\n" for key, item in value.items())


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f'"{k}" = {_inline(v)}' for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)
