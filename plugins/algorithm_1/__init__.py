"""Algorithm 1 of "Backward Feature Correction"."""
