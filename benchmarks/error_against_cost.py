"""``python -m benchmarks.error_against_cost``: draws docs/images/error-against-cost.svg from a run of a small suite."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import machine
from bfc_bench import RunOptions, open_store, run_suite
from bfc_bench.analysis.compute import cost_curves
from bfc_bench.report.cost_plots import error_against_cost
from bfc_bench.report.pictures import save
from bfc_bench.suite.model import Suite

IMAGES = Path(__file__).parents[1] / "docs" / "images"
TARGET = {"kind": "quadratic-densenet", "widths": [4], "alphas": [1.0]}
SUITE = {
    "name": "costs",
    "replicates": 5,
    "test_size": 5000,
    "task": [
        {
            "name": "L2",
            "inputs": {"kind": "uniform"},
            "target": TARGET,
            "d": [10, 20],
            "n": [50, 100, 200, 400, 800, 1600],
        }
    ],
    "learner": [
        {"name": "quad-densenet", "options": {"widths": [8], "steps": 1000}, "tune": {}},
        {"name": "kernel-ridge", "options": {"kernel": "poly", "degree": 2, "ridge": 1e-4}, "tune": {}},
        {"name": "relu-mlp", "options": {"width": 64, "depth": 2, "steps": 1000}, "tune": {}},
    ],
}


def main() -> None:
    """Run the suite, draw the figure and print the least costs."""
    with tempfile.TemporaryDirectory() as folder:
        run_suite(Suite.parse(SUITE, "costs"), RunOptions(store=Path(folder), executor="serial"))
        with open_store(folder) as stores:
            stored = stores["costs"]
            figure = error_against_cost(
                cost_curves(stored.columns(), stored.curves(), "fit_flops"), "NMSE against cost"
            )
            save(figure.spec(), IMAGES, "error-against-cost")
            print(stored.least_costs(levels=[0.1]).frame().to_string())
            print(machine.describe())


if __name__ == "__main__":
    main()
