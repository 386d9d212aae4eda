"""MLflow: curves, saved views and reports, fed from the rows of the store."""
