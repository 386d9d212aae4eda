"""Quadratic DenseNets, trained jointly, layer by layer, or grown."""
