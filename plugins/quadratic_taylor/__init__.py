"""Quadratic Taylor models of two-layer networks, on raw inputs and on a random representation."""

from bfc_plugins.quadratic_taylor.quad_neural import QuadNeural
from bfc_plugins.quadratic_taylor.quad_raw import QuadRaw

LEARNERS = (QuadNeural, QuadRaw)
