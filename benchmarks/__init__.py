"""Side-by-side speed measurements: ``python -m benchmarks [NAME ...] [--quick] [--output FILE.json]``.

Each benchmark is a module with a function ``measure(quick)``, which yields one ``Measurement`` per line of the table.
"""

BENCHMARKS = (
    "training",
    "kernel_curve",
    "kernel_matrices",
    "startup",
    "overhead",
    "rows",
    "first_minute",
    "whole_runs",
    "run_parts",
    "defaults",
)
"""Benchmarks that need only a CPU, in the order in which they run."""

GPU_BENCHMARKS = ("gpu_ensemble", "gpu_kernels")
"""Benchmarks that also run if there is a GPU."""
