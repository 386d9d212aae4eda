"""Learners of hierarchies in theory: sequences of a grammar, and functions of one quadratic feature."""

from bfc_plugins.hierarchies.patch_clustering import PatchClustering
from bfc_plugins.hierarchies.quadratic_link import QuadraticLink
from bfc_plugins.hierarchies.tree_cnn import TreeCnn

LEARNERS = (PatchClustering, QuadraticLink, TreeCnn)
