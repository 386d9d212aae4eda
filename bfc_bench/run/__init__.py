"""Runs a suite: resolves it to cells, plans batches, fits them, and commits rows."""
