"""Neural tangent kernels on the sphere, of raw inputs and of a random representation."""

from bfc_plugins.tangents.ntk_neural import NtkNeural
from bfc_plugins.tangents.ntk_raw import NtkRaw

LEARNERS = (NtkNeural, NtkRaw)
