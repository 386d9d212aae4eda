"""Kernels: matrices computed in tiles, closed forms, spectra, and kernels by name."""
