"""A learner entry's own largest n: cells beyond are not planned, and nothing else changes."""

import pytest

from bfc_bench.errors import UsageError
from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import resolve
from bfc_bench.suite.model import read_suite


def cells(path):
    return {(cell.n, cell.id) for cell in resolve(read_suite(path), load_plugins(), str(path)).cells()}


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
