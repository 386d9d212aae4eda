"""Quadratic DenseNets, trained jointly, layer by layer, or grown."""

from bfc_plugins.quadratic.grow import Grow
from bfc_plugins.quadratic.layerwise import Layerwise
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet

LEARNERS = (Grow, Layerwise, QuadDenseNet)
