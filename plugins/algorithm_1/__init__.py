"""Algorithm 1 of "Backward Feature Correction"."""

from bfc_plugins.algorithm_1.wkr_densenet import WkrDenseNet

LEARNERS = (WkrDenseNet,)
