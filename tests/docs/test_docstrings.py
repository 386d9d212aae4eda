"""Every public function of three parameters or more says what each of them is.

Public is what ``bfc_bench/__init__.pyi`` names, with the methods that a class itself defines.
"""

import inspect
import re

import pytest

import bfc_bench


def functions():
    """Public functions and methods with their names."""
    for name in bfc_bench.__all__:
        public = getattr(bfc_bench, name)
        if not str(getattr(public, "__module__", "")).startswith("bfc_bench"):
            continue
        if inspect.isfunction(public):
            yield name, public
        elif inspect.isclass(public):
            own = {key: value for key, value in vars(public).items() if inspect.isfunction(value)}
            bases = inspect.getmro(public)[1:]
            for key, value in own.items():
                if not key.startswith("_") and not any(hasattr(base, key) for base in bases):
                    yield f"{name}.{key}", value


@pytest.mark.parametrize(("name", "function"), [pytest.param(*found, id=found[0]) for found in functions()])
def test_each_parameter_is_described(name, function):
    names = [parameter for parameter in inspect.signature(function).parameters if parameter != "self"]
    text = (function.__doc__ or "").partition("Args:")[2]
    lacking = [parameter for parameter in names if not re.search(rf"^\s+\**{parameter}\b.*:", text, re.M)]
    assert len(names) < 3 or not lacking
