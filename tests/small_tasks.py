"""Tasks of most suites in tests: a quadratic teacher of two layers in a few dimensions."""

from typing import Any

SMALL: dict[str, Any] = {
    "name": "t",
    "inputs": {"kind": "uniform"},
    "target": {"kind": "quadratic-densenet", "widths": [2], "alphas": [1.0]},
    "d": [4],
    "n": [10, 20],
}
NOISY: dict[str, Any] = {**SMALL, "inputs": {"kind": "gaussian"}, "labels": {"kind": "noise", "sd": 0.1}}
