"""Ordinary networks, as opposed to DenseNets: two-layer polynomial networks and ReLU networks."""

from bfc_plugins.networks.poly_net import PolyNet
from bfc_plugins.networks.relu_mlp import ReluMlp

LEARNERS = (PolyNet, ReluMlp)
