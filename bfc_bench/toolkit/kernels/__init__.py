"""Kernels: their matrices tile by tile, closed forms, and any by its name."""
