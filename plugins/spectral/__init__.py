"""Layers of directions found by moments of labels and features, forward and backward."""
