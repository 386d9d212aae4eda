"""Learners of index models, whose label depends on few projections of the input or of its quadratic monomials."""
