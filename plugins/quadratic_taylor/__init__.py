"""Quadratic Taylor models of two-layer networks, on raw inputs and on a random representation."""
