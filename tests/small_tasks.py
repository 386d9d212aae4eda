"""Tasks of most suites in tests, a quadratic teacher of two layers in a few dimensions; files, grids and plans."""

from typing import Any

from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.grid import make_grid
from bfc_bench.run.plan import plan_for
from bfc_bench.suite.model import Suite
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


def write_suite(folder, name="tiny", **values):
    """Write the file of a tiny suite, with these keys in place of its own."""
    path = folder / f"{name}.toml"
    suite = {"name": name, "replicates": 1, "test_size": 200, "task": [SMALL], **values}
    path.write_text("".join(f"{key} = {toml_value(value)}\n" for key, value in suite.items()))
    return path


def grid_from(definition, **chosen):
    """The grid of a suite, or of some of its learners and tasks, from the values of its file."""
    return make_grid(Suite.parse({"name": "s", **definition}, "s.toml"), load_plugins(), "s.toml", **chosen)


def plan_from(definition, store=None, device="cpu", **options):
    """The plan of a suite from the values of its file."""
    return plan_for(grid_from(definition), store, device, **options)
