"""Tasks: input laws, targets, labels and the errors that are measured on them."""

DATA_VARIABLE = "BFC_BENCH_DATA"
"""Environment variable that names a folder of public data sets."""
