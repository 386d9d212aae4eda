"""What a cell's identity covers, and what it does not: the id of a cell says what determines its result."""

import json
import os
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from installed_faulty import python_path
from small_tasks import SMALL
from waiting import completed

from bfc_bench.learner import Learner
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.grid import make_grid
from bfc_bench.suite.model import Suite
from bfc_bench.tasks.labels.pointwise import Sign

TASK = {**SMALL, "n": [10]}


class Fit(Learner):
    """Fits nothing."""

    name: ClassVar[str] = "fit-nothing"
    width: int = 8
    parts: frozenset[str] = frozenset({"a"})

    def fit(self, train, ctx):
        raise NotImplementedError


def cell(learner, **values):
    """The id of the one cell of a suite with this learner."""
    plugins = load_plugins()
    plugins.learners.register(learner.name, learner, "test")
    entry = {"name": learner.name, **values.pop("entry", {})}
    suite = Suite.parse(
        {"name": "s", "replicates": 1, "test_size": 100, "task": [TASK], "learner": [entry], **values}, "test"
    )
    (found,) = make_grid(suite, plugins, "test").cells()
    return found.id


def options(**values):
    return {"entry": {"options": values}}


def test_an_option_with_its_default_names_no_other_cell_new_or_written():
    class Later(Fit):
        """The same, a release later."""

        depth: int = 3
        rates: tuple[float, ...] = (0.1, 0.2)

    assert cell(Later) == cell(Fit) == cell(Fit, **options(width=8))
    assert cell(Later, **options(width=9)) == cell(Fit, **options(width=9))
    assert len({cell(Later), cell(Later, **options(depth=4)), cell(Later, **options(rates=[0.1]))}) == 3


def test_a_new_version_names_another_cell():
    class Mended(Fit):
        """The same, a fault mended."""

        version: ClassVar[int] = 2

    assert cell(Mended) != cell(Fit)


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"test_size": 200}, {"version": 2}, {"name": "other"}, {"entry": {"label": "other"}}]
)
def test_what_determines_the_numbers_is_covered(change):
    assert cell(Fit, **change) != cell(Fit)


def test_what_is_tuned_is_covered():
    tuned = [{}, {"width": [4, 8]}, {"width": [4, 9]}, {"width": [4, 8], "parts": [["a"], ["b"]]}]
    tuned += [[{"width": [4]}, {"width": [8]}], [{"width": [4], "parts": [["a"]]}, {"width": [8], "parts": [["b"]]}]]
    ids = {cell(Fit, entry={"tune": tune}) for tune in tuned}
    assert len(ids) == len(tuned)
    assert cell(Fit, entry={"tune": {}}) == cell(Fit)
    assert cell(Fit, entry={"tune": [{}]}) == cell(Fit)
    assert cell(Fit, entry={"tune": [{"width": [4, 8]}]}) == cell(Fit, entry={"tune": {"width": [4, 8]}})

    class Searched(Fit):
        """The same, tuned by default."""

        search: ClassVar[dict[str, list[int]]] = {"width": [4, 8]}

    assert cell(Searched) == cell(Fit, entry={"tune": {"width": [4, 8]}})
    assert cell(Searched, entry={"tune": {}}) == cell(Fit)


def test_tasks_leave_out_what_has_its_default_too():
    sparse = {**TASK, "labels": {"kind": "clean"}, "unlabeled": 0}
    assert cell(Fit, task=[sparse]) == cell(Fit)
    assert cell(Fit, task=[{**TASK, "labels": {"kind": "sign"}}]) != cell(Fit)
    assert cell(Fit, task=[{**TASK, "unlabeled": 5}]) != cell(Fit)
    assert Sign().changed() == {}


PRINTS_IDS = """
import json
from test_identity import Fit, cell, options
print(json.dumps([cell(Fit), cell(Fit, **options(parts=["gamma", "alpha", "beta", "delta"]))]))
"""


def test_sets_have_one_identity_whatever_the_hash_seed():
    ids, path = set(), python_path(*Path(__file__).parents[:2])
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        done = completed([sys.executable, "-c", PRINTS_IDS], env=environment, check=True)
        ids.add(tuple(json.loads(done.stdout)))
    assert len(ids) == 1
    assert len(set(*ids)) == 2
