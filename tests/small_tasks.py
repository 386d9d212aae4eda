"""Tasks of most suites in tests, a quadratic teacher of two layers in a few dimensions, and files of such suites."""

from pathlib import Path
from typing import Any

from bfc_bench.utils.plain_json import toml_value

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
    suite = {"name": name, "replicates": 1, "test_size": 200, "task": [SMALL], **values}
    path.write_text("".join(f"{key} = {toml_value(value)}\n" for key, value in suite.items()))
    return path
