"""The theories of a suite: which learners have one, and that none of them can stop anything."""

import logging
import math

import pytest
from claim_results import cells
from local_plugins import registers
from small_tasks import SPHERE

from bfc_bench.analysis.claims import parse_claims
from bfc_bench.learner import Learner, Theory
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.theories import SuiteTheories
from bfc_bench.suite.model import Suite

DEFINITION = {
    "name": "s",
    "task": [{**SPHERE, "d": [4, 6]}, {**SPHERE, "name": "u", "d": [5]}],
    "learner": [
        {"name": "ntk-raw", "options": {"ridge": 1e-6}},
        {"name": "ntk-raw", "label": "tuned"},
        {"name": "ntk-neural", "options": {"ridge": 1e-6}, "tasks": ["u"]},
        {"name": "quad-raw", "tune": {}},
    ],
    "claim": [{"id": "c", "kind": "of-a-plugin-that-is-gone"}],
}
TUNED = "its options are tuned, and a theory is about fixed ones (tune = {})"


class Odd(Learner):
    """Its theory raises, is none, or has a curve that raises."""

    name = "odd"
    how: str = "raises"

    def fit(self, train, ctx):
        raise NotImplementedError

    def theory(self, task):
        if self.how == "raises":
            raise RuntimeError("no theory today")
        return "a text" if self.how == "a text" else Theory(lambda n: 1 / 0, "nowhere")


def test_learners_of_fixed_options_have_one_per_task_and_dimension():
    theories = SuiteTheories(DEFINITION, load_plugins())
    assert all(map(theories.get, [("t", 6, "ntk-raw"), ("u", 5, "ntk-raw"), ("u", 5, "ntk-neural")]))
    assert theories.get(("t", 4, "ntk-raw")).nmse(1000) < 0.1
    assert theories.get(("t", 4, "ntk-raw")).nmse(1) > 0.9
    for key in (("t", 4, "tuned"), ("t", 4, "ntk-neural"), ("t", 4, "quad-raw"), ("v", 4, "ntk-raw")):
        assert theories.get(key) is None
    assert theories.why_none == {("t", 4, "tuned"): TUNED}


def test_a_verdict_says_why_a_learner_has_no_theory():
    follows = {"id": "c", "kind": "follows", "label": "tuned", "task": "t", "d": 4, "factor": 2}
    plugins, suite = load_plugins(), Suite.parse({**DEFINITION, "claim": [follows]}, "s")
    (claim,) = parse_claims(suite, plugins.claims)
    rows = cells("tuned", [0.1, 0.2, 0.3], d=4)
    reason = f"tuned offers no theory for t, d = 4: {TUNED}"
    assert claim.among({}, SuiteTheories(DEFINITION, plugins)).judge(rows).note == reason


def odd(how):
    """The theory of the learner that breaks."""
    learners = [{"name": "odd", "options": {"how": how}}, {"name": "ntk-raw", "tune": {}}]
    plugins = load_plugins([registers("learner", Odd)])
    return SuiteTheories({**DEFINITION, "learner": learners}, plugins).get(("t", 4, "odd"))


@pytest.mark.parametrize(("how", "words"), [("raises", "no theory today"), ("a text", "must be a Theory or None")])
def test_a_learner_that_breaks_has_none_and_is_named(how, words, caplog):
    with caplog.at_level(logging.WARNING):
        assert odd(how) is None
    assert "'odd'" in caplog.text
    assert words in caplog.text


def test_a_curve_that_raises_has_no_values():
    assert math.isnan(odd("later").nmse(10))


def test_a_suite_whose_plugin_is_gone_has_none(caplog):
    theories = SuiteTheories({**DEFINITION, "learner": [{"name": "gone"}]}, load_plugins())
    assert theories.get(("t", 4, "gone")) is None
    assert "no theory is shown for suite s" in caplog.text
