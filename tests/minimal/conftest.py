"""Tests for an environment without torch, JAX and MLflow: ``tox run -e minimal``. Elsewhere they are left out."""

from importlib.util import find_spec

THREE = ("torch", "jax", "jaxlib", "mlflow", "sqlalchemy")
collect_ignore_glob = ["test_*.py"] if any(map(find_spec, THREE)) else []
