"""The guide for plugin authors says everything, and what it shows works."""

import inspect
import re
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

from bfc_bench import hookspecs, toolkit
from bfc_bench.errors import UsageError
from bfc_bench.learner import Capabilities, Context, Learner, Predictor, TaskFacts
from bfc_bench.testing import check_learner

TEXT = (Path(__file__).parent.parent / "docs" / "plugins.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
HOOKS = {name: hook for name, hook in vars(hookspecs).items() if name.startswith("bfc_")}


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """The names that the code of the guide defines, read from top to bottom."""
    names: dict[str, Any] = {"__name__": "the_guide"}
    for block in BLOCKS:
        exec(block, names)
    return names


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_described_with_its_arguments(name: str) -> None:
    arguments = ", ".join(inspect.signature(HOOKS[name]).parameters)
    assert f"`{name}({arguments})`" in TEXT


def test_no_hook_is_described_that_does_not_exist() -> None:
    assert set(re.findall(r"\bbfc_(?:register_)?\w+(?=\()", TEXT)) == set(HOOKS)


@pytest.mark.parametrize("contract", [Context, Capabilities, TaskFacts])
def test_every_field_of_the_contract_is_named(contract: type) -> None:
    for field in contract.__dataclass_fields__:
        assert re.search(rf"`[^`]*\b{field}\b[^`]*`", TEXT)


@pytest.mark.parametrize("contract", [Learner, Predictor])
def test_every_method_of_the_contract_is_named(contract: type) -> None:
    own = [name for name in vars(contract) if not name.startswith(("_", "model_")) and name != "options"]
    assert own
    assert [name for name in own if not re.search(rf"`{name}\b", TEXT)] == []


@pytest.mark.parametrize("module", [module.name for module in iter_modules(toolkit.__path__)])
def test_every_module_of_the_toolkit_is_described_and_shown(module: str) -> None:
    (section,) = re.findall(r"\n## The toolkit\n(.*?)\n## ", TEXT, flags=re.DOTALL)
    assert f"\n**`{module}`** " in section
    assert f"from bfc_bench.toolkit.{module}" in section


def test_the_first_learner_is_under_forty_lines() -> None:
    assert len(BLOCKS[0].splitlines()) < 40


@pytest.mark.parametrize("name", ["RidgeOnSquares", "RidgeTogether", "Power", "LaplaceRidge"])
def test_the_learners_keep_the_contract(shown: dict[str, Any], name: str) -> None:
    check_learner(shown[name])


def test_the_batch_learner_does_batch(shown: dict[str, Any]) -> None:
    report = check_learner(shown["RidgeTogether"])
    assert "fit batch agrees with fit" in [check.name for check in report.checks if check.outcome == "passed"]


def test_the_variant_has_its_own_name_and_default(shown: dict[str, Any]) -> None:
    cubic = shown["Power"].variant("3")
    assert (cubic.name, cubic().power) == ("power:3", 3)
    check_learner(cubic)
    with pytest.raises(UsageError, match="power:<integer>"):
        shown["Power"].variant("three")


def test_the_hook_registers_the_learner(shown: dict[str, Any]) -> None:
    registered: list[type[Learner]] = []
    shown["bfc_register_learners"](registered.append)
    assert registered == [shown["RidgeOnSquares"]]
