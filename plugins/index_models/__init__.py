"""Learners of single-index models G*(x) = s(u . x): they find u and fit a polynomial to the projection."""

from bfc_plugins.index_models.neuron_gauss_newton import NeuronGaussNewton
from bfc_plugins.index_models.spherical_sgd import SphericalSgd
from bfc_plugins.index_models.tensor_unfolding import TensorUnfolding

LEARNERS = (NeuronGaussNewton, SphericalSgd, TensorUnfolding)
