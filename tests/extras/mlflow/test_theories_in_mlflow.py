"""Theory in MLflow: the expected error at step = n, once, and only where a learner offers a theory."""

import pytest

from bfc_bench.extras.mlflow.database import database_uri
from bfc_bench.extras.mlflow.sync import sync
from bfc_bench.extras.mlflow.theory import METRIC, log_theories
from bfc_bench.learner import Theory

# SQLAlchemy about MLflow's own queries.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")

SUITE = {"suite": "toy", "version": 1}


def expected(contents, uri):
    return {key: value for key, value in contents(uri)["history"].items() if key[2] == METRIC}


def test_the_expected_error_is_at_step_n_of_every_run_of_the_curve_once(row, store_dir, contents):
    uri, options = database_uri(store_dir), {**SUITE, "store_dir": store_dir}
    rows = [row(label, n=n, replicate=r) for label in ("net", "kernel") for n in (100, 200) for r in range(2)]
    theories = {("teacher", 10, "kernel"): Theory(lambda n: 5 / n, "this file")}
    sync(rows, uri, **options)
    assert log_theories(rows, uri, theories, **options) == 2
    assert expected(contents, uri) == {
        (f"kernel · teacher · d=10 · r{r}", n, METRIC): 5 / n for r in range(2) for n in (100, 200)
    }
    before = contents(uri)["values"]
    assert log_theories(rows, uri, theories, **options) == 0
    report = sync(rows, uri, **options)
    assert (report.created, report.points, contents(uri)["values"]) == (0, 0, before)
    # A larger n later on, and nothing else.
    more = [*rows, row("kernel", n=400)]
    sync(more, uri, **options)
    assert log_theories(more, uri, theories, **options) == 1
    assert len(expected(contents, uri)) == 5


def test_without_a_theory_mlflow_is_not_even_asked(row):
    assert log_theories([row("net")], "http://127.0.0.1:1", {}, **SUITE) == 0
