"""Kernel methods: kernel ridge regression, random features and sequential kernels."""
