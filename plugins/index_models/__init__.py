"""Learners of index models, whose label depends on few projections of the input: s(u . x), a staircase, a parity."""
