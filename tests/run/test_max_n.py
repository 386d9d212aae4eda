"""A learner entry's own largest n and d: cells beyond are not planned, and nothing else changes."""

import pytest
from small_tasks import SMALL

from bfc_bench.errors import UsageError
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.grid import make_grid
from bfc_bench.suite.read import read_suite

TASK = {**SMALL, "d": [4, 6]}


@pytest.fixture
def bounded(suite_file):
    """The suite of a learner with these bounds."""

    def read(**bounds):
        learner = {"name": "kernel-ridge", "options": {"ridge": 1e-3}, "tune": {}, **bounds}
        return read_suite(suite_file(task=[TASK], learner=[learner]))

    return read


def test_only_cells_up_to_it_are_planned_with_the_ids_that_they_had(bounded):
    def cells(**bounds):
        return {(cell.d, cell.n, cell.id) for cell in make_grid(bounded(**bounds), load_plugins(), "test").cells()}

    every = cells()
    assert {(d, n) for d, n, _ in every} == {(4, 10), (4, 20), (6, 10), (6, 20)}
    assert cells(max_n=20) == cells(max_d=6) == every
    assert cells(max_n=10) == cells(max_n=19) == {cell for cell in every if cell[1] == 10}
    assert cells(max_d=5) == {cell for cell in every if cell[0] == 4}
    assert cells(max_d=5, max_n=10) == {cell for cell in every if cell[:2] == (4, 10)}


@pytest.mark.parametrize(("key", "value", "least"), [("max_n", 9, 10), ("max_d", 3, 4)])
def test_a_bound_below_every_size_is_an_error(key, value, least, bounded):
    with pytest.raises(UsageError, match=rf"'kernel-ridge': {key} must be at least {least}, .* task 't'\. Got {value}"):
        make_grid(bounded(**{key: value}), load_plugins(), "test")
