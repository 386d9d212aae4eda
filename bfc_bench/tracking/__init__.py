"""MLflow: curves, saved views and reports, fed from the rows of the store."""

THREAD = "mlflow"
"""Name of the threads of a run that talk to MLflow."""
