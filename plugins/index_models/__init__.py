"""Learners of index models, whose label depends on few projections of the input: s(u . x), a staircase, a parity."""

from bfc_plugins.index_models.neuron_gauss_newton import NeuronGaussNewton
from bfc_plugins.index_models.one_pass_network import OnePassNetwork
from bfc_plugins.index_models.spherical_sgd import SphericalSgd
from bfc_plugins.index_models.tensor_unfolding import TensorUnfolding

LEARNERS = (NeuronGaussNewton, OnePassNetwork, SphericalSgd, TensorUnfolding)
