"""The suite files that ship with bfc_bench."""
