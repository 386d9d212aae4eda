"""Side-by-side speed measurements: ``python -m benchmarks [NAME ...] [--quick] [--output FILE.json]``.

One file per question. Each offers ``measure(quick)``, which yields a ``Measurement`` for every line of the table.
"""

BENCHMARKS = (
    "ensemble_small",
    "ensemble_medium",
    "single_model",
    "engines",
    "full_batch",
    "learning_curve",
    "kernel_curve",
    "kernel_matrices",
    "conv",
    "startup",
    "overhead",
    "planning",
    "rows",
    "smoke",
    "first_minute",
    "whole_runs",
    "run_parts",
)
"""Modules that need nothing but a CPU, in the order in which they run."""

GPU_BENCHMARKS = ("gpu_ensemble", "gpu_kernels")
"""Modules that are added where a GPU is."""
