"""Kernel methods: kernel ridge regression, random features, sequential kernels and recursive feature machines."""

from bfc_plugins.kernels.kernel_ridge import KernelRidge
from bfc_plugins.kernels.random_features import RandomFeatures
from bfc_plugins.kernels.recursive_feature_machine import RecursiveFeatureMachine
from bfc_plugins.kernels.sequential_kernel import SequentialKernel

from bfc_bench.learner import Learner

LEARNERS: tuple[type[Learner], ...] = (
    KernelRidge,
    RandomFeatures,
    SequentialKernel,
    RecursiveFeatureMachine,
)
