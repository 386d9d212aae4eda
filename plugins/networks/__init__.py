"""Ordinary networks, as opposed to DenseNets: two-layer polynomial networks and ReLU networks."""
