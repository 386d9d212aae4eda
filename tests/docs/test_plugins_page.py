"""The guide for plugin authors says everything, and what it shows works."""

import inspect
import re
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import pytest
from guide_code import TEXT, guide_code

import bfc_bench
from bfc_bench import toolkit
from bfc_bench.errors import UsageError
from bfc_bench.learner import Capabilities, Context, Learner, Predictor, TaskFacts
from bfc_bench.plugins.manager import hookspecs, load_plugins
from bfc_bench.run.grid import make_grid
from bfc_bench.suite.read import read_suite
from bfc_bench.testing import check_learner

HOOKS = {name: hook for name, hook in vars(hookspecs).items() if name.startswith("bfc_")}


@pytest.fixture(scope="module")
def shown():
    """The names that the code of the guide defines, read from top to bottom."""
    folder = Path(__file__).parents[2] / "plugins" / "example"  # where a first.toml is
    names: dict[str, Any] = {"__name__": "the_guide", "__file__": str(folder / "the_guide.py")}
    exec(guide_code(), names)
    return names


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_described_with_its_arguments(name):
    arguments = ", ".join(inspect.signature(HOOKS[name]).parameters)
    assert f"`{name}({arguments})`" in TEXT


def test_no_hook_is_described_that_does_not_exist():
    assert set(re.findall(r"\bbfc_\w+(?=\()", TEXT)) == set(HOOKS)
    methods = {name for name in vars(bfc_bench.Register) if not name.startswith("_")}
    assert set(re.findall(r"`register\.(\w+)\(", TEXT)) == methods


@pytest.mark.parametrize("contract", [Context, Capabilities, TaskFacts])
def test_every_field_of_the_contract_is_named(contract):
    for field in contract.__dataclass_fields__:
        assert re.search(rf"`[^`]*\b{field}\b[^`]*`", TEXT)


@pytest.mark.parametrize("contract", [Learner, Predictor])
def test_every_method_of_the_contract_is_named(contract):
    own = [name for name in vars(contract) if not name.startswith(("_", "model_")) and name != "options"]
    assert own
    assert [name for name in own if not re.search(rf"`{name}\b", TEXT)] == []


def test_every_module_of_the_toolkit_is_described():
    (section,) = re.findall(r"\n## The toolkit\n(.*?)\n## ", TEXT, flags=re.DOTALL)
    described = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.+?) \|", section, flags=re.MULTILINE))))
    assert {module.name for module in iter_modules(toolkit.__path__)} <= described


@pytest.mark.parametrize("name", ["RidgeOnSquares", "RidgeTogether", "SquareNetwork"])
def test_the_learners_keep_the_contract(shown, name):
    check_learner(shown[name])


@pytest.fixture(scope="module")
def plugins(shown):
    """The guide's code as a plugin."""
    guide = ModuleType("the_guide")
    vars(guide).update(shown)
    return load_plugins(extra=[guide])


def test_the_executor_runs_units_and_survives_one_that_raises(plugins):
    pool = plugins.executor("futures", {"units_per_worker": 1}).open(abs, jobs=1)
    for key, payload in enumerate((-3, "three")):
        pool.submit(key, payload, 60.0)
    found = dict(pool.outcomes())
    pool.close()
    assert found[0] == 3
    assert found[1].reason.startswith("TypeError: bad operand type for abs")


def test_the_data_set_is_one_that_a_suite_can_name(plugins, tmp_path, suite_file):
    lines = [f"{'rain' if number % 3 else 'snow'}: {number % 7}, {1000 + number}" for number in range(60)]
    (tmp_path / "log.txt").write_text("\n".join(lines))
    task = {"name": "weather", "data": {"kind": "logbook", "path": "log.txt"}, "n": [20]}
    suite = read_suite(suite_file(task=[task], learner=[{"name": "kernel-ridge"}]))
    made = make_grid(suite, plugins, "mine").tasks["weather"]
    assert (made.dimension, made.kind) == (2, "binary")
    assert made.problem(0, 2, 0, 100).train(20).x.shape == (20, 2)
    (tmp_path / "log.txt").unlink()
    with pytest.raises(UsageError, match=r"task 'weather': data 'logbook': .*log.txt: there is no such file"):
        make_grid(suite, plugins, "mine")


def test_the_page_on_data_names_every_kind():
    text = (Path(__file__).parents[2] / "docs" / "data.md").read_text()
    for kind in load_plugins().data:
        assert f"`{kind}" in text


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`bfc_bench\.([A-Z]\w+)", TEXT))))
def test_the_names_that_the_guide_gives_are_public(name):
    assert name in bfc_bench.__all__
    assert getattr(bfc_bench, name).__name__ == name
