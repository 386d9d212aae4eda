"""Learners that are registered by where they are."""

import re
import sys

import pytest
from local_plugins import registers
from test_plugins import Mean, reasons

from bfc_bench import UsageError, load_plugins


def test_a_learner_registered_by_its_place_is_imported_when_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "late_learner.py").write_text("from test_plugins import Mean as Late")
    monkeypatch.syspath_prepend(tmp_path)
    plugins = load_plugins([registers("learner", "late_learner:Late", "mean-of-labels")])
    assert "mean-of-labels" in plugins.learners
    assert "late_learner" not in sys.modules
    assert plugins.learner("mean-of-labels").name == "mean-of-labels"
    monkeypatch.delitem(sys.modules, "late_learner")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("no_such_module:Mean", "learner 'late' of plugin 'faulty': ModuleNotFoundError: No module named"),
        ("test_plugins:Nothing", "learner 'late' of plugin 'faulty': AttributeError: "),
        ("test_plugins:Constant", "learner test_plugins.Constant of plugin 'faulty' must be a subclass of"),
        ("test_plugins:Mean", "plugin 'faulty' is registered as 'late', but is called 'mean-of-labels'."),
    ],
)
def test_a_place_without_the_learner_is_said_when_it_is_named_and_stops_nothing(place, reason):
    plugins = load_plugins([registers("learner", place, "late"), registers("learner", Mean)])
    with pytest.raises(UsageError, match=re.escape(reason)):
        plugins.learner("late")
    plugins.import_all()
    assert "late" not in plugins.learners
    assert reason in "".join(reasons(plugins))
    assert "mean-of-labels" in plugins.learners
