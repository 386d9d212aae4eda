"""Quadratic DenseNets, trained jointly, layer by layer, or grown."""

from bfc_plugins.quadratic.grow import Grow
from bfc_plugins.quadratic.layerwise import Layerwise
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet

from bfc_bench.learner import Learner

LEARNERS: tuple[type[Learner], ...] = (
    Grow,
    Layerwise,
    QuadDenseNet,
)
