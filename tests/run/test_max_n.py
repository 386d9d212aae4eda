"""A learner entry's own largest n and d: cells beyond are not planned, and nothing else changes."""

import pytest
from small_tasks import SMALL

from bfc_bench.errors import UsageError
from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import make_grid
from bfc_bench.suite.read import read_suite

TASK = {**SMALL, "d": [4, 6]}


def cells(path):
    return {(cell.n, cell.id) for cell in make_grid(read_suite(path), load_plugins(), str(path)).cells()}


def test_only_cells_up_to_it_are_planned_with_the_ids_that_they_had(suite_file):
    learner = {"name": "kernel-ridge", "options": {"ridge": 1e-3}, "tune": {}}
    all_cells = cells(suite_file(learner=[learner]))
    assert {n for n, _ in all_cells} == {10, 20}
    for most in (10, 19):
        assert cells(suite_file(learner=[{**learner, "max_n": most}])) == {(n, id) for n, id in all_cells if n == 10}
    assert cells(suite_file(learner=[{**learner, "max_n": 20}])) == all_cells


def test_a_bound_below_every_size_is_an_error(suite_file):
    with pytest.raises(UsageError, match=r"learner 'kernel-ridge': max_n must be at least 10, .* task 't'\. Got 9"):
        read_suite(suite_file(learner=[{"name": "kernel-ridge", "max_n": 9}]))


def test_a_largest_d_leaves_the_cells_up_to_it(suite_file):
    learner = {"name": "kernel-ridge", "options": {"ridge": 1e-3}, "tune": {}}

    def by_d(**bounds):
        path = suite_file(task=[TASK], learner=[{**learner, **bounds}])
        return {(cell.d, cell.n, cell.id) for cell in make_grid(read_suite(path), load_plugins(), str(path)).cells()}

    every = by_d()
    assert {(d, n) for d, n, _ in every} == {(4, 10), (4, 20), (6, 10), (6, 20)}
    assert by_d(max_d=6) == every
    assert by_d(max_d=5) == {cell for cell in every if cell[0] == 4}
    assert by_d(max_d=5, max_n=10) == {cell for cell in every if cell[:2] == (4, 10)}
    with pytest.raises(UsageError, match=r"learner 'kernel-ridge': max_d must be at least 4, .* task 't'\. Got 3"):
        by_d(max_d=3)


def test_bounds_and_laws_that_are_not_used_are_not_in_the_definition(suite_file):
    learner = {"name": "kernel-ridge"}
    definition = read_suite(suite_file(learner=[learner])).definition()
    assert "law" not in definition["task"][0]
    assert "max_d" not in definition["learner"][0]
    bounded = read_suite(suite_file(learner=[{**learner, "max_d": 4}])).definition()
    assert bounded["learner"][0] == {**definition["learner"][0], "max_d": 4}
