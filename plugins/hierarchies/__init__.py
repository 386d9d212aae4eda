"""Learners of sequences of a grammar, whose hierarchy is a tree over their positions."""
