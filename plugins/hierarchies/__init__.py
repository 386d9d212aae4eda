"""Learners of hierarchies in theory: sequences of a grammar, and functions of one quadratic feature."""
