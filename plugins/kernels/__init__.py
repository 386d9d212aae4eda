"""Kernel methods: kernel ridge regression, random features and sequential kernels."""

from bfc_plugins.kernels.kernel_ridge import KernelRidge
from bfc_plugins.kernels.random_features import RandomFeatures
from bfc_plugins.kernels.sequential_kernel import SequentialKernel

LEARNERS = (KernelRidge, RandomFeatures, SequentialKernel)
