"""Logs the rows of the store to MLflow, as curves, saved views and reports."""

THREAD = "mlflow"
"""Name of the threads that log to MLflow during a run."""
