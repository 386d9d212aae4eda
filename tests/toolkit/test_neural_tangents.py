"""Closed forms against neural-tangents, where it is installed."""

from math import sqrt

import jax
import numpy as np
import pytest
import relu_networks
import torch

from bfc_bench.toolkit import libraries, neural_tangents as tangents

needs_it = pytest.mark.skipif((reason := libraries.missing({"jax", "neural-tangents"})) is not None, reason=str(reason))
X, Z = np.random.default_rng(0).standard_normal((2, 9, 5))


def network(nt, depth, bias_variance):
    dense = {"b_std": sqrt(bias_variance)}
    hidden = [nt.stax.Dense(16, W_std=sqrt(2), **dense), nt.stax.Relu()] * depth
    return nt.stax.serial(*hidden, nt.stax.Dense(1, W_std=1.0, **dense))


@needs_it
@pytest.mark.parametrize("kernel", ["nngp", "ntk"])
def test_closed_forms_agree(kernel):
    """To 1e-12, also on the diagonal."""
    depth, bias_variance = 2, 0.5
    with jax.enable_x64(True):
        kernel_fn = network(tangents.neural_tangents(), depth, bias_variance)[2]
        between, within = (np.asarray(kernel_fn(X, other, kernel)) for other in (Z, None))
    ours = getattr(relu_networks, kernel)
    x, z = torch.from_numpy(X), torch.from_numpy(Z)
    assert np.allclose(ours(x, z, depth, bias_variance), between, rtol=0, atol=1e-12)
    assert np.allclose(ours(x, None, depth, bias_variance), within, rtol=0, atol=1e-12)
