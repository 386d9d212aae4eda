"""Tests for an environment without torch, JAX and MLflow: ``tox run -e minimal``. Elsewhere they are left out."""

from importlib.util import find_spec

import pytest

THREE = ("torch", "jax", "jaxlib", "mlflow", "sqlalchemy")
collect_ignore_glob = ["test_*.py"] if any(map(find_spec, THREE)) else []


@pytest.fixture(autouse=True, scope="module")
def runs_would_be_logged():
    """Runs of these tests would log to MLflow if it were installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BFC_BENCH_NO_MLFLOW")
        yield
